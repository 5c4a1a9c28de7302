"""JSON objects behind one another, as they come in pieces of any size."""

from __future__ import annotations

import re

_OUTSIDE = re.compile(rb'["{}\[\]]')
_INSIDE = re.compile(rb'["\\]')
_OPEN, _CLOSE = b"{[", b"}]"


class JsonStream:
    """Cuts a stream at the ends of its objects, looking at each byte once. `most` is how large one may be.

    What stands between objects is white space or commas; anything else becomes a piece of its own, for whoever parses
    it to refuse.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = bytearray()
        self._seen = 0  # how far it was looked at
        self._depth = 0
        self._in_text = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """The objects that end in this piece. Raises ValueError where one is too large."""
        self._held += chunk
        found: list[bytes] = []
        while self._step(found):
            pass
        if len(self._held) > self._most:
            raise ValueError(f"a record has more than {self._most} bytes")
        return found

    def rest(self) -> bytes:
        """What is left at the end, which is nothing if all objects are whole."""
        return bytes(self._held).strip(b" \t\r\n,")

    def _step(self, found: list[bytes]) -> bool:
        """On to the next byte that matters; whether there is one."""
        match = (_INSIDE if self._in_text else _OUTSIDE).search(self._held, self._seen)
        if match is None:
            self._seen = len(self._held)
            return False
        byte, at = match.group(), match.start()
        if byte == b"\\":
            if at + 1 >= len(self._held):  # what it escapes is still to come
                self._seen = at
                return False
            self._seen = at + 2
            return True
        self._seen = at + 1
        if byte == b'"':
            self._in_text = not self._in_text
        elif byte in _OPEN:
            self._depth += 1
        elif byte in _CLOSE:
            self._depth = max(0, self._depth - 1)
            if self._depth == 0:
                found.append(bytes(self._held[: self._seen]).strip(b" \t\r\n,"))
                del self._held[: self._seen]
                self._seen = 0
        return True
