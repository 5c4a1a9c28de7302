"""Where a database is, as `connection.url` says it: JDBC's addresses, with or without their `jdbc:`.

jdbc:postgresql://host:5432/shop?currentSchema=sales&sslmode=require
jdbc:mysql://host/shop          jdbc:mariadb://host/shop
jdbc:sqlite:/data/shop.db
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from orion.errors import ConfigError, hint_nearest


class Kind(StrEnum):
    POSTGRESQL = "postgresql"
    MYSQL = "mysql"
    SQLITE = "sqlite"


# Names in addresses, and whose protocol they speak.
_SCHEMES = {
    "postgresql": Kind.POSTGRESQL,
    "postgres": Kind.POSTGRESQL,
    "yugabytedb": Kind.POSTGRESQL,
    "redshift": Kind.POSTGRESQL,
    "mysql": Kind.MYSQL,
    "mariadb": Kind.MYSQL,
    "sqlite": Kind.SQLITE,
}
_PORTS = {"postgresql": 5432, "postgres": 5432, "yugabytedb": 5433, "redshift": 5439, "mysql": 3306, "mariadb": 3306}
_ADDRESS = re.compile(r"(?:jdbc:)?([a-z]+):(.*)", re.DOTALL | re.IGNORECASE)
Parameters = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Address:
    """An address, taken apart. Parameters may hold a password, so no one prints them."""

    scheme: str
    hosts: tuple[tuple[str, int], ...]
    database: str  # of SQLite, the file's path
    parameters: Parameters = field(default=(), repr=False)

    @property
    def kind(self) -> Kind:
        return _SCHEMES[self.scheme]

    def parameter(self, name: str) -> str | None:
        return next((value for known, value in self.parameters if known == name), None)

    def __str__(self) -> str:
        if self.kind is Kind.SQLITE:
            return f"SQLite at {self.database}"
        hosts = ",".join(f"{host}:{port}" for host, port in self.hosts)
        return f"{self.scheme} at {hosts}/{self.database}"


def parsed(url: str) -> Address:
    """Raises ValueError with what is wrong, without the URL, which may hold a password."""
    match = _ADDRESS.fullmatch(url.strip())
    scheme = match[1].lower() if match else ""
    if match is None or scheme not in _SCHEMES:
        known = ", ".join(f"jdbc:{name}:" for name in _SCHEMES)
        raise ValueError(f"must begin with one of {known}")
    rest, _, query = match[2].partition("?")
    parameters = tuple(parse_qsl(query, keep_blank_values=True))
    if _SCHEMES[scheme] is Kind.SQLITE:
        return _file(rest, parameters)
    server = re.fullmatch(r"//(?:([^/@]*)@)?([^/@]+)/([^/]+)", rest)
    if server is None:
        raise ValueError(f"must read jdbc:{scheme}://HOST:PORT/DATABASE")
    hosts = tuple(_host(part, _PORTS[scheme]) for part in server[2].split(","))
    return Address(scheme, hosts, unquote(server[3]), (*parameters, *_login(server[1] or "")))


def _login(written: str) -> Parameters:
    """A login in front of the host, as the parameters that it could be as well."""
    user, colon, password = written.partition(":")
    said = {"user": user, "password": password if colon else ""}
    return tuple((name, unquote(value)) for name, value in said.items() if value)


def _file(path: str, parameters: Parameters) -> Address:
    path = path.removeprefix("file:")
    path = path[2:] if path.startswith("//") else path
    if not path or path == ":memory:":
        raise ValueError("must name a file that workers can open: jdbc:sqlite:PATH")
    # Workers may have another current folder.
    return Address("sqlite", (), str(Path(unquote(path)).expanduser().absolute()), parameters)


def _host(written: str, port: int) -> tuple[str, int]:
    match = re.fullmatch(r"(\[[0-9a-fA-F:]+\]|[^:\s\[\]]+)(?::(\d{1,5}))?", written.strip())
    if match is None:
        raise ValueError("has a host that isn't one: HOST or HOST:PORT")
    return match[1].strip("[]"), int(match[2] or port)


@dataclass(frozen=True, slots=True)
class Database:
    """One database and a login for it; frozen, so that it may travel to workers. Its text has no secrets."""

    kind: Kind
    name: str  # of SQLite the file
    host: str = ""
    port: int = 0
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    parameters: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # what else the address says

    def __str__(self) -> str:
        place = f"//{self.host}:{self.port}/{self.name}" if self.host else self.name
        return f"{self.kind.value}:{place}"

    def parameter(self, name: str) -> str | None:
        return next((value for key, value in self.parameters if key.lower() == name.lower()), None)


def database(url: str, user: str | None = None, password: str | None = None) -> Database:
    """The database of an address, at the first of its hosts. A login that is given beside it wins over one in it."""
    match = _ADDRESS.fullmatch(url.strip())
    scheme = match[1].lower() if match else url.strip()[:20]
    if scheme not in _SCHEMES:
        known = ", ".join(f"jdbc:{name}:" for name in ("postgresql", "mysql", "mariadb", "sqlite"))
        raise ConfigError(
            "UNKNOWN_DATABASE",
            "'connection.url' names no database that Orion knows.",
            hint=hint_nearest(scheme, list(_SCHEMES)) or f"Addresses begin with {known}.",
        )
    try:
        address = parsed(url)
    except ValueError as error:
        example = (
            "jdbc:sqlite:/data/shop.db" if scheme == "sqlite" else f"jdbc:{scheme}://localhost:{_PORTS[scheme]}/shop"
        )
        raise ConfigError("INVALID_ADDRESS", f"'connection.url' {error}.", hint=f"For example {example}.") from None
    host, port = address.hosts[0] if address.hosts else ("", 0)
    others = tuple((name, value) for name, value in address.parameters if name not in ("user", "password"))
    return Database(
        address.kind,
        address.database,
        host,
        port,
        user or address.parameter("user"),
        password or address.parameter("password"),
        others,
    )
