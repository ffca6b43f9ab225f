"""Functions of open sizes as files: one code, whose sizes a call's arrays tell."""
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence
from whence import te
from whence.kernels.functions import Function
from whence.runtime import load_module
from whence.support.errors import WhenceError

_RANDOM = np.random.default_rng(7)
N, M, L = te.var("n"), te.var("m"), te.var("l")


@pytest.fixture(scope="module")
def product() -> Function:
    """c = a @ b * 2, where the output is the second argument; it has a stage in memory of its own."""
    a, b = te.placeholder((N, L), name="a"), te.placeholder((L, M), name="b")
    k = te.reduce_axis((0, L), name="k")
    sums = te.compute((N, M), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="sums")
    c = te.compute((N, M), lambda i, j: sums[i, j] * 2.0, name="c")
    s = te.create_schedule(c.op)
    s[c].parallel(c.op.axis[0])
    s[c].vectorize(s[c].split(c.op.axis[1], 16)[1])
    return whence.build(s, [a, c, b], name="product")


@pytest.mark.parametrize("kind", ["tar", "so"])
def test_a_file_serves_all_sizes(kind: str, product: Function, tmp_path: Path) -> None:
    function = load_module(product.export_library(tmp_path / f"product.{kind}"))["product"]
    for n, m, depth in ((1, 1, 1), (5, 17, 3), (32, 64, 16), (3, 3, 0), (0, 4, 2)):
        x, y = (_RANDOM.random(shape, np.float32) for shape in ((n, depth), (depth, m)))
        out = np.full((n, m), np.nan, np.float32)
        assert function(x, out, y) is None
        np.testing.assert_allclose(out, x @ y * 2, rtol=1e-5)
        np.testing.assert_array_equal(function(x, y), out)


def test_shapes_that_do_not_fit_are_refused(product: Function, tmp_path: Path) -> None:
    function = load_module(product.export_library(tmp_path / "product.tar"))["product"]
    out = np.zeros((2, 5), np.float32)
    with pytest.raises(WhenceError, match=r"dimension 0 of float32\[l, m\] 'b': expected l = 3 .* got 4"):
        function(np.ones((2, 3), np.float32), out, np.ones((4, 5), np.float32))
    for wrong in (out[:, :4], out.astype(np.float64), out[0], np.broadcast_to(out[:1], (2, 5))):
        with pytest.raises(WhenceError, match=r"an array to write as output float32\[n, m\] 'c'"):
            function(np.ones((2, 3), np.float32), wrong, np.ones((3, 5), np.float32))
    assert not out.any()


def test_sizes_that_no_input_tells_are_refused(tmp_path: Path) -> None:
    factor: Any = te.var("factor")
    a = te.placeholder((N,), name="a")
    b = te.compute((N,), lambda i: a[i] * 2.0, name="b")
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[0], factor)
    with pytest.raises(WhenceError, match="expected inputs whose shapes tell factor"):
        whence.build(s, [factor, a, b]).export_library(tmp_path / "f.tar")
    scaled = te.compute((N,), lambda i: a[i] * te.var("scale", "float32"), name="scaled")
    with pytest.raises(WhenceError, match="expected code for all sizes"):
        whence.build(te.create_schedule(scaled.op), [a, scaled]).export_library(tmp_path / "f.tar")
    assert not list(tmp_path.iterdir())
