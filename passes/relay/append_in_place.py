"""Programs whose results are the memory of arguments: a cache that a call brings, with its new rows behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, i1
from xdsl.ir import BlockArgument
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from ...dialects.relay.core import FuncOp
from ...dialects.relay.operator import element_of, shape_of
from ...dialects.relay.scatter import StridedSetOp
from ...dialects.relay.size_ranges import symbols_in
from ...dialects.relay.transform import ConcatenateOp, StridedSliceOp
from ...dialects.sizes import Size, symbol
from ...dialects.sizes.types import tensor_of
from ...provenance.rewrite import rewrite

_SPARE = "spare"
"""The symbol of the rows that are left, with a number for each extent of a past."""
_RULER = "rows"
"""The input without elements that tells how many rows there are, with such a number."""


class Appended(NamedTuple):
    """A result that is an argument with more rows behind."""

    argument: int
    result: int
    axis: int


class Room(NamedTuple):
    """The arguments that are as long as each other, which have room for as many rows."""

    ruler: int
    """The argument whose first extent is the number of rows before."""
    members: tuple[Appended, ...]


def appended(main: FuncOp) -> list[Appended]:
    """The results of a function that concatenate an argument, which nothing else reads, with what is behind it."""
    found: list[Appended] = []
    for number, value in enumerate(main.return_op.values):
        op = value.owner
        if isinstance(op, ConcatenateOp) and len(op.operands) == 2:
            past = op.operands[0]
            alone = isinstance(past, BlockArgument) and past.owner is main.block and past.has_one_use()
            if alone and sum(value is other for other in main.return_op.values) == 1:
                axis = op.signature.int("axis") % len(shape_of(value))
                found.append(Appended(cast(BlockArgument, past).index, number, axis))
    return found


def append_in_place(module: ModuleOp, main: FuncOp, chosen: Sequence[Appended]) -> list[Room]:
    """Have arguments come with room for new rows, and results be in their memory; return what belongs together.

    The extent of such an argument and result is that of the result before, and what is spare. What reads the result
    reads its first rows. How many rows there are before is the extent of another argument, the last of all.
    """
    groups: dict[str, list[Appended]] = {}
    for one in chosen:
        groups.setdefault(str(shape_of(main.block.args[one.argument])[one.axis]), []).append(one)
    taken = set(symbols_in(main))
    names = _names(main)
    rooms: list[Room] = []
    for number, members in enumerate(groups.values()):
        spare, ruler = _free(f"{_SPARE}{number}", taken), _free(f"{_RULER}{number}", set(names))
        first = main.block.args[members[0].argument]
        before: Size = shape_of(first)[members[0].axis]
        for one in members:
            _give_room(module, main, one, symbol(spare))
        argument = main.block.insert_arg(tensor_of(i1, cast("tuple[int, ...]", (before, 0))), len(main.block.args))
        argument.location, argument.name_hint = first.location, ruler
        names.append(ruler)
        rooms.append(Room(argument.index, tuple(members)))
    main.attributes["input_names"] = ArrayAttr(list(map(StringAttr, names)))
    main.update_type()
    return rooms


def _give_room(module: ModuleOp, main: FuncOp, one: Appended, spare: Size) -> None:
    concatenated = main.return_op.values[one.result].owner
    assert isinstance(concatenated, ConcatenateOp)
    argument = main.block.args[one.argument]
    before, after = shape_of(argument)[one.axis], shape_of(concatenated.result)[one.axis]
    shape = list(shape_of(concatenated.result))
    shape[one.axis] = cast(int, after + spare)
    longer = main.block.insert_arg(tensor_of(element_of(argument), tuple(shape)), one.argument)
    longer.location, longer.name_hint = argument.location, argument.name_hint
    argument.replace_all_uses_with(longer)
    main.block.erase_arg(argument)
    rewrite(module, [_SetRows(concatenated, one.axis, before, after)], recursive=False)
    rows = main.return_op.values[one.result].owner
    assert isinstance(rows, StridedSliceOp)
    main.return_op.operands[one.result] = rows.data


class _SetRows(RewritePattern):
    """A concatenation with an argument is that argument with rows set, of which others read the first ones."""

    def __init__(self, concatenated: ConcatenateOp, axis: int, before: Size, after: Size):
        self._concatenated = concatenated
        # Sizes compute as ints do.
        self._axis, self._before, self._after = axis, cast(int, before), cast(int, after)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConcatenateOp, rewriter: PatternRewriter, /) -> None:
        if op is not self._concatenated:
            return
        axes = (self._axis,)
        written = StridedSetOp(*op.operands, begin=(self._before,), end=(self._after,), axes=axes, in_place=True)
        rows = StridedSliceOp(written, begin=(0,), end=(self._after,), axes=axes)
        written.results[0].name_hint = op.result.name_hint
        rewriter.replace(op, [written, rows], rows.results)


def _names(main: FuncOp) -> list[str]:
    names = main.attributes.get("input_names")
    attributes: Sequence[Any] = cast("ArrayAttr[Any]", names).data if isinstance(names, ArrayAttr) else ()
    known = [name.data for name in attributes if isinstance(name, StringAttr)]
    return [*known, *(x.name_hint or f"input{k}" for k, x in enumerate(main.block.args[len(known) :], len(known)))]


def _free(name: str, taken: set[str]) -> str:
    """A name that is not taken, which it then is."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name
