"""`python -m examples.hub`: start the servers and the platform, change customers, click, and compare three results."""

import sys

from examples.hub.account import main

if __name__ == "__main__":
    sys.exit(main())
