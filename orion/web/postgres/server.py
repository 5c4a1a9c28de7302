"""PostgreSQL's door as a server: a thread with an event loop, and threads in which queries run."""

from __future__ import annotations

import asyncio
import itertools
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hmac import compare_digest
from typing import Self

import structlog

from orion.errors import ExternalError
from orion.web.postgres.access import Access, Everybody
from orion.web.postgres.connection import Connection
from orion.web.postgres.port import Tables
from orion.web.postgres.protocol import Cancel, ProtocolViolation
from orion.web.postgres.public_views import PublicViews

log = structlog.get_logger()

CONNECTIONS = 100
SOCKETS = 3 * CONNECTIONS  # those too that have said nothing yet, or come to cancel
_START_S = 15.0
_STOP_S = 10.0


@contextmanager
def serving_postgres(tables: Tables, sock: socket.socket, access: Access | None = None) -> Iterator[str]:
    """The tables on a socket that is bound and listens; gives the address, as clients write it."""
    server = Server.start(tables, sock, access or Everybody())
    try:
        yield server.address
    finally:
        server.stop()


class Server:
    """A serving thread. `address` is where it answers."""

    def __init__(self, tables: Tables, sock: socket.socket, access: Access) -> None:
        host, port = sock.getsockname()[:2]
        self.address = f"postgresql://{f'[{host}]' if ':' in host else host}:{port}/orion"
        self._views = PublicViews(tables)
        self._access = access
        self._pool = ThreadPoolExecutor(CONNECTIONS, thread_name_prefix="orion-postgres-query")
        self._numbers = itertools.count(1)
        self._connections: dict[int, Connection] = {}
        self._talks: set[asyncio.Task[None]] = set()
        self._clients: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(sock,), name="orion-postgres", daemon=True)

    @classmethod
    def start(cls, tables: Tables, sock: socket.socket, access: Access) -> Self:
        server = cls(tables, sock, access)
        server._thread.start()
        if not server._ready.wait(_START_S) or server._failure:
            reason = server._failure or "no answer"
            raise ExternalError("POSTGRES_FAILED", f"The server for PostgreSQL's clients didn't start: {reason}.")
        return server

    def stop(self) -> None:
        """Clients are told; what they run is stopped."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(2 * _STOP_S)
        self._pool.shutdown(wait=not self._thread.is_alive() and not self._clients, cancel_futures=True)

    def _run(self, sock: socket.socket) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._serve(sock))
        except BaseException as error:
            self._failure = error
        finally:
            self._ready.set()

    async def _serve(self, sock: socket.socket) -> None:
        server = await asyncio.start_server(self._accept, sock=sock.dup())
        self._ready.set()
        await self._stopping.wait()
        server.close()
        for connection in self._connections.values():
            connection.fatal("57P01", "the server is stopping")
        for talk in self._talks:
            talk.cancel()
        if self._clients:
            await asyncio.wait(self._clients, timeout=_STOP_S)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A client, from its first message to its last. The talk with it can be broken off; the closing can't."""
        if len(self._clients) >= SOCKETS:
            writer.close()  # without a word, since it would have to be read
            return
        client = asyncio.current_task()
        assert client is not None
        self._clients.add(client)
        client.add_done_callback(self._clients.discard)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection = Connection(reader, writer, next(self._numbers))
        talk = asyncio.create_task(self._talk(connection))
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)
        try:
            await talk
        except asyncio.CancelledError:
            pass  # the server stops
        except ProtocolViolation as violation:
            connection.fatal("08P01", str(violation))
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            pass  # the client has gone
        except Exception:
            log.exception("a connection of PostgreSQL's protocol failed", process=connection.process)
        finally:
            self._connections.pop(connection.process, None)
            await connection.close(self._pool)

    async def _talk(self, connection: Connection) -> None:
        match await connection.opening():
            case None:
                return
            case Cancel(process, secret):
                found = self._connections.get(process)
                if found is not None and compare_digest(found.secret, secret):
                    found.cancel()
            case startup:
                if len(self._connections) >= CONNECTIONS:
                    connection.fatal("53300", "there are too many connections")
                    return
                self._connections[connection.process] = connection
                await connection.serve(startup, self._views, self._access, self._pool)
