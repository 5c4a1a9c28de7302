"""`python -m examples.pageviews`: start everything, send the records, account for sessions and windows."""

import sys

from examples.pageviews.account import EXAMPLE

if __name__ == "__main__":
    sys.exit(EXAMPLE.main())
