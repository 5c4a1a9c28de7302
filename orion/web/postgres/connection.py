"""A client's connection: its messages to a session, and the answers back, a thread's step at a time."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any

import structlog

from orion.web.postgres import protocol
from orion.web.postgres.access import Access
from orion.web.postgres.errors import Refused, understood
from orion.web.postgres.protocol import Cancel, Encryption, Message, ProtocolViolation, Startup
from orion.web.postgres.public_views import PublicViews
from orion.web.postgres.session import Session

log = structlog.get_logger()

_STEP_BYTES = 1 << 16  # of an answer, before the client gets it
_WAITING = 64  # messages that are read ahead
_WAITING_BYTES = 1 << 20  # of messages that aren't answered yet, before no more are read
_OPENING_S = 30.0
_LOGIN_S = 60.0
_READY_S = 30.0
_AGAIN_S = 0.05
_LOOK_S = 0.5

Messages = asyncio.Queue[tuple[Message, int] | None]  # with their sizes


class Connection:
    """`process` and `secret` are what a client cancels its query with, over another connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, process: int) -> None:
        self.process = process
        self.secret = secrets.token_bytes(4)
        self._reader = reader
        self._writer = writer
        self._session: Session | None = None
        self._step: asyncio.Future[Any] | None = None
        self._answering = False
        self._waiting = 0  # bytes of messages
        self._answered = asyncio.Event()
        self._stopping: asyncio.Task[None] | None = None

    async def opening(self) -> Startup | Cancel | None:
        """The first message; questions for encryption are answered on the way. Who is slow with it is left."""
        async with asyncio.timeout(_OPENING_S):
            return await self._opening()

    async def _opening(self) -> Startup | Cancel | None:
        while True:
            try:
                size = int.from_bytes(await self._reader.readexactly(4))
                if not 8 <= size <= protocol.MAX_STARTUP:
                    raise ProtocolViolation("the first message has no right length")
                found = protocol.opening(await self._reader.readexactly(size - 4))
            except asyncio.IncompleteReadError:
                return None
            if not isinstance(found, Encryption):
                return found
            self._writer.write(b"N")

    async def serve(self, startup: Startup, views: PublicViews, access: Access, pool: Executor) -> None:
        """Let the client in and answer it until it leaves."""
        try:
            async with asyncio.timeout(_LOGIN_S):
                await self._login(startup, views, access, pool)
        except Refused as refused:
            self.fatal(refused.code, refused.message)
            return
        messages: Messages = asyncio.Queue(_WAITING)
        listening = asyncio.create_task(self._listen(messages))
        try:
            while (message := await messages.get()) is not None and not isinstance(message[0], protocol.Terminate):
                await self._answer(message[0], pool)
                self._waiting -= message[1]
                self._answered.set()
        finally:
            listening.cancel()
            await self._stopped()

    async def _login(self, startup: Startup, views: PublicViews, access: Access, pool: Executor) -> None:
        loop = asyncio.get_running_loop()
        user = startup.parameters.get("user")
        if not user:
            raise Refused("28000", "no user name is given")
        if startup.minor or startup.unknown:
            self._writer.write(protocol.negotiate(startup.unknown))
        await access.admit(user, startup.parameters.get("database") or user, self._ask)
        if not await loop.run_in_executor(pool, views.ready, _READY_S):
            raise Refused("57P03", "the tables are being filled: try again later")
        session = Session(views, startup.parameters, self.process)
        self._session = session
        try:
            greeting = await loop.run_in_executor(pool, session.greeting)
        except Exception as error:
            raise understood(error) from error
        self._writer.write(protocol.authentication(0) + greeting)
        self._writer.write(protocol.key_data(self.process, self.secret) + session.ready())
        await self._writer.drain()

    async def _ask(self, code: int, data: bytes) -> bytes:
        self._writer.write(protocol.authentication(code, data))
        message, _ = await self._message()
        if not isinstance(message, protocol.Secret):
            raise Refused("08P01", "a password was asked for")
        return message.body

    async def _listen(self, messages: Messages) -> None:
        """Read ahead, so that a client that leaves is noticed while its query runs."""
        try:
            while True:
                message, size = await self._message()
                self._waiting += size
                await messages.put((message, size))
                await self._hold_back()
        except (asyncio.IncompleteReadError, OSError):
            pass
        except ProtocolViolation as violation:
            self.fatal("08P01", str(violation))
        self.cancel()
        while messages.full():
            messages.get_nowait()
        messages.put_nowait(None)

    async def _hold_back(self) -> None:
        """Let no more in than is being answered, but hear of it when the client leaves."""
        while self._waiting > _WAITING_BYTES and not self._reader.at_eof():
            self._answered.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._answered.wait(), _LOOK_S)

    async def _message(self) -> tuple[Message, int]:
        header = await self._reader.readexactly(5)
        size = int.from_bytes(header[1:])
        if not 4 <= size <= protocol.MAX_MESSAGE:
            raise ProtocolViolation("a message has no right length")
        return protocol.message(header[:1], await self._reader.readexactly(size - 4)), size

    async def _answer(self, message: Message, pool: Executor) -> None:
        assert self._session is not None
        self._answering = True
        answer = self._session.handle(message)
        done = False
        while not done:
            self._step = asyncio.get_running_loop().run_in_executor(pool, _some, answer)
            written, done = await asyncio.shield(self._step)  # a thread goes on, even if nobody waits for it any more
            self._writer.write(written)
            await self._writer.drain()
        if isinstance(message, protocol.Query | protocol.Sync):
            self._answering = False
            self._session.go_on()

    def cancel(self) -> None:
        """Stop what is being answered, if anything is; asked for by the client, or since it has left."""
        if self._answering and self._stopping is None:
            self._stopping = asyncio.create_task(self._stop())

    async def _stop(self) -> None:
        """Again until the step has ended: a query may only be about to start when it is first told."""
        assert self._session is not None
        self._session.cancel()
        await self._stopped()
        self._stopping = None

    async def _stopped(self) -> None:
        """The thread that works for this connection has come to an end with it."""
        while self._step is not None and not self._step.done():
            if self._session is not None:
                self._session.cancel()
            await asyncio.wait({self._step}, timeout=_AGAIN_S)

    def fatal(self, code: str, text: str) -> None:
        """The last thing that a client hears."""
        self._writer.write(protocol.error(code, text, severity="FATAL"))

    async def close(self, pool: Executor) -> None:
        if self._stopping is not None:
            self._stopping.cancel()
        await self._stopped()
        if self._session is not None:
            await asyncio.get_running_loop().run_in_executor(pool, self._session.close)
        self._writer.close()


def _some(answer: Iterator[bytes]) -> tuple[bytes, bool]:
    """The next pieces of an answer, and whether they are the last ones."""
    pieces: list[bytes] = []
    size = 0
    for piece in answer:
        pieces.append(piece)
        size += len(piece)
        if size >= _STEP_BYTES:
            return b"".join(pieces), False
    return b"".join(pieces), True
