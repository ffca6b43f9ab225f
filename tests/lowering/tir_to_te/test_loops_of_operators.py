# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
"""Loops of operators, without a schedule, as somebody would write them: raised, they compute what the operator does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import whence
from whence import relay
from whence.dialects.located_parser import LocatedParser
from whence.dialects.relay.signature import as_tensor
from whence.dialects.sizes.types import extents_of
from whence.dialects.te import FuncOp
from whence.lowering.te_to_tir.lower import lower_schedule
from whence.lowering.tir_to_te.raising import raised
from whence.reading.textio import context
from whence.te.schedule.schedule import Schedule

OPERATORS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "dense": (relay.nn.dense, [(6, 32), (16, 32)]),
    "batch_matmul": (relay.nn.batch_matmul, [(2, 6, 8), (2, 5, 8)]),
    "conv2d": (lambda x, w: relay.nn.conv2d(x, w, padding=(1, 1)), [(1, 16, 8, 8), (16, 16, 3, 3)]),
    "softmax": (relay.nn.softmax, [(5, 33)]),
    "max_pool2d": (lambda x: relay.nn.max_pool2d(x, (3, 3), (2, 2), (1, 1)), [(1, 4, 9, 9)]),
    "mean": (lambda x: relay.mean(x, axis=[1]), [(7, 40)]),
    "transpose": (lambda x: relay.transpose(x, (2, 0, 1)), [(3, 4, 5)]),
    "concatenate": (lambda x, y: relay.concatenate([x, y], axis=1), [(3, 4), (3, 6)]),
    "strided_slice": (lambda x: relay.strided_slice(x, [1, 0], [6, 9], [2, 3]), [(7, 9)]),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_loops_of_an_operator_compute_what_it_does(name: str) -> None:
    operator, shapes = OPERATORS[name]
    variables = [relay.var(f"x{number}", shape=shape) for number, shape in enumerate(shapes)]
    module = whence.IRModule.from_expr(relay.Function(variables, operator(*variables)))
    with whence.PassContext(opt_level=0):
        exe = whence.compile(module, target="llvm -mcpu=x86-64-v3")
    assert len(exe.artifact.kernels) == 1
    parsed = LocatedParser(context(), exe.get_source(0, "te"), f"{name}.mlir").parse_module()
    assert isinstance(parsed, ModuleOp)
    (func,) = (op for op in parsed.ops if isinstance(op, FuncOp))
    for compute in func.computes:
        compute.attributes.clear()
    loops = lower_schedule(Schedule(func))
    assert raised(loops).computes
    arrays = [np.random.default_rng(0).standard_normal(shape).astype(np.float32) for shape in shapes]
    wanted = np.asarray(exe(*arrays))
    # Kernels join axes that stay together.
    given = [
        array.reshape(extents_of(as_tensor(argument))) for array, argument in zip(arrays, func.block.args, strict=True)
    ]
    found = np.asarray(whence.build(loops)(*given))
    np.testing.assert_allclose(found.reshape(wanted.shape), wanted, rtol=1e-4, atol=1e-5)
