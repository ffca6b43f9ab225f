"""The gallery: reports of the Explorer about networks of all kinds, each with a tour, and a page that leads to them.

    python tests/gallery.py [NAME ..] [--folder build/gallery]

Models are built, compiled and measured here, one after the other; a model that fails is a sentence on the page, and the
exit code is 1. With names only these reports are made.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))

from gallery.table import ENTRIES
from gallery.writing import write_gallery


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [entry.name for entry in ENTRIES]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(names)}")
    parser.add_argument("--folder", type=Path, default=Path("build/gallery"))
    chosen = parser.parse_args(arguments)
    if unknown := sorted({*chosen.names} - {*names}):
        parser.error(f"expected a name of {', '.join(names)}, got {unknown[0]}")
    entries = [entry for entry in ENTRIES if not chosen.names or entry.name in chosen.names]
    return int(bool(write_gallery(entries, chosen.folder)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
