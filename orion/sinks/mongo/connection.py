"""A client of a MongoDB server, and its errors as ours. A login that stands in the address is never told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pymongo import MongoClient
from pymongo.errors import ConfigurationError, ConnectionFailure, OperationFailure, PyMongoError
from pymongo.uri_parser import parse_uri

from orion.errors import ConfigError, ExternalError, OrionError
from orion.sinks.mongo.models import Document
from orion.sinks.store import StoreAway

NOT_ALLOWED, WRONG_LOGIN = 13, (18, 8000, 8004, 8005)
# Codes of a server that goes, comes, elects, or has no room: what was asked for can be asked again.
TRANSIENT = frozenset(
    {6, 7, 24, 43, 50, 64, 89, 91, 112, 134, 189, 202, 262, 317, 358, 384, 9001}
    | {10058, 10107, 11600, 11602, 13388, 13435, 13436, 14031}
)
# Where the address says nothing: nobody waits half a minute to hear that nobody answers. For a server that works on a
# request there is no limit, as it would go on working while the same rows come again, and end with the older ones.
PATIENCE = {"serverselectiontimeoutms": 5_000, "connecttimeoutms": 5_000}


def address_parts(uri: str) -> tuple[str, str | None, Mapping[str, Any]]:
    """The servers as anybody may see them, the database and the options of an address."""
    try:
        parsed = parse_uri(uri, warn=False)
    except (PyMongoError, ValueError, TypeError) as error:
        # The library's text may hold a piece of the login.
        raise ConfigError(
            "INVALID_CONNECTOR",
            f"'connection.uri' isn't an address of MongoDB's ({type(error).__name__}).",
            hint="It is mongodb://user:password@host:port/?options; in a password % : / ? # [ ] @ are percent-encoded.",
        ) from None
    hosts = ",".join(f"{host}:{port}" if port else str(host) for host, port in parsed["nodelist"])
    return hosts, parsed["database"], parsed["options"]


def connect(uri: str) -> MongoClient[Document]:
    _, _, said = address_parts(uri)
    named = {name.lower() for name in said}
    patience: dict[str, Any] = {name: wait for name, wait in PATIENCE.items() if name not in named}
    try:
        return MongoClient(uri, appname=None if "appname" in named else "orion", **patience)
    except (PyMongoError, ValueError, TypeError) as error:
        raise ConfigError("INVALID_CONNECTOR", f"'connection.uri' can't be used: {type(error).__name__}.") from None


@contextmanager
def answering(where: str) -> Iterator[None]:
    """Errors of the client's, as who must act on them."""
    try:
        yield
    except ConnectionFailure as error:
        raise StoreAway(f"MongoDB at {where}", briefly(error)) from None
    except OperationFailure as error:
        raise failed(where, error.code, briefly(error), error) from None
    except ConfigurationError as error:
        raise ConfigError("INVALID_CONNECTOR", f"MongoDB at {where} can't be used: {briefly(error)}.") from None


def failed(where: str, code: int | None, told: str, error: PyMongoError | None = None) -> OrionError:
    if code in WRONG_LOGIN:
        hint = "User, password and authSource stand in 'connection.uri'."
        return ConfigError("STORE_LOGIN", f"MongoDB at {where} refuses the login: {told}.", hint=hint)
    if code == NOT_ALLOWED:
        hint = "The user needs the role readWrite of the database."
        return ConfigError("STORE_FORBIDDEN", f"MongoDB at {where}: {told}.", hint=hint)
    labelled = error is not None and error.has_error_label("RetryableWriteError")
    if code in TRANSIENT or labelled:
        return StoreAway(f"MongoDB at {where}", told)
    return ExternalError("STORE_FAILED", f"MongoDB at {where}: {told} (code {code}).")


def briefly(error: PyMongoError) -> str:
    """The server's words, without the client's account of all it knows about the servers."""
    text = str(error)
    for after in (", full error:", ", Timeout:", ", Topology Description:", " (configured timeouts:"):
        text = text.split(after, 1)[0]
    return text.rstrip(". ")
