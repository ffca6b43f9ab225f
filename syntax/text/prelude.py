"""Programs that come with whence: lists, options and trees with TVM's functions, and natural numbers."""

from __future__ import annotations

from importlib.resources import files
from pathlib import PurePath

from ...support.errors import FrontendError, expectation
from ..relay.expr import Program
from .parser import parse

PRELUDE = "prelude"
STANDARD = (PRELUDE, "nat")


def prelude() -> Program:
    """Return the types and functions of the prelude, as a new program each time."""
    return _read(PRELUDE)


def _read(name: str) -> Program:
    file = f"{name}.relay"
    return parse((files(__package__ or "") / file).read_text(), file)


def import_standard(program: Program, file: str) -> None:
    """Add the contents of a file to a program: `prelude.rly`, or `nat.rly`, whose functions may use the prelude.

    Raises FrontendError for another file, and for a name that both the program and the file define.
    """
    path = PurePath(file)
    if path.suffix not in (".rly", ".relay") or path.stem not in STANDARD:
        raise FrontendError(expectation("import_from_std", " or ".join(f"{name}.rly" for name in STANDARD), file))
    added = _read(path.stem)
    duplicates = [*(program.functions.keys() & added.functions.keys()), *(program.types.keys() & added.types.keys())]
    if duplicates:
        raise FrontendError(f"{path.stem}: expected a program without {', '.join(sorted(duplicates))}, got one with")
    program.functions.update(added.functions)
    program.types.update(added.types)


def import_prelude(program: Program) -> None:
    """Add the prelude to a program; raises the errors of `import_standard`."""
    import_standard(program, f"{PRELUDE}.rly")
