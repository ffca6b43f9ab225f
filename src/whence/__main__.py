"""`python -m whence`: the command, in the interpreter at hand."""

from __future__ import annotations

import sys

from whence.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
