"""Programs of StableHLO, as JAX exports them -> relay.

jax is imported for programs in memory only; files are read without it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...support.doors import door

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


@door()
def from_stablehlo(
    program: bytes | str | os.PathLike[str] | Any,
    *,
    params: Mapping[str, Any] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
) -> ModuleOp:
    """The relay module of a program; `@main` has its inputs and outputs, in order.

    program: the path or bytes of an .mlir file, as JAX prints it or in generic form, a `jax.export.Exported`, a
    `jax.stages.Lowered`, or a module of jaxlib.
    params: the values of inputs that are the same in every call, `{"p": variables}` for `f(p, x)`, or `{"p.w": array}`;
    beside a file `net.mlir` those in `net.npz`. shapes: input name -> shape, for inputs with open extents.

    Each op is located at `NameLoc(layer, FileLineColLoc(file, line, 0))`: the layer is the path of modules and the
    primitive, `CNN/bn/add`; file and line are those of the innermost call in the user's own code.
    Inputs and weights are named `<layer>.<tensor>` after what reads them. `@main` keeps the names of inputs and outputs
    in its attributes `input_names` and `output_names`. Nodes evaluated at import are written to the open ledger.

    Raises FrontendError when the program is bad, uses unsupported operators, or leaves a shape open.
    """
    from ..importing.whole_models import import_model
    from .graph import open_model

    return import_model(open_model(program, params), shapes or {})
