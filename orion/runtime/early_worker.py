"""Runs one of PySpark's worker modules, having connected to Spark before anything is loaded.

Spark gives a worker that it starts by itself ten seconds to connect back, which no setting changes. Such a worker loads
PySpark, pandas and Arrow first, and on a starved machine that alone takes longer. This connects within a few
milliseconds of the processor's time, proves who it is, and then loads as long as it takes.

It is run as a file, and imports nothing of Orion's.
"""

from __future__ import annotations

import os
import runpy
import socket
import struct
import sys
from typing import IO, cast

Connection = tuple[IO[bytes], socket.socket]


def connect_to_spark() -> Connection:
    """The connection that Spark waits for, as PySpark's `local_connect_and_auth` gives it, but without a time limit:
    who waits for a slow JVM is told of its end by the socket."""
    path, secret = os.environ.get("PYTHON_WORKER_FACTORY_SOCK_PATH"), os.environ.get("PYTHON_WORKER_FACTORY_SECRET")
    if path is not None:
        opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        opened.connect(path)
    else:
        host = "::1" if os.environ.get("SPARK_PREFER_IPV6", "false").lower() == "true" else "127.0.0.1"
        opened = socket.create_connection((host, int(os.environ["PYTHON_WORKER_FACTORY_PORT"])))
    file = cast(IO[bytes], opened.makefile("rwb", int(os.environ.get("SPARK_BUFFER_SIZE", "65536"))))
    if secret is not None:
        _prove_identity(file, secret.encode())
    return file, opened


def _prove_identity(file: IO[bytes], secret: bytes) -> None:
    file.write(struct.pack("!i", len(secret)) + secret)
    file.flush()
    (length,) = struct.unpack("!i", file.read(4))
    answer = file.read(length)
    if answer != b"ok":
        raise ConnectionError(f"Spark doesn't take this worker: {answer!r}")


def main(module: str) -> None:
    connection = connect_to_spark()
    from pyspark import worker_util

    # What the module connects by: it gets the connection that is there.
    vars(worker_util)["local_connect_and_auth"] = lambda *_: connection
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[2])  # -m MODULE
