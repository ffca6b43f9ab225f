"""Compiled programs as calls of kernels of tir."""

from __future__ import annotations

from io import StringIO
from typing import Any

import numpy as np
import pytest
from named_networks import NETWORKS
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

import whence
from whence import relay
from whence.dialects.located_parser import LocatedParser
from whence.dialects.relay.call_tir import calls_of
from whence.dialects.tir import SCHEDULED, prim_funcs
from whence.executables.executable import Executable
from whence.lowering.kernel.outline import OutlinePass
from whence.passes.pipelines import run_passes
from whence.provenance.ledger import Ledger
from whence.provenance.numbers import same_module
from whence.provenance.span import leaf_name, leaves
from whence.reading.textio import context
from whence.tir.function import PrimFunc


def outlined(exe: Executable) -> ModuleOp:
    """The module of a compiled program after the pass, of which every op and every layer is accounted for."""
    module = same_module(exe.artifact.snapshots[-1].module)
    run_passes(module, [OutlinePass()], ledger=Ledger(), audit=True)
    module.verify()
    return module


def outputs(exe: Executable, *arrays: Any) -> list[Any]:
    found: Any = exe(*arrays)
    results: list[Any] = list(found) if isinstance(found, tuple | list) else [found]  # pyright: ignore[reportUnknownArgumentType]
    return [np.asarray(each) for each in results]


def inputs_of(exe: Executable) -> list[Any]:
    rng = np.random.default_rng(0)
    arrays: list[Any] = []
    for spec in exe.inputs:
        shape = [2 if extent < 0 else extent for extent in spec.shape]
        whole = np.dtype(spec.dtype).kind in "iub"
        arrays.append((rng.integers(0, 10, shape) if whole else rng.standard_normal(shape)).astype(spec.dtype))
    return arrays


def small() -> Executable:
    x, w = relay.var("x", shape=(4, 8)), relay.const(np.arange(24, dtype="float32").reshape(3, 8))
    return whence.compile(whence.IRModule.from_expr(relay.Function([x], relay.nn.softmax(relay.nn.dense(x, w)))))


NAMES = (
    "mobilenet_v3",
    "mobilenet_v3.qdq",
    "efficientnet",
    "gpt2",
    "whisper",
    "lstm",
    "bert",
    "vit.qdq",
    "unet",
    "unet.qop",
)


@pytest.mark.parametrize("name", NAMES)
def test_an_outlined_network_gives_the_same_bits(name: str):
    exe = whence.compile(NETWORKS[name]())
    module = outlined(exe)
    calls = list(calls_of(module))
    assert len(calls) >= len(list(prim_funcs(module))) > 5
    assert not any(op.name == "relay.call" for op in module.walk())
    again = whence.compile(module, audit=True)
    assert again.choice.kind == exe.choice.kind
    arrays = inputs_of(exe)
    for one, other in zip(outputs(exe, *arrays), outputs(again, *arrays), strict=True):
        np.testing.assert_array_equal(one, other)


def test_layers_are_kept():
    exe = whence.compile(NETWORKS["lstm"]())
    module = outlined(exe)
    known = {leaf_name(leaf) for op in exe.artifact.snapshots[-1].module.walk() for leaf in leaves(op.location)}
    for kernel in prim_funcs(module):
        assert SCHEDULED in kernel.attributes
        for op in kernel.walk():
            assert {leaf_name(leaf) for leaf in leaves(op.location)} <= known
            assert list(leaves(op.location)), op.name


def test_kernels_print_as_tvmscript_and_are_read_back():
    module = outlined(small())
    for kernel in prim_funcs(module):
        text = PrimFunc.of(kernel.clone()).script()
        assert whence.script.from_source(text, file="kernel.py").script() == text


def test_the_text_of_an_outlined_module_is_compiled():
    exe = small()
    stream = StringIO()
    Printer(stream, print_debuginfo=True).print_op(outlined(exe))
    module = LocatedParser(context(), stream.getvalue(), "out.mlir").parse_module()
    x = np.random.default_rng(0).standard_normal((4, 8)).astype("float32")
    # Weights are not in the text.
    module.attributes.update(exe.artifact.snapshots[-1].module.attributes)
    np.testing.assert_array_equal(whence.compile(module)(x), exe(x))


def test_joined_axes_are_reshaped_around_the_call():
    x = relay.var("x", shape=(5, 3))
    exe = whence.compile(whence.IRModule.from_expr(relay.Function([x], relay.exp(x))))
    module = outlined(exe)
    assert [op.name for op in module.walk() if op.name.startswith("relay.") and op.name != "relay.func"] == [
        "relay.reshape",
        "relay.call_tir",
        "relay.reshape",
        "relay.return",
    ]
    data = np.random.default_rng(0).standard_normal((5, 3)).astype("float32")
    np.testing.assert_array_equal(whence.compile(module)(data), exe(data))


def test_a_size_that_no_operand_tells_is_given():
    text = (
        '#[version = "0.0.5"]\ndef @main(%x: Tensor[(n, 4), float32]) {\n  full(1f, shape=[n, 2], dtype="float32")\n}'
    )
    exe = whence.compile(relay.fromtext(text))
    module = outlined(exe)
    (call,) = calls_of(module)
    assert " sizes #relay.sizes<n>" in str(call)
    for rows in (1, 3):
        np.testing.assert_array_equal(whence.compile(module)(np.zeros((rows, 4), "float32")), np.ones((rows, 2)))
