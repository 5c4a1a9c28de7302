"""The HTTP client of a search server: several addresses, patience with one that is busy, and its refusals as ours.

Elasticsearch and OpenSearch answer alike to all that is asked here, so nobody asks which of them it is.
"""

from __future__ import annotations

import gzip
import json
import re
import ssl
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from pydantic import SecretStr

from orion.errors import ConfigError, ExternalError
from orion.sinks.store import StoreAway

BUSY = frozenset({429, 502, 503, 504})
# What the server quotes of a document: an id, or the value of a field. Of a cause nothing tells which quotes are those.
_VALUES = re.compile(
    r" in document with id '.*?'"
    r"|\. Preview of field's value: .*"
    r"|(?<=\bid) \[.*?\](?= is too long)"
    r"|The prefix of the first immense term is: .*?'\.\.\.',?",
    re.DOTALL,
)
_LOGIN = re.compile(r"//[^/@]*@")
_QUOTED = re.compile(r"""'[^']*'|"[^"]*"|\[[^\]]*\]""")


@dataclass(frozen=True, slots=True)
class Connection:
    """Where the server is and how to log in. Addresses hold no login."""

    urls: tuple[str, ...]
    username: str | None = None
    password: SecretStr | None = None
    api_key: SecretStr | None = None
    certificates: str | None = None  # a PEM file of those to trust
    check_host: bool = True
    compress: bool = False
    connect_seconds: float = 1.0
    read_seconds: float = 30.0
    retries: int = 5  # of a server that is busy
    pause_seconds: float = 0.1  # before the first of them; doubled each time

    @property
    def where(self) -> str:
        return ",".join(self.urls)


class SearchClient:
    def __init__(self, connection: Connection) -> None:
        self._to = connection
        self._urls = list(connection.urls)  # the one that answered last is first
        headers = {"Accept": "application/json"}
        auth = None
        if connection.api_key is not None:
            headers["Authorization"] = f"ApiKey {connection.api_key.get_secret_value()}"
        elif connection.username is not None:
            password = connection.password.get_secret_value() if connection.password else ""
            auth = httpx.BasicAuth(connection.username, password)
        timeout = httpx.Timeout(connection.read_seconds, connect=connection.connect_seconds)
        self._http = httpx.Client(headers=headers, auth=auth, timeout=timeout, verify=_trust(connection))

    @property
    def where(self) -> str:
        return self._to.where

    def close(self) -> None:
        self._http.close()

    def get(self, path: str) -> Mapping[str, Any] | None:
        """What is there, or None."""
        answer = self.ask("GET", path, fine=(404,))
        return None if answer.status_code == 404 else self.read(answer)

    def read(self, answer: httpx.Response) -> Mapping[str, Any]:
        """The object that an answer is."""
        try:
            found = answer.json()
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, Mapping):
            kind = answer.headers.get("content-type", "").partition(";")[0].strip()
            raise self.strange(f"no JSON object ({answer.status_code}, {kind[:60] or 'of no type'})")
        return found

    @contextmanager
    def reading(self, what: str) -> Iterator[None]:
        """While the parts of an answer are looked at: of another server they are other parts."""
        try:
            yield
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise self.strange(f"an answer to {what} that can't be understood") from error

    def strange(self, told: str) -> ConfigError:
        """Something answers, and it isn't a search server."""
        hint = (
            "'connection.url' is the address of Elasticsearch or OpenSearch itself, not of a page or a proxy before it."
        )
        return ConfigError(
            "NOT_A_SEARCH_SERVER", f"What answers at {self.where} is no search server: {told}.", hint=hint
        )

    def put(self, path: str, body: Mapping[str, Any], fine: Iterable[int] = ()) -> httpx.Response:
        return self.ask("PUT", path, json.dumps(body).encode(), fine=fine)

    def ask(
        self, method: str, path: str, body: bytes | None = None, *, fine: Iterable[int] = (), lines: bool = False
    ) -> httpx.Response:
        """An answer that is good, or one of the `fine` statuses. While the server is busy it is asked again."""
        headers = {}
        if body is not None:
            headers["Content-Type"] = "application/x-ndjson" if lines else "application/json"
            if self._to.compress:
                headers["Content-Encoding"] = "gzip"
                body = gzip.compress(body, compresslevel=1)
        for wait in self.pauses():
            answer = self._once(method, path, body, headers)
            if answer.status_code not in BUSY:
                break
            if wait is None:
                raise StoreAway(f"The search server at {self.where}", refusal(answer))
            time.sleep(wait)
        if answer.is_success or answer.status_code in fine:
            return answer
        raise self.failed(answer)

    def pauses(self) -> Iterable[float | None]:
        """How long to wait after each try; None behind the last."""
        yield from (self._to.pause_seconds * 2**n for n in range(self._to.retries))
        yield None

    def _once(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> httpx.Response:
        """From whichever address answers."""
        told = ""
        for url in list(self._urls):
            try:
                return self._http.request(method, f"{url}{path}", content=body, headers=headers)
            except httpx.TransportError as error:
                told = f"{type(error).__name__} {error}".strip()
                self._urls.append(self._urls.pop(0))
            except httpx.RequestError as error:  # bytes that aren't what the answer's head says
                raise self.strange(f"an answer that can't be read ({type(error).__name__})") from error
        raise StoreAway(f"The search server at {self.where}", told)

    def failed(self, answer: httpx.Response) -> Exception:
        told = refusal(answer)
        if answer.is_redirect:
            where = answer.headers.get("location", "").partition("?")[0]
            return self.strange(f"it leads elsewhere ({answer.status_code}, to {_LOGIN.sub('//', where)[:100]})")
        if answer.status_code == 401:
            hint = "'connection.username' and 'connection.password', or 'connection.api.key', say who it is."
            return ConfigError(
                "STORE_LOGIN", f"The search server at {self.where} refuses the login: {told}.", hint=hint
            )
        if answer.status_code == 403 and is_blocked(told):
            return StoreAway(f"The search server at {self.where}", told)
        if answer.status_code == 403:
            hint = "The user needs to read, write and create the index, and orion_epochs."
            return ConfigError("STORE_FORBIDDEN", f"The search server at {self.where}: {told}.", hint=hint)
        if answer.status_code == 400:
            return ConfigError("STORE_REFUSES", f"The search server at {self.where}: {told}.")
        return ExternalError("STORE_FAILED", f"The search server at {self.where}: {answer.status_code}, {told}.")


def refusal(answer: httpx.Response) -> str:
    """What the server says of what it doesn't do."""
    try:
        error = answer.json().get("error")
    except (ValueError, AttributeError, RecursionError):
        error = None
    return reason(error) if error else f"{answer.status_code} {answer.reason_phrase}".strip()


def reason(error: Any) -> str:
    """An error of the server's as a sentence, without the values that it quotes."""
    if not isinstance(error, Mapping):
        return _VALUES.sub("", str(error)).rstrip(". ")
    told = _VALUES.sub("", f"{error.get('type')}: {error.get('reason')}").rstrip(". ")
    cause = error.get("caused_by")
    if not isinstance(cause, Mapping):
        return told
    return f"{told}; {cause.get('type')}: {_QUOTED.sub('[...]', str(cause.get('reason')))}".rstrip(". ")


def is_blocked(told: str) -> bool:
    """Indices that may not be written now, as when the disk is full: not the user's right is missing."""
    return told.startswith("cluster_block_exception")


def _trust(connection: Connection) -> ssl.SSLContext | bool:
    if not any(url.startswith("https:") for url in connection.urls):
        return False
    try:
        context = ssl.create_default_context(cafile=connection.certificates)
    except (OSError, ssl.SSLError):
        told = f"{connection.certificates} can't be read as certificates."
        raise ConfigError("INVALID_CONNECTOR", told, hint="It is a file in PEM form.") from None
    context.check_hostname = connection.check_host
    return context
