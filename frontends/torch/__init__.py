"""Exported PyTorch programs (torch.export, .pt2 files) -> relay.

torch is imported for programs in memory only; files are read without it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...support.doors import door

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


@door()
def from_exported_program(
    program: bytes | str | os.PathLike[str] | Any, *, shapes: Mapping[str, Sequence[int]] | None = None
) -> ModuleOp:
    """The relay module of an exported program; `@main` has its inputs and outputs, in order.

    program: the path or bytes of a .pt2 file, or a `torch.export.ExportedProgram`; decomposed or, better, not.
    shapes: input name -> shape, for inputs with dynamic dimensions. What the program keeps from call to call has its
    initial value.

    Each op is located at `NameLoc(layer, FileLineColLoc(file, line, 0))`: the layer is the path of the innermost module
    and the node's name, `block.conv/conv2d`; file and line are those of the innermost call in the user's own code.
    Inputs and weights are named `<layer>.<tensor>` after what reads them. `@main` keeps the names of inputs and outputs
    in its attributes `input_names` and `output_names`. Nodes evaluated at import are written to the open ledger.

    Raises FrontendError when the program is bad, uses unsupported operators, or leaves a shape open.
    """
    from ..importing.whole_models import import_model
    from .graph import open_model

    return import_model(open_model(program), shapes or {})
