"""`python -m examples.orders`: start everything, send the records, account for the charts."""

import sys

from examples.orders.account import EXAMPLE

if __name__ == "__main__":
    sys.exit(EXAMPLE.main())
