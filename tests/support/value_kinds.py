"""Values of every kind for inputs of every dtype of every kind of program: numpy's cast of them, or one error.

    python tests/support/value_kinds.py [--cases 3000] [--seed 0]

A program gives back what it takes. A case is a program, the dtype of its input, numbers, the dtype in which they come,
and a kind of value that holds them: arrays of all layouts and byte orders, buffers, lists, and objects with
`__array__`, `__array_interface__` or `__dlpack__`; torch's tensors and JAX's arrays where these are installed. The rule
is computed with Python's own numbers, apart from the runtime's. The exit code is 1 when any case differs.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper

import whence
from whence import relay
from whence.support.errors import FrontendError

Array = NDArray[Any]
Run = Callable[[Any], Any]
SHAPE = (2, 3)

DTYPES = {
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
    "int64": TensorProto.INT64,
    "int32": TensorProto.INT32,
    "int16": TensorProto.INT16,
    "int8": TensorProto.INT8,
    "uint64": TensorProto.UINT64,
    "uint32": TensorProto.UINT32,
    "uint16": TensorProto.UINT16,
    "uint8": TensorProto.UINT8,
    "bool": TensorProto.BOOL,
}
PROGRAMS = ("static", "sized", "interpreted", "virtual machine", "loaded", "graph", "in order")


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def identity(name: str, rows: int | str) -> Any:
    """A model that gives back an array of (rows, 3)."""
    values = [helper.make_tensor_value_info(which, DTYPES[name], [rows, 3]) for which in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"], "same")], "same", values[:1], values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


@cache
def program(kind: str, name: str) -> Run:
    """A function of one value, which gives back what a program of a kind takes it for."""
    if kind in ("sized", "interpreted"):
        executable = whence.compile(identity(name, "n"), tier="static" if kind == "interpreted" else "symbolic")
        return lambda value: executable.run({"x": value})["y"]
    if kind == "virtual machine":
        x, condition = relay.var("x", shape=SHAPE, dtype=name), relay.var("c", shape=(), dtype="bool")
        either = relay.Function([condition, x], relay.If(condition, x, relay.zeros(SHAPE, name)))
        machine = whence.compile(whence.IRModule.from_expr(either).module)
        return lambda value: machine(True, value)
    static = whence.compile(identity(name, 2))
    if kind == "static":
        return lambda value: static.run({"x": value})["y"]
    if kind == "in order":
        return static
    with tempfile.TemporaryDirectory() as folder:
        static.export_library(path := Path(folder) / "same.tar")
        loaded: Any = whence.runtime.load_module(path)
    if kind == "loaded":
        return lambda value: loaded.run({"x": value})["y"]
    module: Any = loaded["default"](whence.cpu())

    def graph(value: Any) -> Any:
        module.set_input("x", value)
        module.run()
        return module.get_output(0).numpy()

    return graph


class Held:
    """An array behind one attribute."""

    def __init__(self, held: Array, attribute: str):
        if attribute == "__array_interface__":
            self.__array_interface__ = held.__array_interface__
        self.held = held


class WithArray(Held):
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.held if dtype is None else self.held.astype(dtype)


class WithCapsule(Held):
    def __dlpack__(self, **options: Any) -> Any:
        return self.held.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return self.held.__dlpack_device__()


def misaligned(numbers: Array) -> Array:
    raw = np.frombuffer(b"\0" + np.ascontiguousarray(numbers).tobytes(), np.uint8)
    return raw[1:].view(numbers.dtype).reshape(numbers.shape)


def of_torch(numbers: Array) -> Any:
    torch: Any = import_module("torch")
    if numbers.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(numbers.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(numbers.copy())


def of_jax(numbers: Array) -> Any:
    jax: Any = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    return jax.numpy.asarray(numbers)


def rows_of(numbers: Array) -> tuple[Any, ...]:
    return tuple(tuple(row) for row in numbers.tolist())


def buffer_of(numbers: Array) -> memoryview:
    return np.ascontiguousarray(numbers).data


KINDS: dict[str, Callable[[Array], Any]] = {
    "array": lambda numbers: numbers,
    "fortran": np.asfortranarray,
    "strided": lambda numbers: np.repeat(numbers, 2, axis=1)[:, ::2],
    "backwards": lambda numbers: np.ascontiguousarray(numbers[::-1])[::-1],
    "misaligned": misaligned,
    "big-endian": lambda numbers: numbers.astype(numbers.dtype.newbyteorder(">")),
    "read-only": lambda numbers: np.broadcast_to(numbers, numbers.shape),
    "list": lambda numbers: numbers.tolist(),
    "tuple": rows_of,
    "rows": list,
    "buffer": buffer_of,
    "__array__": lambda numbers: WithArray(numbers, "__array__"),
    "__array_interface__": lambda numbers: Held(numbers, "__array_interface__"),
    "__dlpack__": lambda numbers: WithCapsule(numbers, "__dlpack__"),
    "None": lambda numbers: [*numbers.tolist()[:-1], [None, *numbers.tolist()[-1][1:]]],
    "text": lambda numbers: [[str(number) for number in row] for row in numbers.tolist()],
    "ragged": lambda numbers: [*numbers.tolist(), [1]],
    **({"torch": of_torch} if find_spec("torch") else {}),
    **({"jax": of_jax} if find_spec("jax") else {}),
}
BARE = ("list", "tuple")
DEFAULTS = ("int64", "uint64", "float64")
NEVER = ("None", "text", "ragged")
NO_BFLOAT = ("buffer", "__array_interface__", "__dlpack__", "big-endian")
"""Kinds that have no way to say bfloat16."""


def holds(number: Any, name: str) -> bool:
    """Return whether a dtype holds a number, which is rounded there."""
    if name.startswith(("int", "uint")):
        bits = int(name.lstrip("uint"))
        low, high = (0, 1 << bits) if name.startswith("u") else (-(1 << bits - 1), 1 << bits - 1)
        return low <= number < high
    if not math.isfinite(number):
        return True
    greatest = float(cast(Any, ml_dtypes.finfo(dtype_of(name))).max)
    # Up to half a step above it, numbers are rounded down.
    bits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}[name]
    return name == "float64" or abs(number) < greatest + greatest / (2.0**bits - 1) / 2


def expected(kind: str, numbers: Array, name: str) -> Array | None:
    """The array that a program of a dtype takes numbers for; None where they are refused."""
    source, target = numbers.dtype, dtype_of(name)
    if kind in NEVER:
        return None
    flat = numbers.reshape(-1).tolist()
    bare = kind in BARE or (kind == "rows" and source.name in DEFAULTS)
    if bare and source.kind != "b":
        is_float = source.kind not in "iu"
        if name == "bool" or (is_float and name.startswith(("int", "uint"))):
            return None
        fits = all(holds(number, name) for number in flat)
        with np.errstate(over="ignore"):
            return np.array(flat, np.float64 if is_float else source).astype(target).reshape(SHAPE) if fits else None
    by_value = (source == np.float64 and "float" in name) or (
        source.name in DEFAULTS and source.kind in "iu" and name.startswith(("int", "uint"))
    )
    if source == target or np.can_cast(source, target, "safe"):
        return numbers.astype(target)
    return numbers.astype(target) if by_value and all(holds(number, name) for number in flat) else None


_SMALL = [0, 1, 2, 3, 100, 127]
_LARGE = [-1, 255, 256, 32767, 65535, 2**31, 2**53 + 1, 2**63 - 1]
_FLOATS = [0.5, -1.25, 0.1, 65504.0, 65520.0, 1e30, 3.4028235e38, 3.5e38, 1e300, math.inf, -math.inf, math.nan, 1e-45]


def drawn(rng: np.random.Generator, source: str) -> Array:
    """Numbers of a dtype: small ones, or some of those at the ends of others."""
    dtype = dtype_of(source)
    ends: list[Any] = [*(_FLOATS if "float" in source else _LARGE)] if rng.integers(2) else []
    pool: list[Any] = [number for number in [*_SMALL, *ends] if source == "bool" or holds(number, source)]
    chosen: list[Any] = [pool[at] for at in rng.integers(0, len(pool), 6)]
    if "float" not in source:
        return np.array([int(number) for number in chosen], dtype).reshape(SHAPE)
    with np.errstate(over="ignore"):
        return np.array(chosen, np.float64).astype(dtype).reshape(SHAPE)


def problem(run: Run, kind: str, numbers: Array, name: str) -> str:
    """What is wrong with a call; "" if nothing is."""
    if dtype_of("bfloat16") == numbers.dtype and kind in NO_BFLOAT:
        return ""
    if kind in (*BARE, *NEVER) and numbers.dtype == np.float32:
        numbers = numbers.astype(np.float64)
    wanted = expected(kind, numbers, name)
    try:
        result = run(KINDS[kind](numbers))
    except FrontendError as error:
        text = str(error)
        return "" if wanted is None and "expected" in text and "got" in text else f"refused: {text}"
    if wanted is None:
        return f"taken: {result.tolist()}"
    same = result.dtype == wanted.dtype and result.tobytes() == wanted.tobytes()
    return "" if same else f"expected {wanted.tolist()} of {wanted.dtype}, got {result.tolist()} of {result.dtype}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, wrong, refusals = np.random.default_rng(options.seed), 0, 0
    for number in range(options.cases):
        kind, of, source, name = (
            str(rng.choice(choices)) for choices in (list(KINDS), PROGRAMS, list(DTYPES), list(DTYPES))
        )
        numbers = drawn(rng, source)
        refusals += expected(kind, numbers, name) is None
        if text := problem(program(of, name), kind, numbers, name):
            wrong += 1
            print(f"case {number}: {kind} of {source} {numbers.tolist()} for {name}, {of}: {text}", flush=True)
        if (number + 1) % 500 == 0:
            print(f"{number + 1} cases, {refusals} refused by the rule, {wrong} wrong", flush=True)
    print(f"{options.cases} cases, {refusals} refused by the rule, {wrong} wrong")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
