"""Who logs in, and parameters of a URL as a driver knows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import SecretStr

from orion.databases.address import Address
from orion.errors import ConfigError, hint_nearest


@dataclass(frozen=True, slots=True)
class Login:
    user: str | None
    password: SecretStr | None

    @property
    def secret(self) -> str | None:
        return self.password.get_secret_value() if self.password else None


def login(address: Address, user: str | None, password: SecretStr | None) -> Login:
    """Options count before parameters of the URL."""
    told = address.parameter("password")
    return Login(user or address.parameter("user"), password or (SecretStr(told) if told else None))


def known_parameters(
    address: Address, names: Mapping[str, str], without_effect: frozenset[str] = frozenset()
) -> dict[str, str]:
    """The URL's parameters under a driver's names. One that nobody knows is refused: it may have been about safety."""
    found: dict[str, str] = {}
    for name, value in address.parameters:
        if name in names:
            found[names[name]] = value
        elif name not in without_effect and name not in ("user", "password"):
            raise ConfigError(
                "INVALID_CONNECTOR",
                f"'connection.url' has a parameter '{name}' that isn't known.",
                hint=hint_nearest(name, list(names)) or f"Parameters are {', '.join(sorted(names))}.",
            )
    return found
