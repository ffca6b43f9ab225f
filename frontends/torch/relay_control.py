"""Branches and loops as the language has them: relay.if, and functions that call themselves, as TVM's frontends make.

They stand in a function of ops; what compiles it is the virtual machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from xdsl.ir import Block, SSAValue

from ...dialects.relay.binding import Flavour, IfOp, LetOp
from ...dialects.relay.core import ConstantOp
from ...dialects.relay.creation import SizesOp
from ...dialects.relay.elementwise import AddOp, CastOp, LessOp
from ...dialects.relay.functions import FnOp, InvokeOp, YieldOp
from ...dialects.relay.logic import LogicalAndOp
from ...dialects.relay.transform import ReshapeOp
from ...dialects.relay.tuples import TupleGetItemOp, TupleOp
from ...dialects.relay.types import function_type, tuple_type
from ...provenance.diagnostics import message
from ...provenance.span import value_location
from ...runtime.interpreting.flow import Region, Step
from ...support.errors import FrontendError
from ..importing.importer import Importer
from ..importing.node import node_of
from ..importing.tensor import Tensor, dtype_of, shape_of

_More: TypeAlias = "Callable[[Sequence[SSAValue]], SSAValue]"
_Turn: TypeAlias = "Callable[[Sequence[SSAValue]], list[SSAValue]]"


def choose_in_language(importer: Importer, step: Step, region: Region) -> None:
    """Emit a step that only values decide, and bind its outputs; raises FrontendError for a kind that has no form."""
    node = node_of(step)
    with importer.builder.located(node.leaf):
        control = _Control(importer, step, region)
        match step.kind:
            case "If":
                results = control.branches()
            case "Loop":
                results = control.counted()
            case "While":
                results = control.repeated()
            case kind:
                raise FrontendError(message(node.op_type, "an If, Loop or While", kind, node.leaf))
        for name, result in zip(step.outputs, results, strict=True):
            if name:
                importer.bind(name, result, importer.builder.location, [])
    importer.converted.append(step)


class _Control:
    """One step on its way into the language."""

    def __init__(self, importer: Importer, step: Step, region: Region):
        self.importer, self.step, self.region = importer, step, region
        self.builder = importer.builder

    def fail(self, expected: str, actual: str) -> FrontendError:
        node = node_of(self.step)
        return FrontendError(message(node.op_type, expected, actual, node.leaf))

    def value(self, name: str, region: Region, reader: Step | None = None) -> SSAValue:
        return self.importer.lookup(name, region, reader).materialise(self.builder, self.importer.module)

    def truth(self, value: SSAValue) -> SSAValue:
        """A scalar truth value."""
        if shape_of(value):
            value = self.builder.add(ReshapeOp(value, newshape=())).result
        return value if dtype_of(value) == np.bool_ else self.builder.add(CastOp(value, dtype="bool")).result

    def body(self, body: Region, values: Sequence[SSAValue]) -> list[SSAValue]:
        """The results of a body for values of its inputs."""
        importer = self.importer
        bound, checked = len(importer.bound), len(importer.index_bounds)
        for name, value in zip(body.inputs, values, strict=True):
            importer.tensors[name] = Tensor(name, value=value, leaf=value_location(value))
        importer.convert_steps(body)
        results = [self.value(name, body) for name in body.outputs]
        del importer.index_bounds[checked:]  # what is not computed reads nothing
        for name in (*importer.bound[bound:], *body.inputs):
            importer.tensors.pop(name, None)
        del importer.bound[bound:]
        return results

    def closed(self, block: Block, result: SSAValue) -> Block:
        """End a block with a result; constants, which those behind it may read, go to the block around it."""
        with self.builder.at(block):
            self.builder.add(YieldOp(result))
        for op in list(block.ops):
            if isinstance(op, ConstantOp | SizesOp):
                op.detach()
                self.builder.add(op)
        return block

    def apart(self, value: SSAValue, count: int) -> list[SSAValue]:
        """The fields of a tuple."""
        return [self.builder.add(TupleGetItemOp(value, at)).result for at in range(count)]

    # Kinds.

    def branches(self) -> list[SSAValue]:
        """An If of the values of both branches, a tuple of several."""
        step = self.step
        condition = self.truth(self.value(step.inputs[0], self.region, step))
        blocks: list[Block] = []
        types: list[tuple[str, ...]] = []
        result: SSAValue | None = None
        for name in ("then_branch", "else_branch"):
            block = Block()
            with self.builder.at(block):
                inputs = [self.value(outer, self.region, step) for outer in step.inputs[1:]]
                values = self.body(step.bodies[name], inputs[: len(step.bodies[name].inputs)])
                result = values[0] if len(values) == 1 else self.builder.add(TupleOp(values)).result
            types.append(tuple(str(value.type) for value in values))
            blocks.append(self.closed(block, result))
        if types[0] != types[1]:
            raise self.fail(f"branches of one type, ({', '.join(types[0])})", f"({', '.join(types[1])})")
        assert result is not None
        then, other = blocks
        whole = self.builder.add(IfOp(condition, then, other, result.type)).result
        return [whole] if len(types[0]) == 1 else self.apart(whole, len(types[0]))

    def counted(self) -> list[SSAValue]:
        """A loop with a number of turns and a condition, as TorchScript and ONNX have it."""
        trips, condition, *carried = (self.value(name, self.region, self.step) for name in self.step.inputs)
        first = self.builder.add(ConstantOp.of(np.asarray(0, np.int64), self.importer.module, "turn")).result
        step = self.builder.add(ConstantOp.of(np.asarray(1, np.int64), self.importer.module, "one")).result
        trips = trips if dtype_of(trips) == np.int64 else self.builder.add(CastOp(trips, dtype="int64")).result
        body = self.step.bodies["body"]

        def more(values: Sequence[SSAValue]) -> SSAValue:
            below = self.builder.add(LessOp(values[0], trips)).result
            return self.builder.add(LogicalAndOp(below, values[1])).result

        def turn(values: Sequence[SSAValue]) -> list[SSAValue]:
            going, *after = self.body(body, values)
            return [self.builder.add(AddOp(values[0], step)).result, self.truth(going), *after]

        return self.function([first, self.truth(condition), *carried], more, turn)[2:]

    def repeated(self) -> list[SSAValue]:
        """A loop whose condition is computed before each turn."""
        carried = [self.value(name, self.region, self.step) for name in self.step.inputs]
        cond, body = self.step.bodies["cond"], self.step.bodies["body"]
        return self.function(
            carried, lambda values: self.truth(self.body(cond, values)[0]), lambda values: self.body(body, values)
        )

    def function(self, first: Sequence[SSAValue], more: _More, turn: _Turn) -> list[SSAValue]:
        """The last of values that a function hands to itself while there is more to do."""
        types = [value.type for value in first]
        output = tuple_type(types)
        block = Block(arg_types=[function_type((), types, output)])
        loop = FnOp(types, output)
        with self.builder.at(block):
            with self.builder.at(loop.block):
                condition = more(loop.block.args)
                again = Block()
                with self.builder.at(again):
                    following = turn(loop.block.args)
                    for before, after in zip(types, following, strict=True):
                        if before != after.type:
                            raise self.fail(f"{before} after each turn, as before it", str(after.type))
                    called = self.builder.add(InvokeOp(block.args[0], following, output)).result
                self.closed(again, called)
                end = Block()
                with self.builder.at(end):
                    last = self.builder.add(TupleOp(loop.block.args)).result
                self.closed(end, last)
                result = self.builder.add(IfOp(condition, again, end, output)).result
            self.closed(loop.block, result)
            self.builder.add(loop)
        self.closed(block, loop.result)
        named = self.builder.add(LetOp(Flavour.REC, block)).results[0]
        return self.apart(self.builder.add(InvokeOp(named, first, output)).result, len(types))
