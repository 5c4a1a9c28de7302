"""Where a connector's other end is, as far as it can be shown: an address without logins, a folder, a bucket."""

from __future__ import annotations

import re

from orion.plan.sources import Connector

# The option that says it, of whichever plug-in; the first that is set.
_PLACES = ("path", "s3.bucket.name", "connection.url", "connection.uri", "database.hostname")
_ADDRESS = re.compile(r"(?:jdbc:)?[\w+.-]+://(?:[^/@]*@)?(?P<place>[^?#;@]+)(?:[?#;].*)?", re.DOTALL)


def place_of(connector: Connector) -> str | None:
    """None where nothing is said, or where what is said may hold a secret."""
    options = dict(connector.options)
    written = next((options[name] for name in _PLACES if options.get(name)), None)
    if written is None or "${" in written:
        return None
    first = written.split(",")[0].strip()
    if "://" in first:
        found = _ADDRESS.fullmatch(first)
        return found["place"].rstrip("/") if found else None
    return None if "@" in first or "password" in first.lower() else first
