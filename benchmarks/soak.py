"""`python -m benchmarks.soak`: a platform under load for a while, and whether the memory of its processes stays flat.

MINUTES (60) is how long, LOAD (0.8) the share of the cores that its processes are kept at by what is fed. Each minute
has a line for each process with its resident memory. After a warm-up of ten minutes, or a third of a shorter run, the
first and the last third of the rest are compared: exit code 1 where a process has grown by more than 5 %.

Sessions add rows to their table for as long as it runs, and rows are kept in memory up to what the settings allow.
These bounds are set so low that they are reached while it warms up: what grows behind them is a leak.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx

from orion.clients.producer import Producer
from orion.hub.running import Running

MOST_DRIFT = 0.05
_START_S = 600.0
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_STATEMENTS = """
CREATE STREAM soak_plays (user_id STRING KEY, track STRING, country STRING, seconds INT)
  WITH (KAFKA_TOPIC = 'soak_plays', VALUE_FORMAT = 'JSON', PARTITIONS = 2);
CREATE STREAM soak_clean AS
  SELECT user_id, track, UCASE(country) AS country, seconds FROM soak_plays WHERE seconds >= 5 EMIT CHANGES;
CREATE TABLE soak_countries AS
  SELECT country, COUNT(*) AS plays, SUM(seconds) AS seconds FROM soak_clean
  WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 1 MINUTE) GROUP BY country EMIT CHANGES;
CREATE TABLE soak_users AS
  SELECT user_id, COUNT(*) AS plays, LATEST_BY_OFFSET(track) AS track FROM soak_clean GROUP BY user_id EMIT CHANGES;
CREATE TABLE soak_sessions AS
  SELECT user_id, COUNT(*) AS plays FROM soak_clean
  WINDOW SESSION (10 SECONDS, GRACE PERIOD 30 SECONDS) GROUP BY user_id EMIT CHANGES;
CREATE STREAM soak_known AS
  SELECT c.user_id AS user_id, c.track, u.plays FROM soak_clean c JOIN soak_users u ON c.user_id = u.user_id
  EMIT CHANGES;
"""
_SETTINGS = {
    "ORION_SERVING__MEMORY_LIMIT": "64MB",
    "ORION_SERVING__LAST_ROWS": "5000",
    "ORION_SERVING__HOT_ROWS": "2000",
}
_USERS, _TRACKS = 2_000, 300
_ROLES = (("leash", "leash"), ("kafka.Kafka", "broker"), ("SparkSubmit", "spark"), ("pyspark", "workers"))


@dataclass(frozen=True, slots=True)
class Seen:
    """One process at one moment."""

    pid: int
    role: str
    rss: int
    cpu_s: float


class Load:
    """A thread that feeds rows at a rate that is changed from outside."""

    def __init__(self, bootstrap: str, rate: float) -> None:
        self.rate, self.sent = rate, 0
        self._bootstrap = bootstrap
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="soak-feed", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        chance = random.Random(7)
        with Producer(self._bootstrap, key_format="string", value_format="json") as producer:
            while not self._stop.wait(0.1):
                for _ in range(max(1, round(self.rate / 10))):
                    row = {
                        "TRACK": f"t{chance.randrange(_TRACKS)}",
                        "COUNTRY": chance.choice(("de", "fr", "it", "nl", "se")),
                        "SECONDS": chance.randrange(1, 300),
                    }
                    producer.send("soak_plays", row, key=f"u{chance.randrange(_USERS)}")
                    self.sent += 1

    def close(self) -> None:
        self._stop.set()
        self._thread.join(30)


def main() -> int:
    minutes, share = float(os.environ.get("MINUTES", "60")), float(os.environ.get("LOAD", "0.8"))
    with tempfile.TemporaryDirectory(prefix="orion-soak-") as folder:
        data = Path(folder) / "data"
        command = [sys.executable, "-m", "orion", "--data", str(data), "up", "--port", "0"]
        with (Path(folder) / "server.log").open("ab") as log:
            server = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, **_SETTINGS}
            )
        try:
            running = _await(lambda: Running.read(data), server)
            for statement in _STATEMENTS.split(";\n"):
                if statement.strip():
                    _execute(running.url, f"{statement};")
            rounds = _soak(server.pid, running, minutes, share)
            for query in _execute(running.url, "SHOW QUERIES;")[0]["queries"]:
                told = (query[name] for name in ("state", "rowsIn", "lag", "restarts", "error"))
                print(query["id"], *told, flush=True)
        finally:
            server.terminate()
            code = server.wait(120)
    print(f"the server ended with {code}", flush=True)
    return judge(rounds, warm_up(minutes))


def _await(found: Callable[[], Running | None], server: subprocess.Popen[bytes]) -> Running:
    until = time.monotonic() + _START_S
    while time.monotonic() < until and server.poll() is None:
        running = found()
        if running is not None:
            return running
        time.sleep(0.5)
    raise SystemExit("the server didn't start")


def _execute(url: str, text: str) -> list[dict[str, list[dict[str, str]]]]:
    answer = httpx.post(f"{url}/ksql", json={"ksql": text}, timeout=180)
    if answer.status_code != 200:
        raise SystemExit(f"{text} was answered: {answer.text}")
    told: list[dict[str, list[dict[str, str]]]] = answer.json()
    return told


def _soak(pid: int, running: Running, minutes: float, share: float) -> list[list[Seen]]:
    """Look each minute, and feed so much that the processes take their share of the cores."""
    load, rounds = Load(running.bootstrap, 500.0), []
    before, sent, wanted = family(pid), 0, share * (os.cpu_count() or 1)
    try:
        for number in range(1, round(minutes) + 1):
            time.sleep(60)
            seen = family(pid)
            used = sum(one.cpu_s - _earlier(before, one) for one in seen) / 60
            rounds.append(seen)
            told = f"minute {number}: {used:.2f} cores of {wanted:.2f} wanted, {(load.sent - sent) / 60:,.0f} rows/s"
            print(told, *(f"  {line}" for line in lines(seen)), sep="\n", flush=True)
            before, sent = seen, load.sent
            load.rate = min(50_000.0, max(50.0, load.rate * min(1.5, max(0.6, wanted / max(0.1, used)))))
    finally:
        load.close()
    return rounds


def _earlier(before: list[Seen], one: Seen) -> float:
    return next((other.cpu_s for other in before if other.pid == one.pid), 0.0)


def family(root: int) -> list[Seen]:
    """A process and all below it."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents.setdefault(int(_stat(int(folder.name))[1]), []).append(int(folder.name))
            except (OSError, IndexError):
                continue
    found, left = [], [root]
    while left:
        pid = left.pop()
        left += parents.get(pid, [])
        try:
            fields = _stat(pid)
            words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace").replace("\0", " ")
        except (OSError, IndexError):
            continue
        cpu = (int(fields[11]) + int(fields[12])) / _TICKS
        found.append(Seen(pid, role_of(words, pid == root), int(fields[21]) * _PAGE, cpu))
    return found


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def role_of(command: str, is_root: bool) -> str:
    """What a process is to the platform, by its command."""
    if is_root:
        return "server"
    for mark, role in _ROLES:
        if mark in command:
            return role
    return "other"


def lines(seen: list[Seen]) -> list[str]:
    return [f"{one.role:8} {one.pid:>8} {one.rss / 2**20:8.0f} MB" for one in sorted(seen, key=lambda s: s.role)]


def warm_up(minutes: float) -> int:
    return round(min(10.0, minutes / 3))


def judge(rounds: list[list[Seen]], warming: int) -> int:
    """Print how much each kind of process has grown since the warm-up; 1 where that is too much.

    Workers come and go with the tasks there are: what counts of them is how large one is.
    """
    kept = rounds[warming:]
    third = max(1, len(kept) // 3)
    worst = 0.0
    for role in sorted({one.role for seen in kept for one in seen}):
        sizes = [statistics.fmean(own) for seen in kept if (own := [one.rss for one in seen if one.role == role])]
        if len(sizes) < 2 or max(sizes) < 32 << 20:  # a few pages more of a small one are no drift
            continue
        first, last = statistics.fmean(sizes[:third]), statistics.fmean(sizes[-third:])
        drift = last / first - 1
        worst = max(worst, drift)
        print(
            f"{role:8} {first / 2**20:8.0f} MB after {warming} minutes, {last / 2**20:8.0f} MB at the end: {drift:+.1%}"
        )
    print("flat" if worst <= MOST_DRIFT else f"grows by more than {MOST_DRIFT:.0%}")
    return 0 if worst <= MOST_DRIFT else 1


if __name__ == "__main__":
    sys.exit(main())
