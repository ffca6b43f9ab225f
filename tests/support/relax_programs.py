"""Programs of Relax with what numpy computes for them. `python relax_programs.py FOLDER`, run by a Python that has TVM,
writes the programs of `PRINTED` there as TVM prints them."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import erf
from pathlib import Path
from typing import Any

import numpy as np

Arrays = Sequence[Any]


@dataclass(frozen=True)
class RelaxProgram:
    """The text of the functions of a module, the shapes of inputs (with dtype int32 or bool behind a `:`), and numpy's
    function."""

    text: str
    shapes: Sequence[str]
    reference: Callable[..., Any]

    def inputs(self, seed: int = 0) -> list[Any]:
        """Return random inputs: small integers for int dtypes, normal numbers for floats."""
        rng = np.random.default_rng(seed)
        arrays: list[Any] = []
        for described in self.shapes:
            shape, _, dtype = described.partition(":")
            extents = [int(extent) for extent in shape.split(",") if extent]
            if dtype in ("", "float32"):
                arrays.append(rng.standard_normal(extents).astype(np.float32))
            elif dtype == "bool":
                arrays.append(np.asarray(rng.integers(0, 2, extents)).astype(bool))
            else:
                arrays.append(np.asarray(rng.integers(0, 4, extents)).astype(dtype))
        return arrays

    def module(self) -> str:
        """Return the text of a module, with a size `n` declared before it."""
        lines = "\n".join(f"    {line}" if line else "" for line in self.text.strip().splitlines())
        return f'n = TypeVar("n")\n\n@I.ir_module\nclass Module:\n{lines}\n'


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _erf(x: Any) -> Any:
    return np.vectorize(erf)(x)


def _conv(x: Any, w: Any, stride: int = 1, pad: int = 0, groups: int = 1) -> Any:
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    n, _, h, width = x.shape
    o, i, k, across = w.shape
    out = np.zeros((n, o, (h - k) // stride + 1, (width - across) // stride + 1))
    for f in range(o):
        first = f // (o // groups) * i
        for y in range(out.shape[2]):
            for z in range(out.shape[3]):
                part = x[:, first : first + i, y * stride : y * stride + k, z * stride : z * stride + across]
                out[:, f, y, z] = (part * w[f]).sum((1, 2, 3))
    return out


def _pool(x: Any, size: int, stride: int, reduce: Any) -> Any:
    n, c, h, w = x.shape
    rows, columns = (h - size) // stride + 1, (w - size) // stride + 1
    out = np.zeros((n, c, rows, columns))
    for y in range(rows):
        for z in range(columns):
            out[:, :, y, z] = reduce(x[:, :, y * stride : y * stride + size, z * stride : z * stride + size], (2, 3))
    return out


def _normalised(x: Any, axes: tuple[int, ...], eps: float = 1e-5) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def _attention(q: Any, k: Any, v: Any) -> Any:
    q, k, v = (np.transpose(part, (0, 2, 1, 3)) for part in (q, k, v))
    return np.transpose(_softmax(q @ np.swapaxes(k, 2, 3) / np.sqrt(q.shape[-1])) @ v, (0, 2, 1, 3))


def _function(params: str, body: str, name: str = "main") -> str:
    """The text of a function: parameters as `x: (2, 3) float32`, and a body of a dataflow block and its result."""
    typed: list[str] = []
    for param in params.split("; "):
        label, _, type_ = param.partition(": ")
        shape, _, dtype = type_.rpartition(" ")
        typed.append(f'{label}: R.Tensor({shape}, dtype="{dtype}")')
    lines = [line.strip() for line in body.strip().splitlines()]
    result = lines[-1].partition(" = ")[0]
    flow = "\n".join(f"        {line}" for line in lines)
    head = f"@R.function\ndef {name}({', '.join(typed)}):\n    with R.dataflow():"
    return f"{head}\n{flow}\n        R.output({result})\n    return {result}"


def _flow(params: str, body: str, shapes: str, reference: Callable[..., Any]) -> RelaxProgram:
    return RelaxProgram(_function(params, body), shapes.split("; "), reference)


F = "float32"
PRINTED: dict[str, RelaxProgram] = {
    "mlp": _flow(
        f"x: (n, 4) {F}; w: (4, 8) {F}; b: (8,) {F}",
        "a = R.matmul(x, w)\nb1 = R.add(a, b)\nc = R.nn.relu(b1)\ngv = R.nn.softmax(c, axis=1)",
        "3,4; 4,8; 8",
        lambda x, w, b: _softmax(np.maximum(x @ w + b, 0), 1),
    ),
    "linear": _flow(
        f"x: (2, 3, 4) {F}; w: (5, 4) {F}; b: (5,) {F}",
        "gv = R.linear(x, w, b)",
        "2,3,4; 5,4; 5",
        lambda x, w, b: x @ w.T + b,
    ),
    "batched": _flow(
        f"x: (2, 1, 3, 4) {F}; y: (5, 4, 6) {F}",
        "gv = R.matmul(x, y)",
        "2,1,3,4; 5,4,6",
        lambda x, y: x @ y,
    ),
    "vectors": _flow(f"x: (4,) {F}; y: (4,) {F}", "gv = R.matmul(x, y)", "4; 4", lambda x, y: x @ y),
    "conv": _flow(
        f"x: (1, 3, 8, 8) {F}; w: (6, 3, 3, 3) {F}",
        "a = R.nn.conv2d(x, w, strides=(2, 2), padding=(1, 1))\ngv = R.nn.relu(a)",
        "1,3,8,8; 6,3,3,3",
        lambda x, w: np.maximum(_conv(x, w, 2, 1), 0),
    ),
    "grouped": _flow(
        f"x: (1, 4, 6, 6) {F}; w: (8, 2, 3, 3) {F}",
        "gv = R.nn.conv2d(x, w, groups=2)",
        "1,4,6,6; 8,2,3,3",
        lambda x, w: _conv(x, w, groups=2),
    ),
    "pools": _flow(
        f"x: (1, 2, 6, 6) {F}",
        "a = R.nn.max_pool2d(x, pool_size=(2, 2), strides=(2, 2))\n"
        "b = R.nn.avg_pool2d(x, pool_size=(2, 2), strides=(2, 2))\ngv = R.add(a, b)",
        "1,2,6,6",
        lambda x: _pool(x, 2, 2, np.max) + _pool(x, 2, 2, np.mean),
    ),
    "layer_norm": _flow(
        f"x: (n, 8) {F}; g: (8,) {F}; b: (8,) {F}",
        "gv = R.nn.layer_norm(x, g, b, axes=[-1])",
        "5,8; 8; 8",
        lambda x, g, b: _normalised(x, (1,)) * g + b,
    ),
    "group_norm": _flow(
        f"x: (2, 4, 3, 3) {F}; g: (4,) {F}; b: (4,) {F}",
        "gv = R.nn.group_norm(x, g, b, num_groups=2, channel_axis=1, axes=[2, 3])",
        "2,4,3,3; 4; 4",
        lambda x, g, b: _normalised(x.reshape(2, 2, -1), (2,)).reshape(x.shape) * g[:, None, None] + b[:, None, None],
    ),
    "batch_norm": _flow(
        f"x: (2, 3, 4, 4) {F}; g: (3,) {F}; b: (3,) {F}; m: (3,) {F}; v: (3,) {F}",
        "v1 = R.abs(v)\na = R.nn.batch_norm(x, g, b, m, v1, axis=1, training=False)\ngv = a[0]",
        "2,3,4,4; 3; 3; 3; 3",
        lambda x, g, b, m, v: (
            (x - m[:, None, None]) / np.sqrt(abs(v) + 1e-5)[:, None, None] * g[:, None, None] + b[:, None, None]
        ),
    ),
    "gelu": _flow(f"x: (3, 4) {F}", "gv = R.nn.gelu(x)", "3,4", lambda x: x * (0.5 + 0.5 * _erf(x / np.sqrt(2)))),
    "activations": _flow(
        f"x: (3, 4) {F}",
        "a = R.nn.silu(x)\nb = R.nn.leakyrelu(a, alpha=0.2)\nc = R.clip(b, -0.5, 1.5)\ngv = R.tanh(c)",
        "3,4",
        lambda x: np.tanh(np.clip(np.where(x > 0, x * _sigmoid(x), 0.2 * x * _sigmoid(x)), -0.5, 1.5)),
    ),
    "reductions": _flow(
        f"x: (2, 3, 4) {F}",
        "a = R.sum(x, axis=[1], keepdims=True)\nb = R.mean(x, axis=[1], keepdims=True)\nc = R.max(x, axis=1, "
        "keepdims=True)\nd = R.variance(x, axis=[1], keepdims=True)\ne = R.add(a, b)\nf = R.multiply(c, d)\n"
        "gv = R.subtract(e, f)",
        "2,3,4",
        lambda x: (
            x.sum(1, keepdims=True) + x.mean(1, keepdims=True) - x.max(1, keepdims=True) * x.var(1, keepdims=True)
        ),
    ),
    "argmax": _flow(f"x: (3, 5) {F}", "gv = R.argmax(x, axis=1)", "3,5", lambda x: x.argmax(1)),
    "shapes": _flow(
        f"x: (n, 4) {F}",
        "a = R.reshape(x, R.shape([n * 2, 2]))\nb = R.permute_dims(a, axes=[1, 0])\nc = R.expand_dims(b, axis=[0, 3])\n"
        "d = R.squeeze(c, axis=[0])\ngv = R.concat((d, d), axis=0)",
        "3,4",
        lambda x: np.concatenate([x.reshape(-1, 2).T[..., None]] * 2),
    ),
    "pieces": _flow(
        f"x: (6, 4) {F}",
        "a = R.split(x, indices_or_sections=3, axis=0)\nb = a[0]\nc = a[2]\nd = R.stack((b, c), axis=1)\n"
        "gv = R.flip(d, axis=0)",
        "6,4",
        lambda x: np.stack([x[:2], x[4:]], 1)[::-1],
    ),
    "picked": _flow(
        f"x: (5, 4) {F}; i: (3,) int32",
        "a = R.take(x, i, axis=0)\nb = R.strided_slice(a, (1,), (0,), (4,), (2,))\ngv = R.cumsum(b, axis=0)",
        "5,4; 3:int32",
        lambda x, i: x[i][:, ::2].cumsum(0),
    ),
    "topk": _flow(
        f"x: (3, 6) {F}",
        "a = R.topk(x, k=2, axis=1)\nb = a[0]\nc = R.sort(x, axis=1, descending=True)\n"
        "d = R.strided_slice(c, (1,), (0,), (2,))\ngv = R.add(b, d)",
        "3,6",
        lambda x: 2 * -np.sort(-x, 1)[:, :2],
    ),
    "constants": _flow(
        f"x: (2, 3) {F}",
        'a = R.multiply(x, R.const([[1.0, 2.0, 3.0]], "float32"))\n'
        'b = R.add(a, R.const([[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]], "float32"))\n'
        'c = R.full(R.shape([2, 3]), R.const(2.0, "float32"))\ngv = R.power(b, c)',
        "2,3",
        lambda x: (x * np.array([[1, 2, 3]]) + 0.5) ** 2,
    ),
    "attention": _flow(
        f"q: (1, 3, 2, 8) {F}; k: (1, 5, 2, 8) {F}; v: (1, 5, 2, 8) {F}",
        "gv = R.nn.attention(q, k, v)",
        "1,3,2,8; 1,5,2,8; 1,5,2,8",
        _attention,
    ),
}
"""Programs that TVM reads and prints."""

WRITTEN: dict[str, RelaxProgram] = {
    "branch": RelaxProgram(
        """
@R.function
def main(x: R.Tensor((3, 4), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((3, 4), "float32"):
    y = R.exp(x)
    if c:
        a = R.add(y, x)
        z = R.multiply(a, x)
    else:
        z = R.subtract(y, x)
    return z
""",
        ["3,4", ":bool"],
        lambda x, c: (np.exp(x) + x) * x if c else np.exp(x) - x,
    ),
    "calls": RelaxProgram(
        """
@R.function(private=True)
def twice(x: R.Tensor((n, 4), "float32")) -> R.Tensor((n, 4), "float32"):
    y = R.add(x, x)
    return y

@R.function
def main(x: R.Tensor((n, 4), "float32")):
    cls = Module
    with R.dataflow():
        lv: R.Tensor((n, 4), dtype="float32") = cls.twice(x)
        lv1 = Module.twice(lv)
        R.output(lv1)
    return lv1
""",
        ["3,4"],
        lambda x: 4 * x,
    ),
    "closure": RelaxProgram(
        """
@R.function
def main(x: R.Tensor((2, 4), "float32"), y: R.Tensor((2, 4), "float32")):
    @R.function
    def shifted(a: R.Tensor((2, 4), "float32")) -> R.Tensor((2, 4), "float32"):
        b = R.add(a, y)
        return b

    z = shifted(x)
    t = (z, shifted(z))
    return t
""",
        ["2,4", "2,4"],
        lambda x, y: (x + y, x + y + y),
    ),
    "older": RelaxProgram(
        """
@R.function
def main(x: R.Tensor(("m", 4), dtype="float32")) -> R.Tensor(("m * 4",), dtype="float32"):
    m = T.int64()
    R.func_attr({"num_input": 1})
    with R.dataflow():
        lv: R.Tensor((m * 4,), dtype="float32") = R.reshape(x, R.shape([m * 4]))
        lv1: R.Tensor((m * 4,), dtype="float32") = R.clip(lv, R.prim_value(0), R.prim_value(6))
        gv: R.Tensor((m * 4,), dtype="float32") = lv1
        R.output(gv)
    return gv
""",
        ["3,4"],
        lambda x: np.clip(x.reshape(-1), 0, 6),
    ),
    "older_matmul": RelaxProgram(
        """
@R.function
def main(x: R.Tensor((2, 3), dtype="float32"), w: R.Tensor((3, 5), dtype="float32")):
    lv = R.matmul(x, w, out_dtype="void")
    gv = R.astype(lv, dtype="float64")
    return gv
""",
        ["2,3", "3,5"],
        lambda x, w: (x @ w).astype(np.float64),
    ),
    "operators": _flow(
        f"x: (2, 3) {F}; y: (3,) {F}",
        "a = x + y\nb = a * x - y\ngv = -b / y",
        "2,3; 3",
        lambda x, y: -((x + y) * x - y) / y,
    ),
    "shape_value": _flow(
        f"x: (n, 6) {F}; y: (n, 2, 3) {F}",
        "s = R.shape_of(y)\na = R.reshape(x, s)\ngv = R.add(a, y)",
        "4,6; 4,2,3",
        lambda x, y: x.reshape(y.shape) + y,
    ),
    "masks": _flow(
        f"x: (4, 4) {F}; y: (4, 4) {F}",
        "a = R.greater(x, y)\nb = R.where(a, x, y)\nc = R.tril(b)\nd = R.triu(b, k=1)\ne = R.add(c, d)\n"
        "f = R.masked_fill(e, a, 2.0)\ngv = R.subtract(f, x)",
        "4,4; 4,4",
        lambda x, y: np.where(x > y, 2, np.where(x > y, x, y)) - x,
    ),
    "padded": _flow(
        f"x: (2, 3) {F}",
        'a = R.nn.pad(x, [0, 1, 2, 0], pad_mode="constant", pad_value=1.5)\nb = R.tile(a, [1, 2])\n'
        "gv = R.repeat(b, 2, axis=0)",
        "2,3",
        lambda x: np.repeat(np.tile(np.pad(x, ((0, 1), (2, 0)), constant_values=1.5), (1, 2)), 2, 0),
    ),
    "points": _flow(
        f"x: (3, 4) {F}; i: (5, 2) int32; u: (5,) {F}",
        'a = R.gather_nd(x, R.clip(i, 0, 2))\nb = R.scatter_nd(x, R.clip(i, 0, 2), u, reduction="add")\n'
        "gv = R.add(R.sum(a), R.sum(b))",
        "3,4; 5,2:int32; 5",
        lambda x, i, u: x[tuple(np.clip(i, 0, 2).T)].sum() + x.sum() + u.sum(),
    ),
    "gathered": _flow(
        f"x: (3, 4) {F}; i: (3, 2) int32",
        "a = R.gather_elements(x, i, axis=1)\nb = R.scatter_elements(a, R.zeros_like(R.clip(i, 0, 1)), a, axis=1)\n"
        "gv = R.strided_slice(b, (1,), (1,), (2,))",
        "3,4; 3,2:int32",
        lambda x, i: np.take_along_axis(x, i, 1)[:, 1:2],
    ),
    "one_hot": _flow(
        f"i: (4,) int32; x: (5,) {F}",
        'a = R.one_hot(i, R.prim_value(1), R.prim_value(0), depth=5, axis=-1)\nb = R.astype(a, "float32")\n'
        "gv = R.multiply(b, x)",
        "4:int32; 5",
        lambda i, x: np.eye(5)[i] * x,
    ),
    "filled": _flow(
        f"x: (2, 3) {F}",
        'a = R.zeros(R.shape([2, 3]), "float32")\nb = R.ones_like(x)\nc = R.arange(0, 3, 1, "float32")\n'
        'd = R.broadcast_to(c, R.shape([2, 3]))\ne = R.full_like(x, R.const(3.0, "float32"))\n'
        "gv = a + b * d + e + x",
        "2,3",
        lambda x: np.arange(3.0) + 3 + x,
    ),
    "training": _flow(
        f"x: (4, 3, 2) {F}; g: (3,) {F}; b: (3,) {F}; m: (3,) {F}; v: (3,) {F}",
        "a = R.nn.batch_norm(x, g, b, m, v, axis=1, momentum=0.25)\ngv = (a[0], a[1], a[2])",
        "4,3,2; 3; 3; 3; 3",
        lambda x, g, b, m, v: (
            _normalised(x, (0, 2)) * g[:, None] + b[:, None],
            0.75 * m + 0.25 * x.mean((0, 2)),
            0.75 * v + 0.25 * x.var((0, 2)),
        ),
    ),
    "norms": _flow(
        f"x: (2, 3, 4) {F}; g: (3,) {F}; b: (3,) {F}; w: (4,) {F}",
        "a = R.nn.instance_norm(x, g, b, channel_axis=1, axes=[2])\ngv = R.nn.rms_norm(a, w, axes=[-1])",
        "2,3,4; 3; 3; 4",
        lambda x, g, b, w: (
            (a := _normalised(x, (2,)) * g[:, None] + b[:, None]) / np.sqrt((a * a).mean(-1, keepdims=True) + 1e-5) * w
        ),
    ),
    "composed": _flow(
        f"x: (3, 4) {F}; y: (3, 4) {F}",
        "a = R.nn.gelu_tanh(x)\nb = R.nn.softplus(a)\nc = R.log_add_exp(b, y)\nd = R.square(c)\n"
        "e = R.ewise_fma(d, x, y)\nf = R.nn.relu6(e)\ng = R.nn.selu(y)\nh = R.std(g, axis=[1], keepdims=True)\n"
        "gv = R.add(f, h)",
        "3,4; 3,4",
        lambda x, y: (
            np.clip(
                np.logaddexp(np.log1p(np.exp(0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))), y)
                ** 2
                * x
                + y,
                0,
                6,
            )
            + (1.05070098735548 * np.where(y > 0, y, 1.6732632423543772 * (np.exp(y) - 1))).std(1, keepdims=True)
        ),
    ),
    "einsum": _flow(
        f"x: (2, 3) {F}; y: (3, 4) {F}",
        'a = R.einsum((x, y), "ij,jk->ik")\nb = R.outer(R.flatten(a), R.flatten(y))\ngv = R.sum(b, axis=[1])',
        "2,3; 3,4",
        lambda x, y: np.outer((x @ y).reshape(-1), y.reshape(-1)).sum(1),
    ),
    "quantized": _flow(
        f"x: (3, 4) {F}",
        'a = R.quantize(x, R.const(0.1, "float32"), R.const(3, "int32"), axis=-1, out_dtype="int8")\n'
        'gv = R.dequantize(a, R.const(0.1, "float32"), R.const(3, "int32"), axis=-1, out_dtype="float32")',
        "3,4",
        lambda x: ((np.clip(np.round(x / np.float32(0.1)) + 3, -128, 127)) - 3) * np.float32(0.1),
    ),
    "causal": _flow(
        f"q: (1, 4, 2, 8) {F}; k: (1, 4, 2, 8) {F}; v: (1, 4, 2, 8) {F}",
        'a = R.nn.attention(q, k, v, causal_mask="TopLeft")\ngv = R.strided_slice(a, (1,), (0,), (1,))',
        "1,4,2,8; 1,4,2,8; 1,4,2,8",
        lambda q, k, v: v[:, :1],
    ),
    "transposed": _flow(
        f"x: (1, 2, 3, 3) {F}; w: (2, 1, 2, 2) {F}",
        "a = R.nn.conv2d_transpose(x, w, strides=(2, 2))\nb = R.nn.adaptive_avg_pool2d(a, output_size=[1, 1])\n"
        "gv = R.nn.batch_flatten(b)",
        "1,2,3,3; 2,1,2,2",
        lambda x, w: np.einsum("nchw,cokl->no", x, w)[:, :] / 36,
    ),
}
"""Programs that somebody wrote, in both spellings."""


def main() -> None:
    """Write the texts that TVM prints."""
    from typing import TypeVar

    script: Any = import_module("tvm.script")
    words = {letter: getattr(script, name) for letter, name in (("I", "ir"), ("R", "relax"), ("T", "tirx"))}
    for name, program in PRINTED.items():
        # TVM does not read the size before the module, although it prints it.
        text = program.module().partition("\n\n")[2]
        module = script.from_source(text, extra_vars={**words, "n": TypeVar("n")})
        (Path(sys.argv[1]) / f"{name}.txt").write_text(module.script(show_meta=True) + "\n")


if __name__ == "__main__":
    main()
