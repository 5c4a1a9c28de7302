"""Whether a configuration would do: what the plug-in itself says of it, and options that nobody knows.

Connect lets any option pass, so one that is misspelled would only be missing. Here it is refused, with the name that
was meant. Debezium doesn't declare all the options that it reads; the others are listed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from orion.errors import ConfigError, hint_nearest
from orion.feeds.connect.client import ConnectClient, Definition
from orion.feeds.connect.debezium import Options, is_secret

# What Debezium 3.6 reads and doesn't declare.
UNDECLARED = frozenset(
    "binary.handling.mode connection.factory.class connection.timeout.ms create.slot.command.timeout "
    "custom.retriable.exception event.converting.failure.handling.mode field.name.adjustment.mode filters.match.mode "
    "mongodb.allow.offset.invalidation money.fraction.digits multi.partition.mode offset.mismatch.strategy "
    "query.fetch.size read.only signal.file skip.messages.without.change slot.seek.to.known.offset.on.start "
    "snapshot.locking.mode snapshot.locking.mode.custom.name snapshot.query.mode snapshot.query.mode.custom.name "
    "streaming.lsn.optimization topic.cache.size topic.delimiter topic.heartbeat.name topic.heartbeat.prefix "
    "topic.transaction unavailable.value.placeholder database.applicationIntent".split()
)
# Families whose members nobody lists: settings of Kafka's clients, of topics, of JDBC drivers, of columns by name.
FAMILIES = (
    *("topic.creation.", "producer.override.", "admin.override.", "consumer.override."),
    *("key.converter.", "value.converter.", "header.converter."),
    *("driver.", "database.driver.", "schema.history.internal.", "signal.kafka.", "signal.consumer."),
    *("column.mask.", "column.truncate.", "snapshot.select.statement.overrides.", "internal."),
    *("mongodb.ssl.", "capture.", "cursor.", "post.processors."),
)
SHOWN_VALUES = 12


def check(client: ConnectClient, config: Mapping[str, str], options: Options) -> None:
    """Raise what is wrong with a configuration, as far as the plug-in can say it before it runs."""
    definitions = client.validate(config["connector.class"], config)
    known = {definition.name for definition in definitions}
    _refuse_unknown(options.given, known, config)
    for definition in definitions:
        if definition.errors:
            raise _refusal(definition, options, config)


def _refuse_unknown(given: Iterable[str], known: set[str], config: Mapping[str, str]) -> None:
    families = (*FAMILIES, *_named_families(config))
    for option in given:
        if option in known or option in UNDECLARED or option.startswith(families):
            continue
        names = sorted({*known, *UNDECLARED, *Options.model_fields, "connect.url"})
        raise ConfigError(
            "UNKNOWN_OPTION",
            f"There is no option '{option}'.",
            hint=hint_nearest(option, names) or "Debezium's documents list the options of each database.",
        )


def _named_families(config: Mapping[str, str]) -> Sequence[str]:
    """Converters and post processors are named in one option and set up in others that begin with the name."""
    named = (config.get(option, "") for option in ("converters", "post.processors"))
    return [f"{name.strip()}." for listed in named for name in listed.split(",") if name.strip()]


def _refusal(definition: Definition, options: Options, config: Mapping[str, str]) -> ConfigError:
    said = definition.errors[0]
    for option, value in config.items():
        if is_secret(option) and value:
            said = said.replace(value, "********")
    said = re.sub(rf"^The '{re.escape(definition.name)}' value is invalid: ", "", said).strip().rstrip(".")
    chosen = "" if definition.name in options.given else " (Orion's choice)"
    hint = (
        f"It is one of {', '.join(sorted(definition.values))}." if 0 < len(definition.values) <= SHOWN_VALUES else None
    )
    return ConfigError("OPTION_REFUSED", f"Option '{definition.name}'{chosen}: {said}.", hint=hint)
