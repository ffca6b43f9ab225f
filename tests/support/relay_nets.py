"""Small networks, every layer of which has a location of its own, and passes held against what they compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from whence.dialects.element_types import tensor_type
from whence.dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from whence.dialects.relay.interpret import evaluate_module
from whence.dialects.relay.operator import Operator
from whence.passes.pipelines import run_passes
from whence.provenance.builder import LocatedBuilder
from whence.provenance.ledger import Ledger
from whence.provenance.span import layer_location, layer_names

Array = npt.NDArray[Any]


class Net:
    """`@main` with the given inputs. `net(cls, *operands, **attributes)` adds a layer; arrays become constants."""

    def __init__(self, *inputs: npt.NDArray[Any], seed: int = 0):
        self.arrays = list(inputs)
        self.rng = np.random.default_rng(seed)
        self.module = ModuleOp([])
        types = [tensor_type(array) for array in inputs]
        self.func = FuncOp("main", types, [], location=layer_location("main", "net", 0))
        self.module.body.block.add_op(self.func)
        self.builder = LocatedBuilder(self.func.block)
        self.inputs: list[SSAValue] = list(self.func.block.args)
        self.layers = 0

    def __call__(self, cls: type[Operator], *operands: SSAValue | npt.NDArray[Any], **attributes: Any) -> SSAValue:
        """The first result of a new layer."""
        return self.results(cls, *operands, **attributes)[0]

    def results(
        self, cls: type[Operator], *operands: SSAValue | npt.NDArray[Any], **attributes: Any
    ) -> Sequence[SSAValue]:
        self.layers += 1
        name = f"layer{self.layers}"
        values = [
            self.constant(operand, f"{name}.p{i}") if isinstance(operand, np.ndarray) else operand
            for i, operand in enumerate(operands)
        ]
        build: Callable[..., Operator] = cls
        with self.builder.located(layer_location(name, "net", self.layers)):
            return self.builder.add(build(*values, **attributes)).results

    def constant(self, array: npt.NDArray[Any], name: str) -> SSAValue:
        with self.builder.located(layer_location(name, "net", self.layers)):
            return self.builder.add(ConstantOp.of(array, self.module, name)).result

    def random(self, *shape: int) -> npt.NDArray[np.float32]:
        return self.rng.standard_normal(shape).astype(np.float32)

    def positive(self, *shape: int) -> npt.NDArray[np.float32]:
        return np.abs(self.random(*shape)) + np.float32(0.5)

    def finish(self, *results: SSAValue) -> ModuleOp:
        """Return `results` from `@main`."""
        with self.builder.located(layer_location("return", "net", 0)):
            self.builder.add(ReturnOp(*results))
        for argument in self.func.block.args:
            argument.location = layer_location(f"input{argument.index}", "net", 0)
        self.func.update_type()
        self.module.verify()
        return self.module


def main_of(module: ModuleOp) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")


def names(module: ModuleOp) -> list[str]:
    """The names of the operators of `@main`, without constants."""
    return [op.name.removeprefix("relay.") for op in main_of(module).block.ops if isinstance(op, Operator)]


def layers(module: ModuleOp) -> dict[str, list[tuple[str, ...]]]:
    """Name of an op of `@main` -> the layers of each such op, in order."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for op in main_of(module).block.ops:
        if isinstance(op, Operator | ConstantOp | CallOp):
            found.setdefault(op.name.removeprefix("relay."), []).append(layer_names(op.location))
    return found


def evaluated(net: Net) -> list[Array]:
    return cast(list[Array], evaluate_module(net.module, net.arrays))


def check(net: Net, *passes: ModulePass, tolerance: float = 1e-4) -> Ledger:
    """Run passes under audit; the module verifies and computes the same after each, which the ledger is of."""
    expected = evaluated(net)

    def same(one: ModulePass, module: ModuleOp, seconds: float) -> None:
        module.verify()
        for mine, reference in zip(evaluated(net), expected, strict=True):
            assert mine.dtype == reference.dtype
            assert mine.shape == reference.shape
            np.testing.assert_allclose(mine, reference, rtol=tolerance, atol=tolerance, err_msg=one.name)

    ledger = Ledger()
    run_passes(net.module, passes, ledger=ledger, audit=True, on_pass=same)
    return ledger
