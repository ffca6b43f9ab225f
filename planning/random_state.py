"""Random operators get the state of the program: a parameter that the runtime moves on with every run."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from ..dialects.element_types import tensor_type
from ..dialects.relay.constants import pool_of
from ..dialects.relay.core import ConstantOp, FuncOp
from ..dialects.relay.random import Draw
from ..provenance.span import fuse
from ..runtime.program.random_state import STATE, initial


def give_state(module: ModuleOp, main: FuncOp, seed: int | None) -> None:
    """Have the random operators of `main` read the state, in place; those without a seed are numbered in order.

    seed: of the program; None leaves it to the operating system.
    """
    drawing = [op for op in main.block.ops if isinstance(op, Draw) and op.state is None]
    if not drawing:
        return
    array = initial(seed)
    state = ConstantOp(tensor_type(array), key=pool_of(module).add(STATE, array))
    state.location = fuse(op.location for op in drawing)
    first = main.block.first_op
    assert first is not None
    main.block.insert_op_before(state, first)
    for number, op in enumerate(drawing):
        op.operands = [state.result]
        op.properties["stream"] = IntegerAttr(number, i64)
