"""`python -m tests.servers`: fetch and build the servers that nothing else installs, and say which are missing."""

from __future__ import annotations

import sys
from importlib import import_module

from tests.servers import NAMES


def main() -> int:
    lacking = 0
    for name in NAMES:
        module = import_module(f"tests.servers.{name}")
        try:
            if hasattr(module, "prepare"):
                module.prepare(_say)
            reason = module.missing()
        except Exception as error:  # one that can't be had keeps none of the others away
            reason = f"{type(error).__name__}: {error}"
        _say(f"{name}: {reason or 'ready'}")
        lacking += reason is not None
    return 1 if lacking else 0


def _say(line: str) -> None:
    print(f"servers: {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
