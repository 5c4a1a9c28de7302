"""A worker's connection to Spark is there before the worker has loaded anything."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

from orion.runtime import early_worker, spark_process

# Says that it began to load, and goes on when it is told to: as slow as a starved machine.
MODULE = """
import os
with open(os.environ["GATE"]) as gate:
    gate.read()
from pyspark.worker_util import get_sock_file_to_executor
with get_sock_file_to_executor() as file:
    file.write(b"loaded")
    file.flush()
"""


def test_it_connects_and_proves_itself_before_it_loads(tmp_path: Path) -> None:
    (tmp_path / "slow_worker.py").write_text(MODULE)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        environment = {
            **os.environ,
            "PYTHONPATH": str(tmp_path),
            "PYTHON_WORKER_FACTORY_PORT": str(server.getsockname()[1]),
            "PYTHON_WORKER_FACTORY_SECRET": "s3cret",
            "GATE": str(gate),
        }
        command = [sys.executable, "-P", early_worker.__file__, "-m", "slow_worker"]
        with subprocess.Popen(command, env=environment) as worker:
            connection, _ = server.accept()
            with connection, connection.makefile("rwb") as file:
                connection.settimeout(60)
                assert file.read(4 + 6) == struct.pack("!i", 6) + b"s3cret"
                file.write(struct.pack("!i", 2) + b"ok")
                file.flush()
                gate.open("w").close()  # only now it may load
                assert struct.unpack("!i", file.read(4)) == (worker.pid,)
                assert file.read() == b"loaded"
            assert worker.wait(60) == 0


def test_the_program_for_workers_is_python_to_all_other_modules(tmp_path: Path) -> None:
    program = spark_process._python_for_workers(tmp_path / "a folder")
    assert Path(program).parent == tmp_path / "a folder"
    said = subprocess.run(
        [program, "-c", "import sys; print(sys.argv)", "x"], capture_output=True, check=True, text=True
    )
    assert said.stdout == "['-c', 'x']\n"


def test_a_folder_whose_files_may_not_be_run_leaves_python_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert spark_process._python_for_workers(tmp_path / "file") == sys.executable
