# pyright: basic
"""Runs the tables of meanings, and shows the holes in them."""

from __future__ import annotations

import argparse
import re
import sys
import warnings

from meanings.holes import text
from meanings.meaning import FORMATS, format_of
from meanings.running import FAMILIES, table, wrongs


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m meanings", description=__doc__)
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--formats", default=",".join(FORMATS))
    parser.add_argument("--only", default="", help="a regular expression for names of meanings")
    parser.add_argument(
        "--by",
        default="evaluated",
        choices=("evaluated", "compiled", "judged"),
        help="evaluated in numpy as imported, compiled, or judged by the runtimes of the formats",
    )
    parser.add_argument(
        "--holes", action="store_true", help="show which formats spell what, and rows that none reaches"
    )
    options = parser.parse_args()
    if options.holes:
        print(text())
        return 0
    bad = count = 0
    for family in options.families.split(","):
        for meaning in table(family):
            for way in meaning.spellings:
                if format_of(way) not in options.formats.split(",") or not re.search(options.only, meaning.name):
                    continue
                try:
                    lines = wrongs(meaning, way, options.by)
                except Exception as error:
                    lines = [f"{type(error).__name__}: {str(error)[:250]}"]
                count += 1
                known = meaning.wrong.get(way)
                if bool(lines) != bool(known and options.by != "judged"):
                    bad += 1
                    print(
                        f"{family} {meaning.name}-{way}{f' (known: {known})' if known else ''}: " + "\n   ".join(lines),
                        flush=True,
                    )
    print(f"{count} spellings, {bad} of them not as expected")
    return int(bool(bad))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(main())
