"""Consumers that go at any moment: none of them may take the process with it."""

from __future__ import annotations

import subprocess
import sys

from orion.hub.kafka import Kafka
from orion.hub.ledger import prepare_ledger

# Joining takes some hundredths of a second: many of these go when they have been answered and haven't looked.
COME_AND_GO = """
import sys, threading, time
from orion.hub.kafka import Kafka
from orion.hub.membership import Membership
from orion.hub.reader import Reader
from orion.hub.records import Position

kafka = Kafka(sys.argv[1])

def members(name):
    for number in range(100):
        member = Membership(kafka, f"leaving-{name}-{number % 5}", ["leaving"])
        member.written(4)
        time.sleep(0.001 * (number % 100))
        member.close()

def readers(name):
    for number in range(40):
        with Reader(kafka, "leaving", Position("earliest"), group=f"leaving-{name}-{number % 5}") as reader:
            reader.read(1, 0.001 * (number % 20))

threads = [threading.Thread(target=go, args=(name,)) for name, go in (("a", members), ("b", members), ("c", readers))]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("gone")
"""


def test_a_consumer_may_go_while_its_group_is_answering_it(kafka: Kafka) -> None:
    kafka.create_topic("leaving", 3)
    prepare_ledger(kafka, 4)
    command = [sys.executable, "-c", COME_AND_GO, kafka.bootstrap]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert (done.stdout, done.returncode) == ("gone\n", 0), done.stderr
