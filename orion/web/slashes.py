"""Paths as Confluent's servers read them: `%2F` is part of a name, and doesn't cut the path there."""

from __future__ import annotations

from urllib.parse import unquote

from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Scope

# Stands for a slash inside of a name until the path is cut.
_SLASH = "\ue000"


class NamedRoute(APIRoute):
    """A route whose parameters are names that may have slashes in them; a slash at the end of the path says nothing."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches({**scope, "path": _path(scope)})
        if "path_params" in found:
            given = found["path_params"].items()
            plain = {n: v.replace(_SLASH, "/") if isinstance(v, str) else v for n, v in given}
            found = {**found, "path_params": plain}
        return match, found


def _path(scope: Scope) -> str:
    path, raw = scope["path"], scope.get("raw_path")
    if raw:
        kept = raw.split(b"?")[0].decode("ascii", "replace")
        path = unquote(kept.replace("%2F", _SLASH).replace("%2f", _SLASH))
    return path.rstrip("/") or "/"
