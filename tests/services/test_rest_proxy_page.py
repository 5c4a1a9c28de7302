"""docs/rest-proxy.md does what it shows: its commands are run as they stand there, one after the other."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from orion.hub.embedded import EmbeddedCluster
from orion.hub.kafka import Kafka
from tests.required import refuse
from tests.services.proxy import proxy

PAGE = Path(__file__).resolve().parents[2] / "docs" / "rest-proxy.md"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ADDRESS = "http://127.0.0.1:8088"
MARK = "--- next ---"


def test_every_command_answers_as_it_is_shown(tmp_path: Path) -> None:
    """On a broker of its own, where the page's topics are new."""
    if not (shutil.which("curl") and shutil.which("jq")):
        refuse("needs curl and jq")
    commands: list[str] = []
    wanted: list[str] = []
    statements = ""
    for language, text in FENCE.findall(PAGE.read_text(encoding="utf-8")):
        if language == "sql":
            statements += text
        for line in text.splitlines() if language == "console" else ():
            if line.startswith("$ "):
                commands.append(line[2:])
                wanted.append("")
            else:
                wanted[-1] += f"{line}\n"
    cluster = EmbeddedCluster.start(tmp_path / "broker")
    try:
        kafka = Kafka(cluster.bootstrap)
        with proxy(kafka) as started:
            started.declared.declare(kafka, statements)
            url = str(started.http.base_url).rstrip("/")
            # An answer may lack the line's end that the page has.
            script = "".join(f"{command}\necho; echo '{MARK}'\n" for command in commands).replace(ADDRESS, url)
            ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120, check=True)
            found = [one.strip() for one in ran.stdout.replace(url, ADDRESS).split(MARK)[:-1]]
    finally:
        cluster.stop()
    assert found == [one.strip() for one in wanted]
