"""Which plug-in a `connector.class` means: Orion's own names, and the class names that Kafka Connect's users have."""

from __future__ import annotations

from orion.plan.sources import Direction

_SINKS = {
    "JdbcSinkConnector": "jdbc",
    "S3SinkConnector": "s3",
    "MongoSinkConnector": "mongodb",
    "ElasticsearchSinkConnector": "elasticsearch",
    "OpensearchSinkConnector": "elasticsearch",
    "OpenSearchSinkConnector": "elasticsearch",
    "DeltaLakeSinkConnector": "delta",
}
_SOURCES = {
    "JdbcSourceConnector": "jdbc",
    "DatagenConnector": "datagen",
    "SpoolDirCsvSourceConnector": "files",
    "SpoolDirJsonSourceConnector": "files",
    "SpoolDirLineDelimitedSourceConnector": "files",
}
_FORMATS = {"SpoolDirCsvSourceConnector": "csv", "SpoolDirJsonSourceConnector": "json"}
_DEBEZIUM = "io.debezium.connector."
_OTHER_NAMES = {"opensearch": "elasticsearch", "postgres": "postgresql"}


def plugin_of(written: str, direction: Direction) -> tuple[str, dict[str, str]]:
    """The plug-in's name, and the options that the class name says by itself."""
    if written.startswith(_DEBEZIUM):
        database = written.removeprefix(_DEBEZIUM).split(".")[0]
        return "cdc", {"database": _OTHER_NAMES.get(database, database)}
    known = _SINKS if direction is Direction.SINK else _SOURCES
    last = written.rsplit(".", 1)[-1]
    name = known.get(last, last.removesuffix(f"{direction.capitalize()}Connector")).lower()
    return _OTHER_NAMES.get(name, name), {"format": _FORMATS[last]} if last in _FORMATS else {}


def class_name(plugin: str, direction: Direction) -> str:
    """The plug-in's name to Kafka Connect's clients: of a sink and a source that are called alike, one for each."""
    return f"{plugin.capitalize()}{direction.capitalize()}Connector"
