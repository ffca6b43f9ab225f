"""Sizes that `relay.match_cast` binds, where they follow from the sizes of inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from ...dialects.relay.core import FuncOp
from ...dialects.relay.match_cast import MatchCastOp
from ...dialects.relay.signature import as_tensor
from ...dialects.relay.size_ranges import main_of, required_of, set_required, symbols_in
from ...dialects.sizes import Size, symbols_of
from ...dialects.sizes.types import extents_of, is_open
from ...provenance.ledger import current_ledger
from ...provenance.numbers import moves_of
from .bind_sizes import bind_sizes


def resolve_casts(module: ModuleOp) -> None:
    """Put extents of operands in the place of sizes that casts bind, and drop casts that only check.

    What they check is required of each call, at the location of the cast. Casts of tensors with unknown extents stay.
    Raises VerifyException for a shape that no call has.
    """
    while binding := _binding(module):
        bind_sizes(module, binding)
    for op in list(_casts(module)):
        if not is_open(op.data.type):
            op.infer(op.signature)
        if op.data.type == op.result.type:
            _drop(op, module)


def keep_names(module: ModuleOp) -> None:
    """Have casts check what the names of sizes say also where types lose these."""
    for op in _casts(module):
        wanted = {name for size in op.sizes for name in symbols_of(size)}
        known: list[SSAValue] = []
        for value in _before(op):
            names = {str(size) for size in extents_of(as_tensor(value)) if str(size) in symbols_of(size)}
            if names & wanted:
                known.append(value)
                wanted -= names
        op.name_in_text(known)


def _casts(module: ModuleOp) -> Iterable[MatchCastOp]:
    return (op for op in module.walk() if isinstance(op, MatchCastOp))


def _binding(module: ModuleOp) -> dict[str, Size]:
    taken = {name for op in module.ops if isinstance(op, FuncOp) for name in symbols_in(op)}
    for op in _casts(module):
        if not is_open(op.data.type) and (binding := op.binding(taken)):
            return binding
    return {}


def _before(op: MatchCastOp) -> Sequence[SSAValue]:
    """The tensors whose types name sizes before a cast: of its function, and of casts in its block."""
    assert isinstance(op.parent, Block)
    values: list[SSAValue] = [value for value in op.parent.args if hasattr(value.type, "encoding")]
    for other in op.parent.ops:
        if other is op:
            break
        values += other.results if isinstance(other, MatchCastOp) else ()
    return values


def _drop(op: MatchCastOp, module: ModuleOp) -> None:
    main = main_of(module)
    set_required(main, [*required_of(main), *((size, op.location) for size in op.check_sizes())])
    op.result.replace_all_uses_with(op.data)
    if (ledger := current_ledger()) is not None:
        moves = moves_of([op.result], [op.data])
        ledger.record("MatchCast", removed=[op], moves=moves, reason="each call is checked before it runs")
    op.detach()
    op.erase()
