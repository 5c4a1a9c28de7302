"""CREATE SINK CONNECTOR [IF NOT EXISTS] name WITH (...), DROP CONNECTOR [IF EXISTS] name."""

from __future__ import annotations

from dataclasses import dataclass

from orion.errors import BindError, Span, UnsupportedError, UserError
from orion.ksql.context import Context, SqlErrorConflict, Statement, missing
from orion.ksql.parser import Parser
from orion.plan.sources import Connector, Source
from orion.plan.steps import Ask, CreateConnector, DropConnector, Nothing, Step
from orion.plan.tolerance import ALL, Tolerance
from orion.plan.tolerance import PROPERTY as TOLERANCE

STARTS = (("CREATE", "SINK", "CONNECTOR"), ("CREATE", "SOURCE", "CONNECTOR"), ("DROP", "CONNECTOR"))


@dataclass(frozen=True)
class Create:
    name: str
    options: dict[str, str]
    if_not_exists: bool
    span: Span

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        if self.name in context.catalog.connectors:
            if self.if_not_exists:
                return (Nothing(f"Connector {self.name} already exists."),)
            raise SqlErrorConflict(
                "CONNECTOR_EXISTS", f"Connector {self.name} already exists.", span=self.span, hint="DROP it first."
            )
        options = {name.lower(): value for name, value in self.options.items()}
        plugin = options.pop("connector.class", None)
        if plugin is None:
            self._refuse("'connector.class' is missing.", "For example 'connector.class'='delta'.")
            raise AssertionError
        topics = [t.strip() for t in options.pop("topics", "").split(",") if t.strip()]
        if not topics:
            self._refuse("'topics' is missing.", "Name the topics to read, e.g. 'topics'='CLEAN_PLAYS'.")
        sources = tuple(self._source(topic, context) for topic in topics)
        tolerance = self._tolerance(options.pop(TOLERANCE, context.properties.get(TOLERANCE, ALL)))
        settings, number = tuple(sorted(options.items())), context.catalog.version
        connector = Connector(self.name, plugin.lower(), sources, settings, context.text, number, tolerance)
        return (CreateConnector(connector),)

    def _tolerance(self, written: str) -> str:
        try:
            return str(Tolerance.parse(written))
        except UserError as error:
            raise BindError("INVALID_CONNECTOR", error.message, span=self.span, hint=error.hint) from None

    def _source(self, topic: str, context: Context) -> Source:
        """The stream or table over the topic says how its records are read."""
        over = [s for s in context.catalog.sources.values() if s.topic == topic]
        if not over:
            self._refuse(
                f"No stream or table is declared over the topic {topic}.",
                f"CREATE STREAM ... WITH (KAFKA_TOPIC='{topic}', ...) first: its columns become the sink's.",
            )
        return next((s for s in over if s.query_id), over[0])

    def _refuse(self, message: str, hint: str) -> None:
        raise BindError("INVALID_CONNECTOR", message, span=self.span, hint=hint)


@dataclass(frozen=True)
class Drop:
    name: str
    if_exists: bool

    def plan(self, context: Context) -> tuple[Step, ...] | Ask:
        if self.name not in context.catalog.connectors:
            if self.if_exists:
                return (Nothing(f"Connector {self.name} does not exist."),)
            raise missing("connector", self.name, list(context.catalog.connectors))
        return (DropConnector(self.name),)


def parse(parser: Parser) -> Statement:
    start = parser.at
    verb = parser.advance().text
    if verb == "DROP":
        parser.expect("CONNECTOR")
        if_exists = parser.accept("IF", "EXISTS")
        return Drop(parser.string_or_name("a connector"), if_exists)
    if parser.accept("SOURCE"):
        raise UnsupportedError(
            "SOURCE_CONNECTOR", "Source connectors are not run yet.", span=parser.span_from(start), text=parser.text
        )
    parser.expect("SINK", "CONNECTOR")
    if_not_exists = parser.accept("IF", "NOT", "EXISTS")
    at = parser.at
    name = parser.string_or_name("a connector's name")
    span = parser.span_from(at)
    parser.expect("WITH")
    return Create(name, parser.properties(), if_not_exists, span)
