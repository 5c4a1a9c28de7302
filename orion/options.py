"""Options of connectors: names as Kafka Connect's users know them, checked before anything runs.

A connector's options are one frozen model. Its fields say the name, the type, the default and what an option is for;
statements, HTTP and forms all go by that one declaration. A value may stand elsewhere, where the settings allow it: see
`orion/security/secret_places.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from orion.errors import ConfigError, hint_nearest
from orion.security.secret_places import REFERENCE, SecretPlaces

HIDDEN = "[hidden]"

# What Kafka Connect's workers and its users' files say, and Orion knows by other means: taken, without effect.
WITHOUT_EFFECT = re.compile(
    r"name|tasks\.max|(key|value|header)\.converter(\..*)?|errors\.(log|retry)\..*|errors\.deadletterqueue\..*"
    r"|auto\.register\.schemas|config\.action\.reload|consumer\.override\..*|producer\.override\..*"
)
_SECRET = re.compile(
    r"password|secret|passphrase|token|credential|private\.?key|access\.key|api\.?key|jaas", re.IGNORECASE
)
_CONNECTOR = re.compile(r"\bCONNECTOR\b", re.IGNORECASE)
_SQL_OPTION = re.compile(r"""((?:'[^']*'|"[^"]*"|[\w.]+))(\s*=\s*)('(?:[^']++|'')*'?)""")

T = TypeVar("T", bound="Options")


class Options(BaseModel):
    """What one kind of connector takes. A field's alias is the option's name."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, hide_input_in_errors=True)


@dataclass(frozen=True, slots=True)
class Definition:
    """An option, as forms and Kafka Connect's API describe one."""

    name: str
    type: str  # STRING, INT, LONG, DOUBLE, BOOLEAN, LIST or PASSWORD
    required: bool
    default: str | None
    doc: str
    values: tuple[str, ...] = ()  # all that it may be, where that is a list


def understood(model: type[T], written: Mapping[str, str], connector: str) -> T:
    """The options as a value; what is unknown, missing or wrong is refused by name, and no value is told."""
    kept = {name: value for name, value in written.items() if not WITHOUT_EFFECT.fullmatch(name)}
    try:
        return model.model_validate(kept)
    except ValidationError as error:
        raise refused(model, error, connector) from None


def refused(model: type[Options], error: ValidationError, connector: str) -> ConfigError:
    first = error.errors(include_input=False, include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"])
    known = [d.name for d in definitions(model)]
    if first["type"] == "extra_forbidden":
        told = f"Connector {connector}: there is no option '{name}'."
        return ConfigError(
            "UNKNOWN_OPTION", told, hint=hint_nearest(name, known) or f"Options are {', '.join(sorted(known))}."
        )
    if first["type"] == "missing":
        return ConfigError("INVALID_CONNECTOR", f"Connector {connector}: '{name}' is missing.", hint=_doc(model, name))
    why = str(first["msg"]).removeprefix("Value error, ").rstrip(".")
    where = f"'{name}': " if name else ""
    return ConfigError("INVALID_CONNECTOR", f"Connector {connector}: {where}{why}.", hint=_doc(model, name))


def mistakes(model: type[Options], written: Mapping[str, str], places: SecretPlaces) -> dict[str, str]:
    """All that is wrong with options, by name."""
    found: dict[str, str] = {}
    kept: dict[str, str] = {}
    for name, value in written.items():
        try:
            if not WITHOUT_EFFECT.fullmatch(name):
                kept[name] = places.resolve(value, name)
        except ConfigError as error:
            found[name] = error.message
    try:
        model.model_validate(kept)
    except ValidationError as error:
        for one in error.errors(include_input=False, include_url=False):
            told = "There is no such option." if one["type"] == "extra_forbidden" else f"{one['msg']}."
            found.setdefault(".".join(map(str, one["loc"])), told)
    return found


def definitions(model: type[Options]) -> tuple[Definition, ...]:
    return tuple(_definition(field.alias or name, field) for name, field in model.model_fields.items())


def is_secret(option: str) -> bool:
    return _SECRET.search(option) is not None


def shown(options: Mapping[str, str]) -> dict[str, str]:
    """Options as anybody may see them: secrets are hidden, unless they only say where the secret is."""
    return {
        name: HIDDEN if is_secret(name) and not REFERENCE.fullmatch(value) else _without_login(value)
        for name, value in options.items()
    }


def masked(statement: str) -> str:
    """A connector's statement without the secrets that stand in it; any other is given back as it is."""
    if not _CONNECTOR.search(statement):
        return statement

    def hide(match: re.Match[str]) -> str:
        name, equals, value = match[1].strip("'\""), match[2], match[3][1:].removesuffix("'")
        # One that nobody closed is a secret too, up to the end of the text.
        return f"{match[1]}{equals}'{shown({name: value})[name]}{match[3][1:][len(value) :]}"

    return _SQL_OPTION.sub(hide, statement)


def _without_login(value: str) -> str:
    """An address without the login that may stand in it, before the host or among the parameters."""
    value = re.sub(r"(://)[^/@\s]*@", rf"\1{HIDDEN}@", value)
    return re.sub(r"(?i)([?&;](?:[\w.]*password|[\w.]*secret[\w.]*|[\w.]*token)=)[^&;\s]*", rf"\1{HIDDEN}", value)


def _doc(model: type[Options], name: str) -> str | None:
    found = next((d for d in definitions(model) if d.name == name), None)
    return f"It is {found.doc}." if found and found.doc else None


_TYPES = ((bool, "BOOLEAN"), (int, "INT"), (float, "DOUBLE"), (SecretStr, "PASSWORD"), (tuple, "LIST"), (list, "LIST"))


def _definition(name: str, field: FieldInfo) -> Definition:
    kinds = list(_kinds(field.annotation))
    texts = [k for k in kinds if isinstance(k, str)]
    type_ = next((told for cls, told in _TYPES if cls in kinds), "STRING")
    required = field.is_required()
    default = None if required or field.default is None else _written(field.get_default(call_default_factory=True))
    return Definition(name, type_, required, default, field.description or "", tuple(texts))


def _kinds(annotation: Any) -> Iterator[Any]:
    """A type's parts: of a union all, of a Literal its values."""
    parts = get_args(annotation)
    if not parts or annotation in (tuple, list):
        yield annotation
        return
    origin = getattr(annotation, "__origin__", None)
    if origin in (tuple, list):
        yield origin
        return
    for part in parts:
        yield from _kinds(part)


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return ",".join(map(str, value))
    if isinstance(value, SecretStr):
        return ""
    return str(value)
