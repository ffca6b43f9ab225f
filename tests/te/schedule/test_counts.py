"""Counts of loop nests against enumerations of all their iterations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod

import numpy as np
import onnx.parser
import pytest
from onnx import TensorProto, helper
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineExpr

import whence
from whence import te
from whence.dialects.te import ComputeOp
from whence.explorer.code import kernel_of
from whence.explorer.session.costs import CostModel
from whence.lowering.kernel.work import stages_work
from whence.lowering.relay_to_te.cost import Rates
from whence.support.machine import Machine
from whence.te.schedule.bounds import infer_bounds
from whence.te.schedule.counts import Access, Nest, body_of
from whence.te.schedule.itervar import Fuse, IterVar, Split
from whence.te.schedule.schedule import Schedule
from whence.tuning.tasks import tasks_of

MACHINE = Machine.x86(512)
X = te.placeholder((1 << 20, 1 << 20), name="x")


def distinct(point: Sequence[AffineExpr], spans: Sequence[int]) -> int:
    """The number of distinct values of a point, by enumeration."""
    return len({tuple(expr.eval(dims, []) for expr in point) for dims in product(*map(range, spans))})


@pytest.mark.parametrize("seed", range(60))
def test_touched_elements_are_those_of_an_enumeration(seed: int):
    rng = np.random.default_rng(seed)
    spans = [int(span) for span in rng.integers(1, 7, 4)]
    i, j, k, m = map(AffineDimExpr, range(4))
    stride, dilation, other = (int(step) for step in rng.integers(1, 8, 3))
    tensor = te.create_schedule(te.compute((4,), lambda n: X[n, n]).op).computes[0].compute.reads[0].tensor
    exact = Access(tensor, (i * stride + k + 3, j * dilation + m))
    assert exact.elements(spans) == distinct(exact.point, spans)
    least = Access(tensor, (i * stride + j * dilation, (k * other + m) // dilation + (m + j) % stride))
    assert distinct(least.point, spans) <= least.elements(spans) <= prod(spans)
    alone = Access(tensor, (j, AffineConstantExpr(4)))
    assert alone.elements(spans) == spans[1]


def points_of(axes: Sequence[IterVar], schedule: Schedule) -> Iterator[tuple[list[int], dict[IterVar, int]]]:
    """Values of loops, outermost first, and of root axes in each iteration, those past a tail left out."""
    relations = schedule.computes[-1].relations
    for values in product(*(range(int(str(axis.extent))) for axis in axes)):
        at = dict(zip(axes, values, strict=True))
        for relation in reversed(relations):
            match relation:
                case Split(parent=parent, outer=outer, inner=inner):
                    at[parent] = at[outer] * int(str(inner.extent)) + at[inner]
                case Fuse(outer=outer, inner=inner, fused=fused):
                    at[outer], at[inner] = divmod(at[fused], int(str(inner.extent)))
                case _:
                    raise AssertionError(relation)
        if all(value < int(str(axis.extent)) for axis, value in at.items()):
            yield list(values), at


def window(rng: np.random.Generator) -> Schedule:
    """A random product or convolution, its loops taken apart and put into another order at random."""
    rows, columns, terms, stride = (int(size) for size in rng.integers(1, 9, 4))
    k = te.reduce_axis((0, terms), name="k")
    a, b = te.placeholder((128, 128), name="a"), te.placeholder((128, 128), name="b")
    if rng.integers(2):
        c = te.compute((rows, columns), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    else:
        c = te.compute((rows, columns), lambda i, j: te.sum(a[i, j * stride + k] * b[k, i], axis=k), name="c")
    schedule = te.create_schedule(c.op)
    stage = schedule[c]
    for _ in range(int(rng.integers(4))):
        axis = stage.leaf[int(rng.integers(len(stage.leaf)))]
        if int(str(axis.extent)) > 1:
            stage.split(axis, int(rng.integers(1, int(str(axis.extent)) + 1)))
    order = rng.permutation(len(stage.leaf))
    stage.reorder(*[stage.leaf[int(at)] for at in order])
    return schedule


@pytest.mark.parametrize("seed", range(20))
def test_a_nest_counts_what_its_iterations_do(seed: int):
    schedule = window(np.random.default_rng(seed))
    stage = schedule.computes[-1]
    nest = Nest(stage, infer_bounds(schedule)[stage], body_of(stage.compute))
    iterations = list(points_of(stage.leaf, schedule))
    whole = len(iterations) == nest.iterations
    assert nest.operations == 2 * nest.iterations >= 2 * len(iterations)
    roots = [*stage.axes, *stage.reduce_axes]
    elements: dict[SSAValue, set[tuple[int, ...]]] = defaultdict(set)
    for level in range(len(stage.leaf) + 1):
        touched: dict[SSAValue, dict[tuple[int, ...], set[tuple[int, ...]]]] = defaultdict(lambda: defaultdict(set))
        for loops, at in iterations:
            dims = [at[axis] for axis in roots]
            for access in (*nest.body.reads, *nest.body.writes):
                element = tuple(expr.eval(dims, []) for expr in access.point)
                touched[access.tensor][tuple(loops[:level])].add(element)
                elements[access.tensor].add(element)
        for tensor, size in nest.touched(level).items():
            most = 4 * max(map(len, touched[tensor].values()))
            assert size == most if whole and level == 0 else size >= most
    # What fits is fetched once; without a cache each iteration fetches what it touches.
    assert nest.traffic(1 << 30, set()) == sum(nest.touched(0).values())
    assert nest.traffic(0, set()) >= 4 * sum(map(len, elements.values()))


def enumerated(compute: ComputeOp) -> dict[SSAValue, int]:
    """The bytes of distinct elements that a compute without computed indices reads, by tensor."""
    places: dict[SSAValue, set[tuple[int, ...]]] = defaultdict(set)
    for dims in product(*(range(int(str(extent))) for extent in (*compute.shape, *compute.reduce_shape))):
        at = dict(zip(compute.block.args, dims, strict=True))
        for read in compute.reads:
            places[read.tensor].add(tuple(read.map.data.eval([at[index] for index in read.indices], [])))  # type: ignore[index]
    return {tensor: len(found) * Access(tensor, ()).width for tensor, found in places.items()}


def strided(x: te.Tensor) -> te.Tensor:
    return te.compute((5, 8), lambda i, j: x[3 * i, 2 * j] + x[3 * i, 2 * j])


def twice(x: te.Tensor) -> te.Tensor:
    return te.compute((16, 16), lambda i, j: x[i, j] * x[i, j])


def transposed_too(x: te.Tensor) -> te.Tensor:
    return te.compute((16, 16), lambda i, j: x[i, j] + x[j, i])


def column(x: te.Tensor) -> te.Tensor:
    return te.compute((16, 4), lambda i, j: x[i, 3] + x[i, 3])


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64"])
@pytest.mark.parametrize("computed", [strided, twice, transposed_too, column])
def test_all_readers_have_the_bytes_of_an_enumeration(computed: Callable[[te.Tensor], te.Tensor], dtype: str):
    """Layers' work, costs of a film and the tuner's formulas."""
    schedule = te.create_schedule(computed(te.placeholder((16, 16), dtype, name="x")).op)
    stage = schedule.computes[-1]
    (read,) = enumerated(stage.compute).values()
    written = prod(int(str(extent)) for extent in stage.compute.shape) * Access(stage.compute.result, ()).width
    ((_, work),) = stages_work(schedule.func)
    assert (work.operations, work.bytes) == (prod(int(str(extent)) for extent in stage.compute.shape), read)
    cost = CostModel(MACHINE, 1)(schedule, infer_bounds(schedule))
    assert cost is not None
    assert (cost.flops, cost.bytes) == (work.operations, read + written)
    assert body_of(stage.compute).bytes == read + written


def test_an_inlined_stage_is_evaluated_at_each_point_where_it_is_read():
    x = te.placeholder((18,), name="x")
    a = te.compute((18,), lambda i: x[i] * 2.0 + 1.0, name="a")
    b = te.compute((16,), lambda i: a[i] + a[i + 2] + a[i], name="b")
    schedule = te.create_schedule(b.op)
    inlined = schedule[a].compute
    schedule[a].compute_inline()
    body = body_of(schedule[b].compute, lambda producer: producer is inlined)
    # The additions, and a product and a sum at each of two points.
    assert (body.operations, len(body.reads)) == (2 + 2 * 2, 2)
    assert body.bytes == (18 + 16) * 4


def test_all_results_of_a_stage_are_written():
    best = te.comm_reducer(
        lambda a, b: (te.select(a[1] >= b[1], a[0], b[0]), te.select(a[1] >= b[1], a[1], b[1])),
        lambda index, value: (te.const(-1, index), te.min_value(value)),
    )
    x, index, k = te.placeholder((8, 32)), te.placeholder((8, 32), "int64"), te.reduce_axis((0, 32))
    results = te.compute((8,), lambda row: best((index[row, k], x[row, k]), axis=k))
    schedule = te.create_schedule(results[0].op)
    cost = CostModel(MACHINE, 1)(schedule, infer_bounds(schedule))
    assert cost is not None
    assert cost.bytes == (8 * 32 + 8) * (4 + 8)


def looked_up() -> onnx.ModelProto:
    """Sixteen rows of a table."""
    graph = '<ir_version: 8, opset_import: ["": 13]> g (int64[16] i) => (float[16,96] y) { y = Gather(t, i) }'
    model = onnx.parser.parse_model(graph)
    table = np.random.default_rng(0).standard_normal((50_000, 96)).astype(np.float32)
    model.graph.initializer.append(helper.make_tensor("t", TensorProto.FLOAT, table.shape, table.tobytes(), raw=True))
    return model


def test_of_a_table_count_the_rows_that_are_looked_up():
    compiled = whence.compile(looked_up())
    call = next(call for call in compiled.artifact.calls if "take" in call.name)
    assert sum(size for _, size in kernel_of(compiled.artifact, call.kernel).work) < 2 * 16 * 97 * 8
    x, i = te.placeholder((50_000, 96), name="x"), te.placeholder((16,), "int64", name="i")
    schedule = te.create_schedule(te.compute((16, 96), lambda n, c: x[i[n], c]).op)
    cost = CostModel(MACHINE, 1)(schedule, infer_bounds(schedule))
    assert cost is not None
    assert cost.bytes == 2 * 16 * 96 * 4 + 16 * 8
    rates = Rates.of(MACHINE)
    for task in tasks_of(compiled.artifact, None, None, {}):
        assert task.bound(rates, 1 << 40) < 1e-5
