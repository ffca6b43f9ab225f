"""A builder of small networks, every layer of which has a location of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from whence.dialects.element_types import tensor_type
from whence.dialects.relay.core import ConstantOp, FuncOp, ReturnOp
from whence.dialects.relay.operator import Operator
from whence.provenance.builder import LocatedBuilder
from whence.provenance.span import layer_location


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


@pytest.fixture
def make_net() -> type[Net]:
    return Net
