"""Who may come in. Whoever reaches the loopback address does; a check of passwords goes in here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from orion.web.postgres.errors import Refused

# Sends an authentication request (its code and data) and gives the client's answer. SASL asks several times.
Ask = Callable[[int, bytes], Awaitable[bytes]]

_CLEARTEXT = 3


class Access(Protocol):
    async def admit(self, user: str, database: str, ask: Ask) -> None:
        """Let the client in by returning; else raise Refused with 28P01 or 28000."""


class Everybody:
    async def admit(self, user: str, database: str, ask: Ask) -> None:
        return


class Passwords:
    """Passwords as they are: for connections that nobody else can read."""

    def __init__(self, check: Callable[[str, str], bool]) -> None:
        self._check = check

    async def admit(self, user: str, database: str, ask: Ask) -> None:
        password = (await ask(_CLEARTEXT, b"")).rstrip(b"\0").decode(errors="replace")
        if not self._check(user, password):
            raise Refused("28P01", f'password authentication failed for user "{user}"')
