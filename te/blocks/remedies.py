"""Alternatives to a primitive that was refused, found by trying them on a copy of the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise, permutations
from typing import Any, NamedTuple

from xdsl.dialects.builtin import AffineMapAttr

from ...dialects.tir import BlockOp, ForOp
from ...provenance.walk import walk
from ...support.errors import WhenceError
from ..schedule.python_text import literal
from .caches import SCOPES
from .state import BlockRV, Handle, LoopRV, State, function_of, loops_of, nearest, only_child

MOST = 24
"""Calls that are tried for one refusal."""
_SIGN = "\n  would work: "


class Call(NamedTuple):
    """A call of a primitive."""

    name: str
    args: tuple[Any, ...]


class Refused:
    """A primitive that was refused, and the kernel as it is."""

    def __init__(self, state: State, name: str, inputs: Sequence[Any], attrs: Mapping[str, Any]):
        self.state, self.name, self.inputs, self.attrs = state, name, list(inputs), attrs
        ops = [state.ops[item] for item in inputs if isinstance(item, Handle) and item in state.ops]
        self.func = function_of(ops[0]) if ops else None
        everything = list(walk(self.func)) if self.func is not None else []
        near = [op for op in self._nest(ops[0]) if isinstance(op, ForOp | BlockOp)] if ops else []
        ordered = list(dict.fromkeys([*near, *everything]))
        self.loops = [state.handle_of(op) for op in ordered if isinstance(op, ForOp)]
        self.blocks = [state.handle_of(op) for op in ordered if isinstance(op, BlockOp)]

    @staticmethod
    def _nest(op: Any) -> list[Any]:
        """The ops around one, outermost first, and those in it."""
        return [*loops_of(op), *walk(op)]

    def around(self, block: Any) -> list[Handle]:
        """The loops around a block."""
        return [self.state.handle_of(op) for op in loops_of(self.state.ops[block])] if block in self.state.ops else []

    def spelled(self, call: Call) -> str:
        """Return a call as Python, where `s` is the schedule."""
        return f"s.{call.name}({', '.join(map(self._spelled, call.args))})"

    def _spelled(self, value: object) -> str:
        if isinstance(value, Handle):
            op = self.state.ops[value]
            if isinstance(op, BlockOp):
                return f'"{op.label.data}"'
            inner = next(each for each in walk(op) if isinstance(each, BlockOp))
            return f's.get_loops("{inner.label.data}")[{loops_of(inner).index(op)}]'  # type: ignore[arg-type]
        if isinstance(value, AffineMapAttr):
            return literal(value)
        return f'"{value}"' if isinstance(value, str) else repr(value)


def _in_other_loops(refused: Refused) -> Iterator[Call]:
    """The same call, with another loop."""
    at = next(n for n, item in enumerate(refused.inputs) if isinstance(item, LoopRV))
    for loop in refused.loops:
        args = [*refused.inputs[:at], loop, *refused.inputs[at + 1 :], *refused.attrs.values()]
        yield Call(refused.name, tuple(args))


def _marks(refused: Refused) -> Iterator[Call]:
    name = "parallel" if refused.name == "bind" else refused.name
    yield from (Call(name, (loop,)) for loop in [refused.inputs[0], *refused.loops])


def _splits(refused: Refused) -> Iterator[Call]:
    loop, *factors = refused.inputs
    rest = [factor for factor in factors[1:] if factor is not None and factor > 0]
    yield Call("split", (loop, [None, *rest] if rest else [None, 2]))
    yield from (Call("split", (other, [None, 2])) for other in refused.loops)


def _partitions(refused: Refused) -> Iterator[Call]:
    yield from (Call(refused.name, (loop, [1, None])) for loop in [refused.inputs[0], *refused.loops])


def _chains(refused: Refused) -> Iterator[Call]:
    """Loops directly in one another."""
    for loop in refused.loops:
        inner = only_child(refused.state.ops[loop])  # type: ignore[arg-type]
        if isinstance(inner, ForOp):
            yield Call("fuse", (loop, next(each for each in refused.loops if refused.state.ops[each] is inner)))


def _orders(refused: Refused) -> Iterator[Call]:
    distinct = list(dict.fromkeys(refused.inputs))
    yield from (Call("reorder", order) for order in permutations(distinct[:4]))
    for block in refused.blocks:
        around = refused.around(block)
        yield from (Call("reorder", (inner, outer)) for outer, inner in pairwise(around))


def _merges(refused: Refused) -> Iterator[Call]:
    for one in refused.loops:
        for other in refused.loops:
            if one is not other:
                yield Call("merge", (one, other))
    extents: dict[Any, Any] = {}
    for loop in refused.inputs:
        op = refused.state.ops[loop]
        extents[loop] = op.trip_count if isinstance(op, ForOp) else 1
    if len(set(extents.values())) > 1 and all(isinstance(extent, int) for extent in extents.values()):
        longest = max(extents, key=extents.__getitem__)
        yield Call("loop_partition", (longest, [min(extents.values()), None]))


def _places(refused: Refused) -> Iterator[Call]:
    """The block in other loops, by either primitive."""
    block = refused.inputs[0]
    if refused.name == "compute_inline":
        yield Call("reverse_compute_inline", (block,))
    if refused.name == "reverse_compute_inline":
        yield Call("compute_inline", (block,))
    reverse = refused.name.startswith("reverse")
    names = ("reverse_compute_at", "compute_at") if reverse else ("compute_at", "reverse_compute_at")
    own = refused.around(block)
    for name in names:
        yield from (Call(name, (block, loop)) for loop in reversed(refused.loops) if loop not in own)


def _caches(refused: Refused) -> Iterator[Call]:
    block = refused.inputs[0]
    scope = refused.attrs.get("storage_scope")
    scopes = list(dict.fromkeys([scope, *nearest(str(scope), SCOPES), "global"]))
    if refused.name == "set_scope" and scope in SCOPES:
        yield Call("cache_write", (block, refused.attrs["buffer_index"], scope))
    for number in range(3):
        yield from (Call(refused.name, (block, number, each)) for each in scopes)
    for other in ("cache_write", "cache_read"):
        yield from (Call(other, (block, 0, each)) for each in scopes)
    yield from (Call(refused.name, (other, 0, each)) for other in refused.blocks for each in scopes)


def _reindexed(refused: Refused) -> Iterator[Call]:
    block = refused.inputs[0]
    yield from (Call("reindex", (block, (kind, number))) for kind in ("read", "write") for number in range(2))
    yield Call("cache_read", (block, 0, "local"))
    yield Call("cache_write", (block, 0, "local"))


def _layouts(refused: Refused) -> Iterator[Call]:
    block, attrs = refused.inputs[0], refused.attrs
    yield Call("transform_layout", (block, attrs["buffer"], attrs["index_map"], 0))
    yield from (Call(name, (block, 0, "global")) for name in ("cache_write", "cache_read"))


def _joined(refused: Refused) -> Iterator[Call]:
    around = refused.around(refused.inputs[0])
    yield Call("fuse", tuple(around))
    yield from (Call("fuse", tuple(around[:count])) for count in range(len(around) - 1, 1, -1))
    yield from (Call("reorder", (inner, outer)) for outer, inner in pairwise(around))


def _starts(refused: Refused) -> Iterator[Call]:
    """A start of the block, or of another, in front of a loop around it."""
    for block in [refused.inputs[0], *refused.blocks]:
        yield from (Call(refused.name, (block, loop)) for loop in reversed(refused.around(block)))


def _factors(refused: Refused) -> Iterator[Call]:
    axis = refused.attrs["factor_axis"]
    yield Call("rfactor", (refused.inputs[0], 0))
    yield from (Call("rfactor", (loop, each)) for loop in refused.loops for each in (axis, 0))


def _paddings(refused: Refused) -> Iterator[Call]:
    for block in [refused.inputs[0], *refused.blocks]:
        op = refused.state.ops[block]
        count = len(op.domain) if isinstance(op, BlockOp) else 0
        given = [max(1, step) for step in refused.attrs["padding"]]
        yield Call("pad_einsum", (block, (given + [1] * count)[:count]))
        yield Call("pad_einsum", (block, [1] * count))


def _notes(refused: Refused) -> Iterator[Call]:
    target = refused.inputs[0]
    keys = refused.state.ops[target].attributes
    yield from (Call("unannotate", (target, key)) for key in keys)
    yield Call("annotate", (target, refused.attrs["ann_key"], 1))


_ALTERNATIVES: dict[str, Callable[[Refused], Iterator[Call]]] = {
    **dict.fromkeys(("parallel", "vectorize", "unroll", "bind"), _marks),
    **dict.fromkeys(("compute_at", "reverse_compute_at", "compute_inline", "reverse_compute_inline"), _places),
    **dict.fromkeys(("cache_read", "cache_write", "set_scope"), _caches),
    **dict.fromkeys(("decompose_reduction", "decompose_padding"), _starts),
    **dict.fromkeys(("blockize", "tensorize"), _in_other_loops),
    "split": _splits,
    "loop_partition": _partitions,
    "fuse": _chains,
    "reorder": _orders,
    "merge": _merges,
    **dict.fromkeys(("reindex", "reindex_cache_read", "reindex_cache_write"), _reindexed),
    "transform_layout": _layouts,
    "transform_block_layout": _joined,
    "rfactor": _factors,
    "pad_einsum": _paddings,
    "unannotate": _notes,
}


def add_remedy(
    error: WhenceError,
    state: State,
    name: str,
    inputs: Sequence[Any],
    attrs: Mapping[str, Any],
    attempt: Callable[[State, Call], None],
) -> None:
    """Have an error about a primitive end with a call that would work, if one of some alternatives does.

    state: a copy of the kernels. attempt: carries out a call on another, and raises WhenceError where it is refused.
    """
    calls = _ALTERNATIVES.get(name)
    if calls is None or not any(isinstance(item, BlockRV | LoopRV) for item in inputs):
        return
    refused = Refused(state, name, inputs, attrs)
    for number, call in enumerate(calls(refused)):
        if number == MOST:
            return
        try:
            attempt(state.copy(), call)
        except WhenceError:
            continue
        text = str(error).partition(_SIGN)[0]
        error.args = (f"{text}{_SIGN}{refused.spelled(call)}",)
        return
