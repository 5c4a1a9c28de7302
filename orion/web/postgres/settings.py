"""What a session has set: SET, SHOW, and what clients are told about it without asking."""

from __future__ import annotations

from orion import __version__

VERSION = "14.0"  # the PostgreSQL whose catalogs `catalog.py` has; it decides what clients ask

REPORTED = (
    "server_version", "server_encoding", "client_encoding", "application_name", "is_superuser", "session_authorization",
    "DateStyle", "IntervalStyle", "TimeZone", "integer_datetimes", "standard_conforming_strings",
    "default_transaction_read_only", "in_hot_standby",
)  # fmt: skip

_DEFAULTS = {
    "server_version": f"{VERSION} (Orion {__version__})",
    "server_version_num": "140000",
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "application_name": "",
    "is_superuser": "off",
    "session_authorization": "orion",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "TimeZone": "UTC",
    "integer_datetimes": "on",
    "standard_conforming_strings": "on",
    "default_transaction_read_only": "on",
    "in_hot_standby": "off",
    "transaction_read_only": "on",
    "transaction_isolation": "read committed",
    "default_transaction_isolation": "read committed",
    "search_path": '"$user", main',
    "max_identifier_length": "63",
    "max_index_keys": "32",
    "lc_collate": "C",
    "lc_ctype": "C",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "client_min_messages": "notice",
    "row_security": "on",
    "ssl": "off",
}
_FIXED = {"server_version", "server_version_num", "server_encoding", "integer_datetimes", "is_superuser"}
_SPELLINGS = {name.lower(): name for name in _DEFAULTS}
_STARTUP_ONLY = {"user", "database", "options", "replication"}


class Settings:
    """Settings of one session. Most are only remembered: DuckDB has no use for them."""

    def __init__(self, startup: dict[str, str]) -> None:
        self.user = startup.get("user") or "orion"
        self.database = startup.get("database") or self.user
        given = {_spelled(name): value for name, value in startup.items() if name not in _STARTUP_ONLY}
        self._start = _DEFAULTS | {"session_authorization": self.user}
        self._start |= {name: value for name, value in given.items() if name not in _FIXED | {"client_encoding"}}
        self._values = dict(self._start)
        self.version = 0  # another one after each change

    def get(self, name: str) -> str | None:
        return self._values.get(_spelled(name))

    def all(self) -> dict[str, str]:
        return dict(self._values)

    def set(self, name: str, value: str | None) -> str | None:
        """Set a value, or the one of the start with none; gives the name, where the client must hear of it."""
        name = _spelled(name)
        if name in _FIXED or name == "client_encoding":  # everything is UTF-8 here, whatever is asked for
            return None
        before = self._values.get(name)
        self.version += 1
        if value is None and name not in self._start:
            self._values.pop(name, None)
        else:
            self._values[name] = self._start[name] if value is None else value
        return name if name in REPORTED and self._values.get(name) != before else None

    def reset(self) -> list[str]:
        """As at the start; gives the names that the client must hear of."""
        before, self._values = self._values, dict(self._start)
        self.version += 1
        return [name for name in REPORTED if before.get(name) != self._values[name]]


def _spelled(name: str) -> str:
    return _SPELLINGS.get(name.lower(), name.lower())
