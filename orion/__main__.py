"""`python -m orion` and the `orion` script."""

from __future__ import annotations

import sys

from orion.cli import main

if __name__ == "__main__":
    sys.exit(main())
