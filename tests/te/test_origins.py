"""Where operations come from: lines of Python, given locations, tags and attributes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import StringAttr, UnitAttr

from whence import te
from whence.dialects import te as ops
from whence.kernels import build_schedule, lower
from whence.provenance.span import layer_location, layer_names
from whence.support.errors import ScheduleError
from whence.te.language.tensor import Tensor
from whence.te.schedule.schedule import Schedule

Array = NDArray[Any]
RNG = np.random.default_rng(8)
FILE = Path(__file__).name
LINES = Path(__file__).read_text().splitlines()


def line_of(marker: str) -> int:
    (found,) = [i for i, line in enumerate(LINES, 1) if line.endswith(f"# {marker}")]
    return found


def helper(x: Tensor) -> Tensor:
    return te.compute((4,), lambda i: x[i] + 1.0, name="inner")  # in the helper


@te.hybrid.script
def doubled(a: Any) -> Any:
    c = output_tensor((4,), "float32")  # pyright: ignore[reportUndefinedVariable, reportUnknownVariableType] # noqa: F821
    for i in range(4):
        c[i] = a[i] * 2.0
    return c  # pyright: ignore[reportUnknownVariableType]


def test_an_operation_is_at_the_line_that_makes_it() -> None:
    x = te.placeholder((4,), name="x")  # the placeholder
    inner = helper(x)
    state = te.placeholder((4,), name="s")
    init = te.compute((1,), lambda t: inner[t], name="init")
    update = te.compute((4,), lambda t: state[t - 1] + inner[t], name="update")
    total = te.scan(init, update, state, name="total")  # the scan
    copy = te.extern(
        (4,), [total], lambda ins, outs: te.call_extern("handle", "memcpy", outs[0], ins[0], 16), name="copy"
    )
    twice = doubled(copy)  # the script
    func = te.create_schedule(twice).func
    found = {op.label.data: op.location for op in func.block.ops if isinstance(op, ops.STAGES)}
    for name, marker in (("inner", "in the helper"), ("total", "the scan"), ("doubled", "the script")):
        assert found[name] == layer_location(name, FILE, line_of(marker)), name
    assert func.block.args[0].location == layer_location("x", FILE, line_of("the placeholder"))
    assert set(layer_names(func.location)) == {"x", "inner", "s", "init", "update", "total", "copy", "doubled"}
    assert all(layer_names(op.location) for op in func.walk())


def test_given_locations_win_and_nest() -> None:
    outer, inner = layer_location("conv1", "net.onnx", 4), layer_location("relu1", "net.onnx", 5)
    with te.located(outer):
        x = te.placeholder((4,), name="x")
        with te.located(inner):
            y = helper(x)
        z = helper(y)
    w = helper(z)
    assert [tensor.op.location for tensor in (x, y, z)] == [outer, inner, outer]
    assert w.op.location == layer_location("inner", FILE, line_of("in the helper"))


def test_a_location_ends_when_an_error_leaves_it() -> None:
    with pytest.raises(ScheduleError), te.located(layer_location("conv1", "net.onnx", 4)):
        te.compute((4,), lambda: 0.0)
    assert te.placeholder((4,), name="p").op.location == layer_location("p", FILE, line_of("p"))  # p


def test_errors_name_the_line() -> None:
    x = te.placeholder((4,), name="x")
    y = helper(x)
    line = line_of("in the helper")
    with pytest.raises(ScheduleError, match=rf"\(stage 'inner', layer 'inner', {FILE} line {line}\)"):
        te.create_schedule(y)[y].split(y.op.axis[0], 0)


def test_attributes_of_every_operation() -> None:
    x = te.placeholder((4,), name="x")
    flags: dict[str, Any] = {"keep": True, "skip": False, "layout": "NCHW", "count": 3, "given": StringAttr("as is")}
    with te.tag_scope("injective"):
        y = te.compute((4,), lambda i: x[i] + 1.0, name="y", attrs=flags)
        e = te.extern(
            (4,),
            [y],
            lambda ins, outs: te.call_extern("handle", "memcpy", outs[0], ins[0], 16),
            name="e",
            attrs={"keep": True},
        )
        h = doubled(e)
        s = te.placeholder((4,), name="s")
        i = te.compute((1,), lambda t: h[t], name="i")
        u = te.compute((4,), lambda t: s[t - 1] + h[t], name="u")
        t = te.scan(i, u, s, name="t", attrs={"note": "steps"})
    func = te.create_schedule(t).func
    found = {op.label.data: op.attributes for op in func.block.ops if isinstance(op, ops.STAGES)}
    assert found["y"] == {
        "tag": StringAttr("injective"),
        "keep": UnitAttr(),
        "layout": StringAttr("NCHW"),
        "count": StringAttr("3"),
        "given": StringAttr("as is"),
    }
    assert found["e"] == {"tag": StringAttr("injective"), "keep": UnitAttr()}
    assert found["doubled"] == {"tag": StringAttr("injective")}
    assert found["t"] == {"tag": StringAttr("injective"), "note": StringAttr("steps")}


def rows() -> tuple[Schedule, Tensor]:
    a, b = te.placeholder((6, 8), name="A"), te.placeholder((6,), name="B")
    k = te.reduce_axis((0, 8), name="k")
    b2 = te.compute((6,), lambda i: b[i] * 2.0, name="B2")
    c = te.compute((6,), lambda i: te.max(a[i, k], axis=k, init=b2[i]), name="C")
    return te.create_schedule(c, [a, b]), c


@pytest.mark.parametrize("case", ["plain", "split", "reorder", "inline", "attach", "cache"])
def test_a_reduction_that_starts_from_elsewhere(replayed: Callable[[Schedule], None], case: str) -> None:
    s, c = rows()
    stage = s[c]
    match case:
        case "split":
            stage.split(c.op.axis[0], 4)
            stage.split(c.op.reduce_axis[0], 3)
        case "reorder":
            stage.reorder(c.op.reduce_axis[0], c.op.axis[0])
        case "inline":
            s["B2"].compute_inline()
        case "attach":
            s["B2"].compute_at(stage, c.op.axis[0])
        case "cache":
            s.cache_write(c, "local").compute_at(stage, stage.axes[0])
        case _:
            pass
    a, b = RNG.standard_normal((6, 8)).astype("float32"), RNG.standard_normal(6).astype("float32")
    np.testing.assert_allclose(build_schedule(s, threads=1)(a, b), np.maximum(a.max(1), 2 * b), rtol=1e-6)
    s.func.verify()
    replayed(s)


def test_a_start_that_is_a_number_and_one_of_a_tuple() -> None:
    a = te.placeholder((6, 8), "int32", name="A")
    k, r = te.reduce_axis((0, 8), name="k"), te.reduce_axis((0, 8), name="r")
    c = te.compute((6,), lambda i: te.sum(a[i, k], axis=k, init=100), name="C")
    both = te.comm_reducer(lambda x, y: (x[0] + y[0], x[1] * y[1]), lambda p, q: (te.const(0, p), te.const(1, q)))
    d, e = te.compute((6,), lambda i: both((a[i, r], a[i, r]), axis=r, init=(7, c[i])), name="D")
    data = RNG.integers(-3, 4, (6, 8)).astype("int32")
    found = build_schedule(te.create_schedule([d, e]), threads=1)(data)
    np.testing.assert_array_equal(found[0], data.sum(1) + 7)
    np.testing.assert_array_equal(found[1], data.prod(1) * (data.sum(1) + 100))


def test_starts_that_are_refused() -> None:
    a = te.placeholder((6, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    cases: list[tuple[Callable[[te.Expr], Any], str]] = [
        (lambda i: te.sum(a[i, k], axis=k, init=a[i, k]), "init to depend on data axes only, got k"),
        (
            lambda i: te.sum(a[i, k], axis=k, init=a[i, 0] + 1.0),
            "a number or an element of a tensor as init, got Binary",
        ),
        (lambda i: te.sum(a[i, k], axis=k, init=te.const(1, "int32")), "expected init of float32, got int32"),
    ]
    for body, text in cases:
        with pytest.raises(ScheduleError, match=text):
            te.compute((6,), body)


@pytest.mark.parametrize("factor", [1, 3, 4, 8])
@pytest.mark.parametrize("reducer", ["sum", "prod", "max"])
def test_factored_reductions_start_once(replayed: Callable[[Schedule], None], factor: int, reducer: str) -> None:
    a, d = te.placeholder((6, 8), "float64", name="A"), te.placeholder((6,), "float64", name="D")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((6,), lambda i: getattr(te, reducer)(a[i, k], axis=k, init=d[5 - i]), name="C")
    s = te.create_schedule(c)
    s[s.rfactor(c, s[c].split(k, factor)[1])].vectorize(s["C.rf"].axes[1])
    s.func.verify()
    terms, starts = RNG.uniform(0.5, 2.0, (6, 8)), RNG.uniform(3.0, 9.0, 6)
    combine = {"sum": np.add, "prod": np.multiply, "max": np.maximum}[reducer]
    expected = combine(combine.reduce(terms, axis=1), starts[::-1])
    np.testing.assert_allclose(build_schedule(s, threads=1)(terms, starts), expected, rtol=1e-12)
    replayed(s)


def test_a_kernel_as_an_operation() -> None:
    a = te.placeholder((6, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((6,), lambda i: te.sum(a[i, k], axis=k), name="C")
    top = te.compute((6,), lambda i: te.max(a[i, k], axis=k), name="M")
    kernel = lower(te.create_schedule([c, top], [a]), "sums", simple_mode=True)
    x = te.placeholder((6, 8), name="X")
    y = te.compute((6, 8), lambda i, j: x[i, j] * 2.0, name="Y")
    before = str(kernel)
    sums, tops = te.extern_primfunc([y], kernel, attrs={"keep": True})
    z = te.compute((6,), lambda i: sums[i] + tops[i], name="Z")
    s = te.create_schedule(z)
    s[z].vectorize(s[z].split(z.op.axis[0], 3)[1])
    s.func.verify()
    assert [stage.label for stage in s.stages] == ["Y", "sums", "Z"]
    assert {axis.sort for axis in s["sums"].leaf_iter_vars} == {"data"}
    assert all(layer_names(op.location) for op in s.func.walk())
    assert str(kernel) == before
    data = RNG.standard_normal((6, 8)).astype("float32")
    expected = (2 * data).sum(1) + (2 * data).max(1)
    np.testing.assert_allclose(build_schedule(s, threads=1)(data), expected, rtol=1e-5)
    with pytest.raises(ScheduleError, match=r"expected float32\[6, 8\] in 'sums', got float32\[6\] 'Z'"):
        te.extern_primfunc([z], kernel)
    with pytest.raises(ScheduleError, match=r"te.extern_primfunc: expected 1 inputs of 'sums', got 2"):
        te.extern_primfunc([y, y], kernel)
