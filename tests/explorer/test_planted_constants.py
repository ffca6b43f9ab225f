"""Each layer of a model has a constant that no other has: code that reads it names no other layer.

What is read, and the line that the object says, is what other tools read from the object's bytes.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from disassembly import HAS_TOOLS, disassembled
from onnx import ModelProto, NodeProto, helper, numpy_helper

import whence
from whence.explorer.code import kernel_of, line_location, machine_code
from whence.lowering.llvm_to_native.target import Target
from whence.provenance.span import layer_names

Array = np.ndarray[Any, np.dtype[Any]]
FLOATS = ("Add", "Max", "Mul", "Min")
INTEGERS = ("Mul", "BitwiseXor")
"""Of others LLVM makes fewer, all with one line: see docs/debugging.md."""
QUANTISED = ("QuantizeLinear", "DequantizeLinear", "Add")


def planted(
    kind: str, shape: tuple[int, ...], operators: tuple[str, ...], count: int
) -> tuple[ModelProto, list[Array]]:
    """A chain of layers `layer0`, `layer1`, .., and the constant of each."""
    rng = Random(count)
    dtype: np.dtype[Any] = np.dtype(kind)
    constants: dict[bytes, Array] = {}
    while len(constants) < count:
        value = rng.uniform(0.25, 1.5) if dtype.kind == "f" else rng.randrange(2**16 + 1, 2**30, 2)
        constant: Array = np.asarray(value, dtype)
        constants[constant.tobytes()] = constant
    values = list(constants.values())
    nodes: list[NodeProto] = []
    for number in range(count):
        operator = operators[number % len(operators)]
        inputs = [f"y{number - 1}" if number else "x", f"c{number}"]
        nodes.append(helper.make_node(operator, inputs, [f"y{number}"], name=f"layer{number}"))
    element: int = helper.np_dtype_to_tensor_dtype(dtype)
    graph = helper.make_graph(
        nodes,
        "planted",
        [helper.make_tensor_value_info("x", element, shape)],
        [helper.make_tensor_value_info(f"y{count - 1}", element, shape)],
        [numpy_helper.from_array(value, f"c{number}") for number, value in enumerate(values)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), values


def planted_lines(model: ModelProto, constants: list[Array], folder: Path) -> Counter[str]:
    """The number of instructions that read a planted constant: exact ones, inferred ones, and others.

    Fails for one that names another layer.
    """
    exe = whence.compile(model, threads=1)
    layer_of = {constant.tobytes(): f"layer{number}" for number, constant in enumerate(constants)}
    size = constants[0].nbytes
    counts = Counter[str]()
    path = folder / "kernel.o"
    for call in exe.artifact.calls:
        kernel = kernel_of(exe.artifact, call.kernel)
        path.write_bytes(kernel.object)
        code, reads = machine_code(kernel), disassembled(path)
        assert [one.mnemonic for one in reads] == [one.text.split()[0] for one in code]
        for read, instruction in zip(reads, code, strict=True):
            if (layer := layer_of.get(read.constant[:size])) is None:
                continue
            # What a debugger reads from the object itself.
            assert read.line == instruction.line, instruction
            claimed = layer_names(line_location(kernel, instruction.line, call.layers))
            assert claimed in ((layer,), ()), (instruction, layer)
            counts["none" if not claimed else "exact" if instruction.exact else "inferred"] += 1
    return counts


@pytest.mark.skipif(not HAS_TOOLS, reason="no tools to read objects")
@pytest.mark.skipif("x86_64" not in Target.native().triple, reason="code for x86-64")
def test_a_planted_constant_names_no_other_layer(tmp_path: Path):
    counts = Counter[str]()
    for kind, shape, operators, count in (
        ("float32", (4, 64), FLOATS, 64),
        ("float32", (1,), FLOATS, 64),
        ("float32", (3, 5), FLOATS, 32),
        ("float64", (8, 8), FLOATS, 32),
        ("float32", (4, 64), QUANTISED, 48),
        ("int32", (4, 64), INTEGERS, 48),
        ("int32", (1,), INTEGERS, 32),
        ("int64", (3, 5), INTEGERS, 32),
    ):
        counts += planted_lines(*planted(kind, shape, operators, count), tmp_path)
    assert counts["exact"] + counts["inferred"] >= 300
    assert counts["none"] == 0
