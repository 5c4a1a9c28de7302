"""`python -m examples.fraud`: start everything, send the records, account for the alerts."""

import sys

from examples.fraud.account import EXAMPLE

if __name__ == "__main__":
    sys.exit(EXAMPLE.main())
