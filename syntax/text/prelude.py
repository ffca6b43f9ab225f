"""Programs that come with whence: lists, options and trees with the functions that TVM's have; natural numbers."""

from __future__ import annotations

from importlib.resources import files
from pathlib import PurePath

from ...support.errors import FrontendError, expectation
from ..relay.expr import Program
from .parser import parse

PRELUDE = "prelude"
STANDARD = (PRELUDE, "nat")


def prelude() -> Program:
    """The types and functions of the prelude; a new program each time."""
    return _read(PRELUDE)


def _read(name: str) -> Program:
    file = f"{name}.relay"
    return parse((files(__package__ or "") / file).read_text(), file)


def import_standard(program: Program, file: str) -> None:
    """Add what a file has to a program: `prelude.rly`, or `nat.rly`, whose functions may use the prelude.

    Raises FrontendError for another file, and when the program has something of a name that the file has.
    """
    path = PurePath(file)
    if path.suffix not in (".rly", ".relay") or path.stem not in STANDARD:
        raise FrontendError(expectation("import_from_std", " or ".join(f"{one}.rly" for one in STANDARD), file))
    ours = _read(path.stem)
    twice = [*(program.functions.keys() & ours.functions.keys()), *(program.types.keys() & ours.types.keys())]
    if twice:
        raise FrontendError(f"{path.stem}: expected a program without {', '.join(sorted(twice))}, got one with")
    program.functions.update(ours.functions)
    program.types.update(ours.types)


def import_prelude(program: Program) -> None:
    """Add the prelude to a program; errors as `import_standard`."""
    import_standard(program, f"{PRELUDE}.rly")
