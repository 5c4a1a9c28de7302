"""CREATE SINK | SOURCE CONNECTOR [IF NOT EXISTS] name WITH (...), DROP CONNECTOR [IF EXISTS] name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from orion.errors import BindError, Span, UserError
from orion.ksql.context import Context, SqlErrorConflict, Statement, missing
from orion.ksql.parser import Parser
from orion.options import masked
from orion.plan.plugins import plugin_of
from orion.plan.sources import Connector, Direction, Source
from orion.plan.steps import Ask, CreateConnector, DropConnector, Nothing, Step
from orion.plan.tolerance import ALL, Tolerance
from orion.plan.tolerance import PROPERTY as TOLERANCE
from orion.security.names import is_fit

STARTS = (("CREATE", "SINK", "CONNECTOR"), ("CREATE", "SOURCE", "CONNECTOR"), ("DROP", "CONNECTOR"))


@dataclass(frozen=True)
class Create:
    name: str
    direction: Direction
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
        if not is_fit(self.name) or "/" in self.name:  # it becomes part of a folder's name, too
            self._refuse(
                f"{self.name!a} can't be a connector's name.", "It is text without control characters and slashes."
            )
        options = {name.lower(): value for name, value in self.options.items()}
        plugin, told = plugin_of(options.pop("connector.class", ""), self.direction)
        if not plugin:
            self._refuse("'connector.class' is missing.", "For example 'connector.class'='delta'.")
        tolerance = self._tolerance(options.pop(TOLERANCE, context.properties.get(TOLERANCE, ALL)))
        sources = self._read(options, context) if self.direction is Direction.SINK else self._written(options, context)
        connector = Connector(
            self.name,
            plugin,
            sources,
            tuple(sorted((options | told).items())),
            masked(context.text),
            context.catalog.version,
            tolerance,
            self.direction,
            written=tuple(self.options.items()),
        )
        return (CreateConnector(connector),)

    def _tolerance(self, written: str) -> str:
        try:
            return str(Tolerance.parse(written))
        except UserError as error:
            raise BindError("INVALID_CONNECTOR", error.message, span=self.span, hint=error.hint) from None

    def _read(self, options: dict[str, str], context: Context) -> tuple[Source, ...]:
        """What a sink reads: the streams and tables over the topics it names."""
        topics = [t.strip() for t in options.pop("topics", "").split(",") if t.strip()]
        pattern = options.pop("topics.regex", None)
        if pattern is not None:
            topics += self._matching(pattern, context)
        if not topics:
            self._refuse("'topics' is missing.", "Name the topics to read, e.g. 'topics'='CLEAN_PLAYS'.")
        return tuple(self._source(topic, context) for topic in dict.fromkeys(topics))

    def _matching(self, pattern: str, context: Context) -> list[str]:
        try:
            found = sorted({s.topic for s in context.catalog.sources.values() if re.fullmatch(pattern, s.topic)})
        except re.error as error:
            self._refuse(f"'topics.regex' is no pattern: {error}.", "It is a regular expression over whole names.")
        if not found:
            self._refuse(f"No stream or table is over a topic that matches {pattern!r}.", "SHOW STREAMS; lists them.")
        return found

    def _written(self, options: dict[str, str], context: Context) -> tuple[Source, ...]:
        """What a source writes, as far as it is declared already. Kafka Connect's sources name a topic differently."""
        named = next((n for n in ("topic", "kafka.topic", "topics") if n in options), None)
        if named is None:
            return ()
        topic = options.pop(named)
        options["topic"] = topic
        over = [s for s in context.catalog.sources.values() if s.topic == topic]
        written = next((s for s in over if s.query_id), None)
        if written is not None:
            self._refuse(f"The query {written.query_id} writes {topic}.", "Give the connector a topic of its own.")
        return tuple(over[:1])

    def _source(self, topic: str, context: Context) -> Source:
        """The stream or table over the topic says how its records are read."""
        over = [s for s in context.catalog.sources.values() if s.topic == topic]
        if not over:
            self._refuse(
                f"No stream or table is declared over the topic {topic}.",
                f"CREATE STREAM ... WITH (KAFKA_TOPIC='{topic}', ...) first: its columns become the sink's.",
            )
        return next((s for s in over if s.query_id), over[0])

    def _refuse(self, message: str, hint: str) -> NoReturn:
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
    verb = parser.advance().text
    if verb == "DROP":
        parser.expect("CONNECTOR")
        if_exists = parser.accept("IF", "EXISTS")
        return Drop(parser.string_or_name("a connector"), if_exists)
    direction = Direction.SOURCE if parser.accept("SOURCE") else Direction.SINK
    if direction is Direction.SINK:
        parser.expect("SINK")
    parser.expect("CONNECTOR")
    if_not_exists = parser.accept("IF", "NOT", "EXISTS")
    at = parser.at
    name = parser.string_or_name("a connector's name")
    span = parser.span_from(at)
    parser.expect("WITH")
    return Create(name, direction, parser.properties(), if_not_exists, span)
