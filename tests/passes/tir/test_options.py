"""The options of the tir passes: what each changes in the code, in the key of a kernel, and their errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from whence import te
from whence.dialects.tir import ForOp, PrimFuncOp, StoreOp
from whence.dialects.tir.masked import MaskOp
from whence.kernels import build_schedule, lower
from whence.passes.tir.unroll import TirUnrollPass
from whence.support.context import PassContext
from whence.support.errors import PipelineError
from whence.te.schedule.schedule import Schedule

N = 37


def schedule() -> Schedule:
    """Two stages in buffers of their own, then vectors of which the last is cut off."""
    a = te.placeholder((N,), "float32", "A")
    b = te.compute((N,), lambda i: a[i] + 1.0, "B")
    c = te.compute((N,), lambda i: b[N - 1 - i] * 2.0, "C")
    d = te.compute((N,), lambda i: c[N - 1 - i] * a[i] + a[i], "D")
    made = te.create_schedule(d.op)
    _, inner = made[d].split(d.op.axis[0], factor=16)
    made[d].vectorize(inner)
    return made


def text(**config: Any) -> str:
    with PassContext(config={f"tir.{name.replace('__', '.')}": value for name, value in config.items()}):
        return str(lower(schedule()))


def test_disable_vectorize():
    assert "vector<" in text()
    off = text(disable_vectorize=True)
    assert "vector<" not in off
    assert "vectorized" not in off


def test_disable_cse():
    assert text(disable_cse_tir=True).count("%A[") > text().count("%A[")


def test_disable_storage_rewrite():
    def shared() -> Schedule:
        a = te.placeholder((N,), "float32", "A")
        b = te.compute((N,), lambda i: a[N - 1 - i] + 1.0, "B")
        c = te.compute((N,), lambda i: b[N - 1 - i] + 1.0, "C")
        d = te.compute((N,), lambda i: c[N - 1 - i] + 1.0, "D")
        e = te.compute((N,), lambda i: d[N - 1 - i] + 1.0, "E")
        return te.create_schedule(e.op)

    assert str(lower(shared())).count("tir.alloc") == 2
    with PassContext(config={"tir.disable_storage_rewrite": True}):
        assert str(lower(shared())).count("tir.alloc") == 3


def test_unroll_limits():
    loop = f"tir.for unrolled %i in {N}"
    assert loop not in text()
    assert loop in text(UnrollLoop__auto_max_step=N)
    assert loop not in text(UnrollLoop__auto_max_step=N - 1)
    # As TVM's users write it.
    assert PassContext(config={"tir.UnrollLoop": {"auto_max_step": N}}).config == {"tir.UnrollLoop.auto_max_step": N}
    assert loop in text(UnrollLoop__auto_max_extent=N)
    written = text(UnrollLoop__auto_max_extent=N, UnrollLoop__explicit_unroll=True)
    assert "unrolled" not in written
    assert written.count("tir.store") >= 2 * N


def test_partition_const_loop():
    def padded() -> Schedule:
        a = te.placeholder((N,), "float32", "A")
        b = te.compute((N,), lambda i: te.if_then_else(i >= 1, a[i - 1], 0.0), "B")
        return te.create_schedule(b.op)

    assert str(lower(padded())).count("tir.for") == 1
    with PassContext(config={"tir.LoopPartition.partition_const_loop": True}):
        func = lower(padded())
    assert not [op for op in func.walk() if op.properties.get("guard") is not None]


def test_split_loop_wants_pairs():
    a = te.placeholder((8, N), "float32", "A")
    b = te.compute((8, N), lambda i, j: a[i, j] + 1.0, "B")
    c = te.compute((8, N), lambda i, j: b[i, j] * 2.0, "C")
    made = te.create_schedule(c.op)
    made[b].compute_at(made[c], c.op.axis[0])
    made[b].double_buffer()
    with PassContext(config={"tir.InjectDoubleBuffer.split_loop": 3}), pytest.raises(PipelineError) as error:
        lower(made)
    assert str(error.value) == "tir.InjectDoubleBuffer.split_loop: expected 1 or a multiple of 2, got 3"


def test_debug_keep_trivial_loop():
    def trivial() -> Schedule:
        a = te.placeholder((1, N), "float32", "A")
        b = te.compute((1, N), lambda i, j: a[i, j] + 1.0, "B")
        return te.create_schedule(b.op)

    assert str(lower(trivial())).count("tir.for") == 1
    with PassContext(config={"tir.debug_keep_trivial_loop": True}):
        function = build_schedule(trivial(), threads=1)
    assert function.tir.count("tir.for") == 2
    x = np.arange(N, dtype=np.float32).reshape(1, N)
    np.testing.assert_array_equal(function(x), x + 1)


@dataclass(frozen=True)
class Look(ModulePass):
    """Notes what it finds."""

    name = "look"
    seen: Any = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.seen.append(next(iter(op.ops)).clone())


def kinds(op: Operation) -> set[str]:
    return {inner.kind.data for inner in op.walk() if isinstance(inner, ForOp)}


def test_own_passes_run_before_their_phase():
    seen: list[list[Operation]] = [[], [], [], []]
    text(add_lower_pass=[(phase, Look(seen[phase])) for phase in range(4)])
    assert [len(found) for found in seen] == [1, 1, 1, 1]
    early, partitioned, vectors, last = (found[0] for found in seen)
    assert "vectorized" in kinds(early) & kinds(partitioned)
    assert "vectorized" not in kinds(vectors)
    assert any(isinstance(op, MaskOp) for op in vectors.walk())
    assert isinstance(last, PrimFuncOp)


def test_passes_of_whence_can_be_given_too():
    assert "tir.store" in text(add_lower_pass=[(2, TirUnrollPass(explicit=True, auto_max_extent=N))])
    assert text(add_lower_pass=[(2, TirUnrollPass(explicit=True, auto_max_extent=N))]).count("tir.store") > 2 * N


@dataclass(frozen=True)
class Break(ModulePass):
    """Leaves a loop of a kind that there is not."""

    name = "break"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in op.walk():
            if isinstance(loop, ForOp):
                loop.properties["kind"] = StringAttr("sideways")


@dataclass(frozen=True)
class Drop(ModulePass):
    """Removes stores."""

    name = "drop"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for store in [inner for inner in op.walk() if isinstance(inner, StoreOp)]:
            store.detach()
            store.erase()


@dataclass(frozen=True)
class Share(ModulePass):
    """Has threads share the innermost loops, and all of them write where the first does."""

    name = "share"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in op.walk():
            if isinstance(loop, ForOp):
                loop.properties["kind"] = StringAttr("parallel")
            if isinstance(loop, StoreOp):
                map = loop.map.data
                halved = tuple(expr // 2 for expr in map.results)
                loop.properties["map"] = AffineMapAttr(AffineMap(map.num_dims, map.num_symbols, halved))


@pytest.mark.parametrize("phase", range(4))
def test_a_pass_that_drops_stores_is_named_with_what_is_not_written(phase: int):
    expected = rf"'drop' of phase {phase}: .*tir.prim_func: expected a store to every element of %out, got none to \[0"
    with pytest.raises(PipelineError, match=expected):
        text(add_lower_pass=[(phase, Drop())])


def test_a_pass_that_makes_a_race_is_named_with_the_iterations():
    with pytest.raises(
        PipelineError, match=r"pass 'share' of phase 1: tir.store: .* got iterations i=0 and i=1 write %B"
    ):
        text(add_lower_pass=[(1, Share())])


def test_a_pass_that_breaks_the_kernel_is_named():
    with pytest.raises(PipelineError, match=r"tir\.add_lower_pass: pass 'break' of phase 1: expected a valid kernel"):
        text(add_lower_pass=[(1, Break())])


@pytest.mark.parametrize("value", [[(4, TirUnrollPass())], [TirUnrollPass()], [(0, "tir-unroll")]])
def test_what_is_no_list_of_phases_and_passes(value: Any):
    with pytest.raises(PipelineError) as error:
        PassContext(config={"tir.add_lower_pass": value})
    assert "config option 'tir.add_lower_pass': expected [(phase from 0 to 3, pass), ..], got" in str(error.value)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("tir.disable_vectorise", True, "Invalid config option 'tir.disable_vectorise' candidates are: "),
        ("tir.disable_vectorize", 1, "config option 'tir.disable_vectorize': expected bool, got int (1)"),
        ("tir.UnrollLoop.auto_max_step", "9", "expected int, got str ('9')"),
    ],
)
def test_one_clear_error(name: str, value: Any, said: str):
    with pytest.raises(PipelineError) as error:
        PassContext(config={name: value})
    assert said in str(error.value)


@pytest.mark.parametrize("name", ["tir-vectorize", "tir.VectorizeLoop"])
def test_passes_can_be_left_out(name: str):
    with PassContext(disabled_pass=(name,)):
        func = lower(schedule())
    assert "vectorized" in kinds(func)


def test_what_changes_code_is_in_the_key_of_a_kernel():
    def key(**config: Any) -> str:
        return PassContext(config={f"tir.{name}": value for name, value in config.items()}).shapes_code()

    assert key() == key(disable_vectorize=False) == ""
    keys = [
        key(disable_vectorize=True),
        key(disable_cse_tir=True),
        key(add_lower_pass=[(0, TirUnrollPass())]),
        key(add_lower_pass=[(1, TirUnrollPass())]),
        key(add_lower_pass=[(1, TirUnrollPass(explicit=True))]),
        key(add_lower_pass=[(1, Break())]),
        PassContext(disabled_pass=("tir-vectorize",)).shapes_code(),
    ]
    assert len({"", *keys}) == len(keys) + 1
    # Whence's own are told by their text, in every process; what others do is only known in this one.
    assert keys[4] == "tir.add_lower_pass = 1 tir-unroll{explicit=true}"
    assert keys[5] == key(add_lower_pass=[(1, Break())]) != "tir.add_lower_pass = 1 break"
    assert PassContext(config={"tir.usmp.enable": True}).shapes_code() == ""
