"""Errors of sizes that make no sense: they name inputs, dimensions, both values and the layer that takes none such."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest

import whence
from whence.support.errors import FrontendError

RNG = np.random.default_rng(3)


def floats(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return RNG.standard_normal(shape).astype(np.float32)


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 20]> {text}')


def test_what_is_too_small_names_inputs():
    model = parsed("""graph (float[n, a] x, float[n, b] y) => (float[n, 5] z, int64[n, 5] i) <int64[1] five = {5}> {
        [both] both = Concat <axis = 1> (x, y)
        [top] z, i = TopK (both, five)
    }""")
    executable = whence.compile(model, tier="symbolic", opt_level=0)
    place = r"dimension 1 of float32\[n, {0}\] '{1}'"
    found = (
        rf"a = 2 \({place.format('a', 'x')}\), b = 1 \({place.format('b', 'y')}\), got -2 \(layer 'top', .* node \d\)"
    )
    with pytest.raises(FrontendError, match=rf"a \+ b - 5 .* {found}"):
        executable.run({"x": floats(1, 2), "y": floats(1, 1)})


CONTRADICTIONS = [
    (
        """graph (float[1, 2, h, w] x) => (float[1, 2, p, q] z) {
            [before] a = Relu (x)
            [pool] b = MaxPool <kernel_shape = [3, 3]> (a)
            [after] z = Relu (b)
        }""",
        {"x": (1, 2, 1, 8)},
        r"h - 2 of at least 0 for h = 1 \(dimension 2 of float32\[1, 2, h, w\] 'x'\), got -1 \(layer 'pool', .* \d\)",
    ),
    (
        """graph (float[n] x, float[m] y) => (float[p] z) {
            n = Shape (x)
            m = Shape (y)
            [less] less = Sub (n, m)
            [made] made = ConstantOfShape (less)
            [after] z = Neg (made)
        }""",
        {"x": (8,), "y": (9,)},
        r"m \+ n of at least 0 for n = 8 \(.* 'x'\), m = 9 \(.* 'y'\), got -1 \(layer 'made', .* node \d\)",
    ),
    (
        """graph (float[n, m] x, float[k, p] y) => (z) {
            [before] a = Relu (x)
            [product] b = MatMul (a, y)
            [after] z = Neg (b)
        }""",
        {"x": (2, 3), "y": (4, 2)},
        r"dimension 0 of float32\[m, p\] 'y': expected m = 3 for .*, got 4 \(layer 'product', .* node \d\)",
    ),
    (
        """graph (float[1, 2, h, 6] x) => (z) {
            [before] a = Relu (x)
            [blocks] b = SpaceToDepth <blocksize = 3> (a)
            [after] z = Neg (b)
        }""",
        {"x": (1, 2, 4, 6)},
        r"mod 3.* of at least 0 for h = 4 .*, got -1 \(layer 'blocks', .* node \d\)",
    ),
    (
        """graph (float[b, 2, h, w] x) => (z) <int64[2] row = {1, 2}> {
            [before] a = Relu (x)
            [pool] p = GlobalAveragePool (a)
            [view] v = Reshape (p, row)
            [after] z = Neg (v)
        }""",
        {"x": (3, 2, 4, 5)},
        r"dimension 0 of float32\[1, 2, h, w\] 'x': expected 1, got 3 \(layer 'view', .* node \d\)",
    ),
    (
        "graph (float[n, m] x, float[n, k] y) => (z) { [before] a = Relu (x) [sum] z = Add (a, y) }",
        {"x": (2, 3), "y": (2, 4)},
        r"\[2, 3\] and \[2, 4\] \(layer 'sum', .*\[n, m\] 'x' of shape \[2, 3\]; .*\[n, k\] 'y' of shape \[2, 4\]",
    ),
]


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize(
    ("text", "shapes", "wanted"), CONTRADICTIONS, ids=["window", "made", "equal", "multiple", "batch", "sum"]
)
def test_contradictions_name_their_layer(text: str, shapes: dict[str, tuple[int, ...]], wanted: str, level: int):
    """The one that has no such sizes, not those that what it gives goes to."""
    executable = whence.compile(parsed(text), opt_level=level)
    with pytest.raises(FrontendError, match=wanted):
        executable.run({name: floats(*shape) for name, shape in shapes.items()})
