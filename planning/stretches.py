"""Runs of tensor operators in programs of the language: what is compiled, for the shapes that a call brings."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, LocationAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import SSAValue

from ..dialects.relay.constants import pool_of
from ..dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from ..dialects.relay.dynamic import Dynamic
from ..dialects.relay.operator import Operator, element_of, shape_of
from ..dialects.relay.size_ranges import main_of, set_ranges
from ..dialects.sizes import Size, UndecidedSize, known_ranges
from ..dialects.sizes.types import is_open, tensor_of
from ..dialects.sizes.unknowns import Unknowns
from ..provenance.builder import LocatedBuilder
from ..provenance.diagnostics import fail
from ..provenance.span import fuse, value_location
from ..runtime.interpreting.language import Native
from ..runtime.interpreting.shape_patterns import Pattern
from ..support.dtypes import Array


@dataclass(eq=False)
class Operators:
    """Operators that follow one another, and what is left of them."""

    module: ModuleOp
    """Their module, which has their constants."""
    location: LocationAttr
    """The location of the function around them."""
    operators: list[tuple[Operator, tuple[SSAValue, ...]]] = field(
        default_factory=list[tuple[Operator, tuple[SSAValue, ...]]]
    )
    """In order, each with its operands: tuples and let-blocks that these went through are left out."""
    inputs: tuple[SSAValue, ...] = ()
    outputs: tuple[SSAValue, ...] = ()
    part: FuncOp | None = None
    """The function for an external compiler that they are."""

    def add(self, op: Operator, operands: Sequence[SSAValue]) -> None:
        self.operators.append((op, tuple(operands)))

    def prune(self, step: Native, names: Mapping[SSAValue, str], live: Container[str]) -> None:
        """Drop what nobody reads, and have `step` say what is read and given."""
        needed: set[SSAValue] = set()
        kept: list[tuple[Operator, tuple[SSAValue, ...]]] = []
        outputs: list[SSAValue] = []
        for op, operands in reversed(self.operators):
            wanted = [result for result in op.results if names.get(result, "") in live]
            if wanted or any(result in needed for result in op.results):
                outputs += reversed(wanted)
                needed.update(operands)
                kept.append((op, operands))
        self.operators, self.outputs = kept[::-1], tuple(outputs[::-1])
        produced = {result for op, _ in self.operators for result in op.results}
        read = dict.fromkeys(value for _, operands in self.operators for value in operands)
        self.inputs = tuple(
            value for value in read if value not in produced and not isinstance(value.owner, ConstantOp)
        )
        step.inputs, step.outputs = (tuple(names[value] for value in group) for group in (self.inputs, self.outputs))
        step.open = tuple(at for at, value in enumerate(self.inputs) if is_open(value.type))
        extents = [extent for at in step.open for extent in shape_of(self.inputs[at])]
        step.declared = Pattern.named([str(k) if n == DYNAMIC_INDEX else None for k, n in enumerate(extents)], extents)

    def opened(self, step: Native, arrays: Sequence[Array], pattern: Pattern, sizes: Sequence[int]) -> ModuleOp:
        """The relay module of the operators for inputs of all shapes of a pattern, of which these are some.

        sizes: the extents of open inputs, which the pattern is of. What has to be equal is taken to be, if it is here.
        Raises VerifyException where the operators do not take such sizes.
        """
        names = [f"{step.inputs[at]}_{axis}" for at in step.open for axis in range(arrays[at].ndim)]
        unknowns = Unknowns(pattern.terms, sizes, names)
        while True:
            left = iter(unknowns.sizes)
            shapes: list[Sequence[Size]] = [
                list(islice(left, array.ndim)) if at in step.open else array.shape for at, array in enumerate(arrays)
            ]
            try:
                with known_ranges(unknowns.ranges):
                    module = self.specialised(step, shapes)
            except UndecidedSize as error:
                if not unknowns.narrow(error.equal):
                    raise
            else:
                set_ranges(main_of(module), unknowns.ranges)
                return module

    def specialised(self, step: Native, shapes: Sequence[Sequence[Size]]) -> ModuleOp:
        """The relay module of the operators for inputs of these shapes.

        Raises VerifyException where the operators do not take them.
        """
        module = ModuleOp([])
        # Pools are of modules: what folding adds for some shapes is not kept with what all share.
        pool, shared = pool_of(module), pool_of(self.module)
        types = [tensor_of(element_of(value), shape) for value, shape in zip(self.inputs, shapes, strict=True)]
        main = FuncOp("main", types, [], location=self.location)
        module.body.block.add_op(main)
        builder = LocatedBuilder(main.block)
        mapping: dict[SSAValue, SSAValue] = {}
        for value, argument in zip(self.inputs, main.block.args, strict=True):
            argument.location = value_location(value)
            argument.name_hint = value.name_hint
            mapping[value] = argument

        def operand(value: SSAValue) -> SSAValue:
            if value not in mapping:
                assert isinstance(value.owner, ConstantOp)
                constant = value.owner.clone()
                if constant.key is not None and (key := constant.key.data) in shared and key not in pool:
                    pool.add(key, shared[key])
                mapping[value] = builder.add(constant).result
                mapping[value].name_hint = value.name_hint
            return mapping[value]

        for op, operands in self.operators:
            if isinstance(op, Dynamic):
                static_op = self._known(op, operands, operand)
            else:
                static_op = op.at_types([operand(value) for value in operands])
            if any(map(is_open, static_op.result_types)):
                static_op.check_sizes()
                fail(op, "operands whose shapes decide the result's", ", ".join(map(str, static_op.operand_types)))
            builder.add(static_op)
            for old, new in zip(op.results, static_op.results, strict=True):
                new.name_hint = old.name_hint
                mapping[old] = new
        with builder.located(fuse([value_location(value) for value in self.outputs])):
            builder.add(ReturnOp(*(mapping[value] for value in self.outputs)))
        main.update_type()
        if self.part is not None:
            main = _given_away(module, main, self.part)
        main.attributes["input_names"] = ArrayAttr(map(StringAttr, step.inputs))
        main.attributes["output_names"] = ArrayAttr(map(StringAttr, step.outputs))
        return module

    def _known(self, op: Dynamic, operands: Sequence[SSAValue], operand_of: Callable[[SSAValue], SSAValue]) -> Operator:
        """The static operator of one whose deciding operands are constants."""
        inputs, deciding = op.parted(operands)
        values = [
            v.owner.value(self.module) if v is not None and isinstance(v.owner, ConstantOp) else None for v in deciding
        ]
        return op.static(op.signature, [operand_of(value) for value in inputs], values)


def _given_away(module: ModuleOp, func: FuncOp, part: FuncOp) -> FuncOp:
    """The new `@main` of a module, which has an external compiler do what the one so far does, as `part` says."""
    types = list(func.function_type.inputs), list(func.function_type.outputs)
    main = FuncOp("main", *types, location=func.location)
    func.sym_name, func.primitive = part.sym_name, UnitAttr()
    func.attributes.update(part.attributes)
    for old, new in zip(func.block.args, main.block.args, strict=True):
        new.location, new.name_hint = old.location, old.name_hint
    builder = LocatedBuilder(main.block, func.location)
    call = builder.add(CallOp(func.sym_name.data, list(main.block.args), types[1]))
    builder.add(ReturnOp(*call.results))
    module.body.block.insert_op_before(main, func)
    return main


def is_decided(op: Operator, operands: Sequence[SSAValue]) -> bool:
    """Return whether no value that a run computes decides the shape of an operator's result."""
    if not isinstance(op, Dynamic):
        return True
    return all(value is None or isinstance(value.owner, ConstantOp) for value in op.parted(operands)[1])
