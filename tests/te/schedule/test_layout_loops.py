"""Loops that follow the layout of the buffer that they fill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.ir.affine import AffineMap
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from whence import te
from whence.dialects.schedule import Schedule as Sequences
from whence.dialects.te import Te
from whence.explorer.schedule.tedd import viz_itervar_relationship_graph
from whence.explorer.schedule.tedd_json import dump_json
from whence.kernels import build_schedule, lower
from whence.lowering.te_to_tir.schedule_apply import ScheduleApplyPass
from whence.support.errors import ScheduleError
from whence.te.language.affine_forms import layout_map
from whence.te.language.layouts import inverse_layout
from whence.te.language.tensor import Body, Tensor
from whence.te.schedule.schedule import Schedule

RNG = np.random.default_rng(11)

FOLLOWED: dict[str, tuple[Body, list[int]]] = {
    "tiles": (lambda i, j: [i // 4, j, i % 4], [3, 12, 4]),
    "uneven": (lambda i, j: [i // 5, j // 8, i % 5, j % 8], [2, 2, 5, 8]),
    "transposed": (lambda i, j: [j, i], [12, 10]),
    "flat": (lambda i, j: [i * 12 + j], [120]),
    "mixed": (lambda i, j: [j // 4, i * 4 + j % 4], [3, 40]),
    "three levels": (lambda i, j: [i // 4, j, (i // 2) % 2, i % 2], [3, 12, 2, 2]),
    "with one": (lambda i, j: [i, 0, j], [10, 1, 12]),
}
STAYING: dict[str, Body] = {
    "shifted": lambda i, j: [i + 1, j],
    "spread": lambda i, j: [i * 2, j],
    "skewed": lambda i, j: [i + j, j],
    "digits twice": lambda i, j: [i // 4, i, j],
    "gap": lambda i, j: [i * 20 + j],
    "backwards": lambda i, j: [i * -1 + 9, j],
}


def product() -> tuple[Schedule, Tensor, Tensor]:
    """`D = 2 (A B)` of 10x12."""
    a, b = te.placeholder((10, 7), "float64", name="A"), te.placeholder((7, 12), "float64", name="B")
    k = te.reduce_axis((0, 7), name="k")
    c = te.compute((10, 12), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    d = te.compute((10, 12), lambda i, j: c[i, j] * 2.0, name="D")
    return te.create_schedule(d), c, d


def right(s: Schedule) -> None:
    a, b = RNG.standard_normal((10, 7)), RNG.standard_normal((7, 12))
    np.testing.assert_allclose(build_schedule(s, threads=1)(a, b), 2 * a @ b, rtol=1e-12)


@pytest.mark.parametrize("place", ["root", "row", "tile", "reduction outside"])
@pytest.mark.parametrize("case", FOLLOWED)
def test_loops_follow(replayed: Callable[[Schedule], None], case: str, place: str) -> None:
    layout, extents = FOLLOWED[case]
    s, c, d = product()
    if place == "row":
        s[c].compute_at(s[d], d.op.axis[0])
    if place == "tile":
        s[c].compute_at(s[d], s[d].tile(d.op.axis[0], d.op.axis[1], 3, 5)[1])
    made = s[c].transform_layout(layout)
    assert [axis.name for axis in made] == [f"axis{i}" for i in range(len(extents))]
    assert [axis.extent for axis in made] == extents
    assert s[c].leaf_iter_vars == [*made, *s[c].reduce_axes]
    if place == "reduction outside":
        s[c].reorder(s[c].reduce_axes[0], *made)
    right(s)
    replayed(s)


@pytest.mark.parametrize("case", STAYING)
def test_loops_that_cannot_follow_stay(replayed: Callable[[Schedule], None], case: str) -> None:
    s, c, _ = product()
    assert s[c].transform_layout(STAYING[case]) == []
    assert [axis.name for axis in s[c].leaf_iter_vars] == ["i", "j", "k"]
    right(s)
    replayed(s)


def test_loops_that_were_changed_stay(replayed: Callable[[Schedule], None]) -> None:
    changes: list[Callable[[Any], object]] = [
        lambda stage: stage.split(stage.axes[0], 4),
        lambda stage: stage.reorder(stage.axes[1], stage.axes[0]),
        lambda stage: stage.reorder(stage.axes[0], stage.reduce_axes[0], stage.axes[1]),
        lambda stage: stage.unroll(stage.axes[1]),
        lambda stage: stage.pragma(stage.axes[1], "note"),
    ]
    for change in changes:
        s, c, _ = product()
        change(s[c])
        before = s[c].leaf_iter_vars
        assert s[c].transform_layout(lambda i, j: [j, i]) == []
        assert s[c].leaf_iter_vars == before
        right(s)
        replayed(s)


def test_the_new_loops_are_loops(replayed: Callable[[Schedule], None]) -> None:
    s, c, d = product()
    outer, column, inner = s[c].transform_layout(lambda i, j: [i // 4, j, i % 4])
    column_outer, _ = s[c].split(column, 5)
    s[c].reorder(outer, column_outer, s[c].reduce_axes[0])
    s[c].vectorize(inner)
    s[c].parallel(outer)
    s[d].vectorize(d.op.axis[1])
    assert s.primitive_record == [
        *("vanilla", "transform_layout", "split", "reorder", "vectorize", "parallel", "vectorize")
    ]
    right(s)
    replayed(s)
    with pytest.raises(ScheduleError, match="Operate on iter var i that has already been split or fused"):
        s[c].split(c.op.axis[0], 2)


def test_layouts_of_layouts_caches_and_factors(replayed: Callable[[Schedule], None]) -> None:
    s, c, _ = product()
    first = s[c].transform_layout(lambda i, j: [i // 4, j, i % 4])
    second = s[c].transform_layout(lambda x, y, z: [y // 6, x, y % 6, z])
    assert [axis.extent for axis in second] == [2, 3, 6, 4]
    assert not set(first) & set(s[c].leaf_iter_vars)
    right(s)
    replayed(s)
    cache = s.cache_write(c, "local")
    assert cache.compute.shape == (2, 3, 6, 4)
    right(s)
    replayed(s)
    s, c, _ = product()
    s[c].transform_layout(lambda i, j: [i // 4, j, i % 4])
    s.rfactor(c, s[c].split(c.op.reduce_axis[0], 3)[1])
    right(s)
    replayed(s)


def test_what_reads_it_is_attached_where_its_loops_are() -> None:
    a = te.placeholder((10, 12), "float64", name="A")
    b = te.compute((10, 12), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((10, 12), lambda i, j: b[i, j] * 3.0, name="C")
    d = te.compute((12, 10), lambda i, j: c[j, i] - 2.0, name="D")
    s = te.create_schedule(d)
    made = s[c].transform_layout(lambda i, j: [i // 4, j // 3, i % 4, j % 3])
    s[b].compute_at(s[c], made[1])
    data = RNG.standard_normal((10, 12))
    np.testing.assert_allclose(build_schedule(s, threads=1)(data), (data.T + 1) * 3 - 2, rtol=1e-12)
    assert "B" in str(s)
    assert str(s).count("for axis1 in 4") == 1


def test_it_is_shown() -> None:
    s, c, _ = product()
    s[c].transform_layout(lambda i, j: [i // 4, j, i % 4])
    lines = [line.strip() for line in str(s).splitlines()]
    assert ["for axis0 in 3", "for axis1 in 12", "for axis2 in 4", "for k in 7"] == lines[2:6]
    stage = next(stage for stage in dump_json(s)["stages"] if stage["name"] == "C")
    (relation,) = stage["relations"]
    assert relation["type"] == "Transform_Relation"
    index = dump_json(s)["stages"].index(stage)
    assert relation["originals"] == [[index, 0], [index, 1]]
    assert relation["transformed"] == [[index, 3], [index, 4], [index, 5]]
    assert [entry["index"] for entry in stage["all_itervars"]] == [-1, -1, 3, 0, 1, 2]
    dot = viz_itervar_relationship_graph(s, output_dot_string=True)
    assert dot is not None
    assert f"IterVar_{index}_1:itervar -> Transform_Relation_{index}_0:In_1" in dot
    assert f"Transform_Relation_{index}_0:Out_2 -> IterVar_{index}_5:itervar" in dot


@pytest.mark.parametrize("case", [*FOLLOWED, *STAYING])
def test_inverses(case: str) -> None:
    """Where there is one, it takes each element's place back to it, and no other place to an element."""
    shape = (10, 12)
    layout = FOLLOWED[case][0] if case in FOLLOWED else STAYING[case]
    map = layout_map(layout, ["i", "j"])[0].data
    inverse = inverse_layout(map, shape)
    if inverse is None:
        assert case in STAYING
        return
    back = AffineMap(len(map.results), 0, inverse)
    taken: dict[tuple[int, ...], tuple[int, ...]] = {}
    for place in np.ndindex(*FOLLOWED[case][1]):
        point = tuple(back.eval(place, ()))
        assert point not in taken
        taken[point] = place
    assert all(taken[point] == tuple(map.eval(point, ())) for point in np.ndindex(*shape))


def test_what_the_text_may_say() -> None:
    s, c, _ = product()
    s[c].transform_layout(lambda i, j: [i + 1, j])
    text = str(s.module())
    said = "affine_map<(d0, d1) -> ((d0 + 1), d1)>"
    assert f"{said}\n" in text
    assert "tir.for %i in 10" in str(lower(s, simple_mode=True))
    context = Context()
    for dialect in (Builtin, Te, Sequences, arith.Arith):
        context.load_dialect(dialect)
    for count, problem in ((1, "2 loops, or none"), (2, "expected 0 loops, got 2")):
        names = ", ".join(f"%x{i}" for i in range(count))
        spelled = text.replace("schedule.transform_layout", f"{names} = schedule.transform_layout")
        module = Parser(context, spelled.replace(said, f"{said} : {count}")).parse_module()
        with pytest.raises((VerifyException, ScheduleError), match=problem):
            _apply(context, module)


def _apply(context: Context, module: ModuleOp) -> None:
    module.verify()
    ScheduleApplyPass().apply(context, module)
