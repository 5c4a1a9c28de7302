"""Has a real Kafka Streams compute what this folder keeps: `python -m tests.conformance.kafka_streams.recording`.

Needs Maven and a JDK, which nothing else here does. Writes `expected-1.csv` and `expected-4.csv`, from topics of one
and of four partitions on a broker that is started for each.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from orion.hub.embedded import EmbeddedCluster

FOLDER = Path(__file__).parent
PARTITIONS = (1, 4)


def build_program(target: Path) -> str:
    """Compiles the program; its class path."""
    shutil.copytree(FOLDER / "src", target / "src")
    shutil.copy(FOLDER / "pom.xml", target)
    listing = target / "classpath"
    maven = ["mvn", "-q", "compile", "dependency:build-classpath", f"-Dmdep.outputFile={listing}"]
    subprocess.run(maven, cwd=target, check=True)
    return f"{target / 'target/classes'}:{listing.read_text(encoding='utf-8').strip()}"


def record_windows() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        class_path = build_program(Path(scratch) / "program")
        for partitions in PARTITIONS:
            cluster = EmbeddedCluster.start(Path(scratch) / f"broker-{partitions}")
            try:
                output = FOLDER / f"expected-{partitions}.csv"
                told = [cluster.bootstrap, str(FOLDER / "records.csv"), str(partitions), str(output)]
                subprocess.run(["java", "-cp", class_path, "Lateness", *told], check=True)
            finally:
                cluster.stop()


if __name__ == "__main__":
    record_windows()
