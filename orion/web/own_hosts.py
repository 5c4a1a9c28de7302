"""Under which names a server is asked, and from whose pages: what tells a client from a page of somebody else's site.

A browser runs pages of any site on the machine where Orion may listen, and lets them send requests there. Two headers
tell, which no page can forge:

- `Host` is the name that was asked for. A site can have its own name point at 127.0.0.1 (DNS rebinding), and its pages
  are then, to the browser, of the same site as Orion; but the name is still theirs. So it must be one of ours.
- `Origin` is the site of the page. Browsers send it with every request that isn't a plain GET or HEAD, with every
  WebSocket, and with whatever a page wants to read across sites; where they hide it they say `null`. It must be the
  name that was asked for, or a listed one. Programs send none.
- `Sec-Fetch-Site` tells the same of what has no Origin, such as an image or a script. A link that somebody follows to
  the console from elsewhere is let in: it reads for whoever clicked, and does nothing.

Which names are ours: on loopback `localhost`, names below it, and loopback addresses. Elsewhere any address,
`localhost`, this machine's name, and any name without a dot, such as a service's in Docker: no site on the
web can have an address or such a name for its own, and whoever can give it a meaning is in the same network and reaches
the port anyway. All others are listed in `web.allowed_hosts`; `*` is any.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable
from functools import cached_property
from urllib.parse import urlsplit

ANY = "*"
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::\d{1,5})?")
_REMEMBERED = 1_000


class OwnHosts:
    """The names of one server. `bound` is the address that it listens on."""

    def __init__(self, bound: str, allowed: Iterable[str] = ()) -> None:
        self._allowed = frozenset(one.strip().lower() for one in allowed)
        address = _address(bound)
        self._only_loopback = bound == "localhost" or (address is not None and address.is_loopback)
        self._known: set[bytes] = set()

    def owns(self, host: bytes) -> bool:
        """Whether a Host header names this server."""
        if host in self._known:
            return True
        found = self._owns(host.decode("latin-1").lower())
        if found and len(self._known) < _REMEMBERED:
            self._known.add(host)
        return found

    def owns_origin(self, origin: bytes, host: bytes) -> bool:
        """Whether an Origin header is that of pages of this server, which was asked for as `host`."""
        asked = origin.decode("latin-1").lower()
        try:
            site = urlsplit(asked)
        except ValueError:
            return False
        if site.scheme not in ("http", "https") or not site.netloc:
            return False
        return site.netloc == host.decode("latin-1").lower() or site.netloc in self._allowed

    def _owns(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name = found[1].strip("[]").removesuffix(".")
        if ANY in self._allowed or host in self._allowed or name in self._allowed:
            return True
        if name == "localhost" or name.endswith(".localhost") or _is_loopback(name):
            return True
        return not self._only_loopback and (_address(name) is not None or "." not in name or name in self._own_names)

    @cached_property
    def _own_names(self) -> frozenset[str]:
        return frozenset({socket.gethostname().lower(), socket.getfqdn().lower()})


def _is_loopback(name: str) -> bool:
    """The address of no interface in particular leads to this machine as well."""
    found = _address(name)
    return found is not None and (found.is_loopback or found.is_unspecified)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None
