"""Lets the tests of this folder import the interpreter and the generator of kernels from one another."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
