"""`python -m examples.clicks`: start everything, send the records, account for the clicks."""

import sys

from examples.clicks.account import EXAMPLE

if __name__ == "__main__":
    sys.exit(EXAMPLE.main())
