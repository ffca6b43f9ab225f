"""The user's own Python as stages: the lines that called layers, or with the user's consent the whole files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from ...provenance.span import positions
from ...support.names import shown
from .builder import Builder

_MOST_BYTES = 1 << 20
"""The largest file that is taken into a session."""


def add_python(builder: Builder, *, whole: bool) -> None:
    """Append a stage for each Python file whose lines called layers; a line serves all layers that it led to.

    whole: whether to take the whole files, where they are on this machine and say what the model says of them. By
    default only the lines of the stack traces are taken, which the model itself has.
    """
    layers = builder.session.layers
    files: defaultdict[str, defaultdict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for leaf, row in builder.leaves():
        if layers.kind[row] == "layer":
            for at in dict.fromkeys(at[:2] for at in positions(leaf)):
                if at[0].endswith(".py") or at in builder.code:
                    files[at[0]][at[1]].append(row)
    for file, rows in files.items():
        quoted = {line: builder.code.get((file, line), "") for line in sorted(rows)}
        lines = _whole(builder, file, quoted) if whole else None
        if lines is None:
            width = len(str(max(quoted)))
            numbered = [(line, f"{line:>{width}}  {code}".rstrip()) for line, code in quoted.items()]
        else:
            numbered = list(enumerate(lines, 1))
        sets = [builder.set_of_rows(rows[line]) if line in rows else -1 for line, _ in numbered]
        builder.text_stage(file, "python", -1, -1, [text for _, text in numbered], sets)


def _whole(builder: Builder, file: str, quoted: Mapping[int, str]) -> list[str] | None:
    """Return the lines of a file; None, and a note, where it is not the file that the model was made of."""
    path = Path(file)
    notes = builder.session.made_by.notes
    try:
        if path.suffix != ".py" or not path.is_file() or path.stat().st_size > _MOST_BYTES:
            reason = f"expected a .py file of at most {_MOST_BYTES >> 20} MiB"
        else:
            lines = path.read_text("utf-8").splitlines()
            wrong = [n for n, code in quoted.items() if n > len(lines) or (code and lines[n - 1].strip() != code)]
            if not wrong:
                if not any(quoted.values()):
                    notes.append(f"{shown(file)} is shown as it is here: the model quotes no line of it")
                return [shown(line.expandtabs()) for line in lines]
            reason = f"expected line {wrong[0]} as in the model"
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "expected text in UTF-8"
    notes.append(f"{shown(file)} is shown by the lines of the model alone: {reason}")
    return None
