"""Networks to fuse, and the check that every fused module has to pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TensorType, f32
from xdsl.ir import SSAValue

from whence.dialects.relay import nn
from whence.dialects.relay.attributes import Value
from whence.dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from whence.dialects.relay.interpret import evaluate_module
from whence.dialects.relay.operator import Operator, OpPattern, shape_of
from whence.passes.relay.fuse_ops import FuseOpsPass
from whence.provenance.audit import check_explained, check_located, surviving_leaves
from whence.provenance.ledger import Ledger, recording
from whence.provenance.span import layer_location, layer_names

Array = npt.NDArray[Any]


class Net:
    """Builds a `@main`; every op is a layer named after its operator and a count: `relu_0`."""

    def __init__(self, *shapes: tuple[int, ...]):
        types = [TensorType(f32, shape) for shape in shapes]
        self.func = FuncOp("main", types, [], location=layer_location("main", "net", 0))
        self.module = ModuleOp([self.func])
        self.inputs: list[SSAValue] = list(self.func.block.args)
        for index, argument in enumerate(self.func.block.args):
            argument.location = layer_location(f"input_{index}", "net", 0)
        self.count = 0
        self.seen: dict[str, int] = {}

    def _place(self, op: Any) -> Any:
        kind = op.name.split(".")[-1]
        number = self.seen[kind] = self.seen.get(kind, -1) + 1
        op.location = layer_location(f"{kind}_{number}", "net", self.count)
        self.count += 1
        self.func.block.add_op(op)
        return op

    def constant(self, array: Any) -> SSAValue:
        return self._place(ConstantOp.of(np.asarray(array), self.module, f"w{self.count}")).result

    def weight(self, *shape: int) -> SSAValue:
        return self.constant(np.random.default_rng(self.count).standard_normal(shape).astype(np.float32))

    def scalar(self, value: float) -> SSAValue:
        return self.constant(np.float32(value))

    def all(self, kind: type[Operator], *operands: SSAValue, **attributes: Value) -> list[SSAValue]:
        build: Any = kind
        return list(self._place(build(*operands, **attributes)).results)

    def add(self, kind: type[Operator], *operands: SSAValue, **attributes: Value) -> SSAValue:
        return self.all(kind, *operands, **attributes)[0]

    def conv(self, x: SSAValue, outputs: int = 4) -> SSAValue:
        return self.add(nn.Conv2DOp, x, self.weight(outputs, shape_of(x)[1], 1, 1))

    def done(self, *values: SSAValue) -> ModuleOp:
        last = ReturnOp(*values)
        last.location = layer_location("return", "net", self.count)
        self.func.block.add_op(last)
        self.func.update_type()
        self.module.verify()
        return self.module


def functions(module: ModuleOp) -> dict[str, FuncOp]:
    return {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}


def fuse(module: ModuleOp, **options: int) -> list[str]:
    """Run the pass; check what it promises of every module. Returns the kernels in the order of the calls."""
    rng = np.random.default_rng(3)
    main = functions(module)["main"]
    inputs = [rng.standard_normal(shape_of(arg)).astype(np.float32) for arg in main.block.args]
    expected: list[Any] = list(evaluate_module(module, inputs))
    before, ledger = surviving_leaves(module), Ledger()
    count = sum(isinstance(op, Operator) for op in main.block.ops)
    with recording(ledger, FuseOpsPass.name):
        FuseOpsPass(**options).apply(Context(), module)
    module.verify()
    check_located(module, FuseOpsPass.name)
    check_explained(before, module, FuseOpsPass.name, ledger)
    assert surviving_leaves(module) == before
    computed: list[Any] = list(evaluate_module(module, inputs))
    for mine, wanted in zip(computed, expected, strict=True):
        np.testing.assert_array_equal(mine, wanted)

    assert all(isinstance(op, CallOp | ConstantOp | ReturnOp) for op in main.block.ops)
    calls = [op for op in main.block.ops if isinstance(op, CallOp)]
    kernels = [name for name, func in functions(module).items() if func.primitive is not None]
    names = [call.callee.string_value() for call in calls]
    assert names == kernels, "each kernel has one call, and they stand in the same order"
    for call in calls:
        kernel = functions(module)[call.callee.string_value()]
        body = operators(kernel)
        count -= len(body)
        assert len(body) <= options.get("max_depth", 256)
        assert sum(heavy(op) for op in body) <= 1, "two operators with loops of their own in one kernel"
        assert call.location == kernel.location
        assert layer_names(kernel.location)[0] == layer_names(kernel.return_op.location)[0]
        assert set(layer_names(kernel.location)) == {n for op in body for n in layer_names(op.location)}
        assert [arg.name_hint for arg in kernel.block.args] == [f"p{i}" for i in range(len(kernel.block.args))]
        assert len(set(call.arguments)) == len(call.arguments)
    assert count == 0, "an operator is missing"
    return names


def operators(func: FuncOp) -> list[Operator]:
    return [op for op in func.block.ops if isinstance(op, Operator)]


def heavy(op: Operator) -> bool:
    return type(op).pattern() in (OpPattern.OUT_ELEMWISE_FUSABLE, OpPattern.COMM_REDUCE)
