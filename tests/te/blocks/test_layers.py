"""The layers of what primitives make: those of what it is made of, no more and no less."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

import whence
from whence.dialects.tir import BlockOp, ForOp
from whence.kernels.building import parsed_prim_func
from whence.provenance.span import layer_location, leaf_name, leaves
from whence.te.blocks.schedule import BlockSchedule
from whence.te.blocks.tensorize import is_registered, register

KERNEL = """
@T.prim_func
def main(X: T.Buffer((4, 6), "float32"), Z: T.Buffer((4,), "float32"), W: T.Buffer((4, 6), "float32")):
    for i, k in T.grid(4, 6):
        with T.block("sum"):
            v, r = T.axis.remap("SR", [i, k])
            with T.init():
                Z[v] = T.float32(0)
            Z[v] = Z[v] + X[v, r]
    for i, j in T.grid(4, 6):
        with T.block("copy"):
            v, w = T.axis.remap("SS", [i, j])
            W[v, w] = X[v, w]
"""


def scheduled() -> BlockSchedule:
    """A schedule of a kernel of which each loop and block is a layer, as are the start of a sum and all else."""
    func = whence.script.from_source(KERNEL, file="layers.py").op.clone()
    for op in func.walk():
        match op:
            case ForOp():
                inside = next(each for each in op.walk() if isinstance(each, BlockOp))
                name = f"{inside.label.data}.{(op.var.name_hint or '').partition('_')[0]}"
            case BlockOp():
                name = op.label.data
            case _:
                around = op.parent_op()
                name = "start" if "tir.init" in (op.name, around.name if around is not None else "") else "body"
        op.location = layer_location(name, "layers.py", 1)
    return BlockSchedule(ModuleOp([func]))


def layers(op: Operation) -> list[str]:
    """The names of an op's layers."""
    return sorted(leaf_name(leaf) for leaf in leaves(op.location))


def fused(s: BlockSchedule) -> Any:
    """One loop of two."""
    return s.fuse(*s.get_loops("sum"))


def merged(s: BlockSchedule) -> Any:
    """One loop of two nests."""
    return s.merge(s.get_loops("sum")[0], s.get_loops("copy")[0])


def started(s: BlockSchedule) -> Any:
    """The loop of the start of a sum."""
    i, k = s.get_loops("sum")
    s.reorder(k, i)
    return s.get_loops(s.decompose_reduction("sum", k))[0]


def start(s: BlockSchedule) -> Any:
    """The block of the start of a sum."""
    return s.decompose_reduction("sum", s.get_loops("sum")[0])


def unit(s: BlockSchedule) -> Any:
    """A loop around a loop."""
    return s.add_unit_loop(s.get_loops("copy")[1])


MADE: list[tuple[Callable[[BlockSchedule], Any], list[str]]] = [
    (fused, ["sum.i", "sum.k"]),
    (merged, ["copy.i", "sum.i"]),
    (started, ["sum.i"]),
    (start, ["start"]),
    (unit, ["copy.j"]),
    (lambda s: s.split(s.get_loops("sum")[1], [None, 4])[0], ["sum.k"]),
    (lambda s: s.loop_partition(s.get_loops("sum")[0], [1, None])[1], ["sum.i"]),
    (lambda s: s.cache_read("sum", 0, "local"), ["sum"]),
    (lambda s: s.cache_write("copy", 0, "local"), ["copy"]),
    (lambda s: s.reindex("copy", ("read", 0)), ["copy"]),
    (lambda s: s.rfactor(s.get_loops("sum")[1], 0), ["sum"]),
    (lambda s: s.blockize(s.get_loops("copy")[1]), ["copy"]),
]


@pytest.mark.parametrize(("make", "wanted"), MADE, ids=lambda each: getattr(each, "__name__", ""))
def test_what_is_made_has_the_layers_of_its_origin(make: Callable[[BlockSchedule], Any], wanted: list[str]):
    s = scheduled()
    assert layers(s.state.ops[make(s)]) == wanted


COPY = """
tir.prim_func @main(%S: !tir.buffer<6xf32>, %T: !tir.buffer<6xf32>) outputs 1 {
  tir.for %i in 6 {
    %x = tir.load %S[%i] : !tir.buffer<6xf32> -> f32
    tir.store %x, %T[%i] : f32, !tir.buffer<6xf32>
  }
}"""


def test_an_intrinsic_has_the_layers_of_the_block_and_its_own():
    desc, impl = (parsed_prim_func(COPY) for _ in range(2))
    for op in impl.walk():
        op.location = layer_location("intrinsic", "layers.py", 2)
    if not is_registered("layers.copy"):
        register("layers.copy", desc, impl)
    s = scheduled()
    s.tensorize(s.get_loops("copy")[1], "layers.copy")
    (loop,) = (op for op in s.module.walk() if isinstance(op, ForOp) and op.var.name_hint == "i" and op.trip_count == 6)
    assert [layers(op) for op in loop.walk()] == [["copy", "intrinsic"]] * 3
