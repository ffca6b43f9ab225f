"""`python -m whence.driver.tvmc` is `whence`."""

import sys

from whence.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
