"""The ops of te.func: the function, its computes, and what stands in them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Self, cast

from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolNameConstraint,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    opt_region_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsolatedFromAbove, IsTerminator, Pure, SymbolOpInterface

from ...provenance.diagnostics import fail
from ..checks import check_else, check_map
from ..element_types import stored_type
from ..format import name_hint, parse_attributes, parse_indices, parse_signature, print_indices, print_signature
from ..int_lists import numbers_of
from ..sizes import Size, same_shape
from ..sizes.checks import check_sizes
from ..sizes.kernel import dense, names_of, negative, shape_map, sizes_in
from ..sizes.types import extents_of, tensor_of
from .compute_text import parse_compute, print_compute
from .stages import ExternOp, HybridOp, ScanOp, StateOp
from .types import INDEX, REDUCERS, behind


@irdl_op_definition
class FuncOp(IRDLOperation):
    """A function of tensors, its body a list of computes.

    With `sizes ["n", "m"]` it has sizes that only a call decides, s0 and s1 in shapes, extents and indices.
    """

    name = "te.func"
    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    sizes = opt_prop_def(ArrayAttr[StringAttr])
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(self, name: str, inputs: Sequence[Attribute], outputs: Sequence[Attribute], sizes: Sequence[str] = ()):
        """sizes: what its sizes are called, in order."""
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "function_type": FunctionType.from_lists(inputs, outputs),
        }
        if sizes:
            properties["sizes"] = ArrayAttr(map(StringAttr, sizes))
        super().__init__(
            properties=properties,
            regions=[Region(Block(arg_types=inputs))],
        )

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def size_names(self) -> tuple[str, ...]:
        """The names of its sizes s0, s1, .., in order."""
        return names_of(self.sizes)

    @property
    def return_op(self) -> ReturnOp:
        last = self.block.last_op
        assert isinstance(last, ReturnOp)
        return last

    @property
    def computes(self) -> list[ComputeOp]:
        """The stages, producers first."""
        return [op for op in self.block.ops if isinstance(op, ComputeOp)]

    def verify_(self) -> None:
        for type_ in (*self.function_type.inputs, *self.function_type.outputs):
            if not isinstance(type_, TensorType):
                fail(self, "tensors in and out", str(type_))
        if tuple(self.function_type.inputs) != tuple(a.type for a in self.block.args):
            fail(self, "block arguments of the function's input types", ", ".join(str(a.type) for a in self.block.args))
        if not isinstance(last := self.block.last_op, ReturnOp):
            fail(self, "a body that ends in te.return", last.name if last else "an empty body")
        if tuple(last.operand_types) != tuple(self.function_type.outputs):
            wanted = ", ".join(map(str, self.function_type.outputs))
            fail(self, f"{wanted} returned", ", ".join(map(str, last.operand_types)) or "nothing")
        labels: set[str] = set()
        for op in self.block.ops:
            if isinstance(op, STAGES):
                if op.label.data in labels:
                    fail(op, "a label of its own, as schedules know a stage by its label", f'"{op.label.data}" again')
                labels.add(op.label.data)
            elif not isinstance(op, ReturnOp):
                fail(self, "stages (te.compute, te.scan, te.extern) and te.return only", op.name)
        check_sizes(self, len(self.size_names), _shape)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.enter_scope()
        print_signature(printer, self.sym_name.data, self.block.args, self.function_type.outputs.data)
        printer.print_string(" ")
        if self.sizes is not None:
            printer.print_string("sizes ")
            printer.print_attribute(self.sizes)
            printer.print_string(" ")
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_region(self.body, print_entry_block_args=False, print_empty_block=False)
        printer.exit_scope()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name, arguments, outputs = parse_signature(parser)
        type_ = FunctionType.from_lists([a.type for a in arguments], outputs)
        properties: dict[str, Attribute] = {"sym_name": name, "function_type": type_}
        if parser.parse_optional_keyword("sizes") is not None:
            names = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_str_literal)
            properties["sizes"] = ArrayAttr(map(StringAttr, names))
        attributes = parse_attributes(parser)
        region = parser.parse_region(arguments)
        return cls.create(
            properties=properties,
            regions=[region],
            attributes=attributes,
        )


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """The results of a te.func."""

    name = "te.return"
    values = var_operand_def(TensorType)
    traits = traits_def(IsTerminator(), HasParent(FuncOp))
    assembly_format = "attr-dict ($values^ `:` type($values))?"

    def __init__(self, *values: SSAValue):
        super().__init__(operands=[list(values)])


@irdl_op_definition
class ComputeOp(IRDLOperation):
    """One stage: the element at each point of the data axes; with reduce axes, the combination over all their points.

    The region has an `index` argument per axis, data axes first, and yields the element (or the term to combine), one
    per result; all results have the same shape. A custom reduction has a region `combiner` of two operands per result,
    first all of the one side, then all of the other, and starts from the constants of `identity`. A reduction that
    starts from elsewhere yields that, too, behind its terms: `te.yield %term, %init : f32, f32`.
    """

    name = "te.compute"
    label = prop_def(StringAttr)
    extents = prop_def(DenseArrayBase)
    reduce_extents = prop_def(DenseArrayBase, default_value=DenseArrayBase.from_list(i64, []))
    sizes = opt_prop_def(AffineMapAttr)
    """All extents, data axes first, where some are no numbers; these are -1 in the lists."""
    reducer = opt_prop_def(StringAttr)
    identity = opt_prop_def(ArrayAttr)
    body = region_def("single_block")
    combiner = opt_region_def("single_block")
    outputs = var_result_def(TensorType)
    traits = traits_def(Pure(), HasParent(FuncOp))

    @staticmethod
    def make(
        label: str,
        extents: Sequence[Size],
        element: Attribute | Sequence[Attribute],
        *,
        reduce_extents: Sequence[Size] = (),
        reducer: str | None = None,
        identity: Sequence[Attribute] | None = None,
        names: Sequence[str] = (),
    ) -> ComputeOp:
        """A compute with an empty body; of several elements, one with several results.

        names: the axes' names, data axes first (default ax0.. and k0..). identity: what a custom reduction starts from;
        the compute then has an empty combiner, too.
        """
        elements = [element] if isinstance(element, Attribute) else list(element)
        block = Block(arg_types=[INDEX] * (len(extents) + len(reduce_extents)))
        default = [f"ax{i}" for i in range(len(extents))] + [f"k{i}" for i in range(len(reduce_extents))]
        for argument, hint in zip(block.args, names or default, strict=True):
            argument.name_hint = name_hint(hint)
        properties: dict[str, Attribute] = {
            "label": StringAttr(label),
            "extents": _numbers(dense(extents)),
            "reduce_extents": _numbers(dense(reduce_extents)),
        }
        if (sizes := shape_map((*extents, *reduce_extents))) is not None:
            properties["sizes"] = sizes
        if reducer is not None:
            properties["reducer"] = StringAttr(reducer)
        regions = [Region(block)]
        if identity is not None:
            properties["identity"] = ArrayAttr(identity)
            regions.append(Region(Block(arg_types=[stored_type(e) for e in elements] * 2)))
        op = ComputeOp.create(
            result_types=[_tensor(e, tuple(extents)) for e in elements], properties=properties, regions=regions
        )
        for i, result in enumerate(op.results):
            hint = label if len(elements) == 1 else f"{label}.v{i}"
            result.name_hint = hint if SSAValue.is_valid_name(hint) else None
        return op

    @property
    def result(self) -> OpResult[TensorType]:
        """The tensor, or the first of several."""
        return cast("OpResult[TensorType]", self.results[0])

    @property
    def block(self) -> Block:
        return self.body.block

    @property
    def rank(self) -> int:
        """The number of data axes."""
        return len(self.extents)

    @property
    def shape(self) -> tuple[Size, ...]:
        """Extents of the data axes."""
        if self.sizes is not None:
            return sizes_in(self.sizes)[: self.rank]
        return numbers_of(cast("DenseArrayBase[IntegerType]", self.extents))

    @property
    def reduce_shape(self) -> tuple[Size, ...]:
        """Extents of the reduce axes."""
        if self.sizes is not None:
            return sizes_in(self.sizes)[self.rank :]
        return numbers_of(cast("DenseArrayBase[IntegerType]", self.reduce_extents))

    @property
    def axes(self) -> Sequence[BlockArgument]:
        return self.block.args[: self.rank]

    @property
    def reduce_axes(self) -> Sequence[BlockArgument]:
        return self.block.args[self.rank :]

    @property
    def yielded(self) -> SSAValue:
        """The element, or the first of several."""
        return self.yields[0]

    @property
    def yields(self) -> Sequence[SSAValue]:
        """The element of each result."""
        return _yields(self.block)[: len(self.results)]

    @property
    def inits(self) -> Sequence[SSAValue]:
        """Return the values that the reductions of results start from; none where its reducer says them."""
        return _yields(self.block)[len(self.results) :]

    @property
    def combined(self) -> Sequence[SSAValue]:
        """Return what the combiner, which must be there, makes of its operands."""
        assert self.combiner is not None
        return _yields(self.combiner.block)

    @property
    def reads(self) -> list[ReadOp]:
        return [op for op in self.block.ops if isinstance(op, ReadOp)]

    def verify_(self) -> None:
        if not self.outputs:
            fail(self, "at least one result", "none")
        for output in self.outputs:
            if not same_shape(extents_of(output.type), self.shape):
                fail(self, f"a result of shape {self.shape}, as the axes say", str(output.type))
        axes = len(self.shape) + len(self.reduce_shape)
        if len(self.block.args) != axes or any(argument.type != INDEX for argument in self.block.args):
            arguments = ", ".join(str(argument.type) for argument in self.block.args) or "none"
            fail(self, f"a block argument of type index per axis, {axes} in all", arguments)
        if any(map(negative, (*self.shape, *self.reduce_shape))):
            fail(self, "extents of at least 0", str((*self.shape, *self.reduce_shape)))
        if (self.reducer is None) != (not self.reduce_shape):
            actual = f"the reducer {self.reducer.data}" if self.reducer is not None else "no reducer"
            fail(
                self,
                "a reducer when there are reduce axes, and only then",
                f"{actual} and {len(self.reduce_shape)} axes",
            )
        elements = [stored_type(output.type.element_type) for output in self.outputs]
        starts = self.reducer is not None and len(_yields(self.block)) > len(elements)
        self._verify_yield(self.block, elements * 2 if starts else elements, "a body")
        for axis in behind(self.inits, self.block).intersection(self.reduce_axes):
            fail(self, "a start that depends on data axes only", f"one that depends on {axis.name_hint}")
        self._verify_combiner(elements)

    def _verify_combiner(self, elements: Sequence[Attribute]) -> None:
        if (self.combiner is None) != (self.identity is None):
            fail(self, "a combiner and its identity together", "a combiner" if self.combiner else "an identity")
        if self.combiner is None or self.identity is None:
            if self.reducer is None:
                return
            if self.reducer.data not in REDUCERS:
                fail(self, f"a reducer among {', '.join(REDUCERS)}, or a combiner", self.reducer.data)
            if len(elements) != 1:
                fail(self, f"one result of the reducer {self.reducer.data}", str(len(elements)))
            return
        if self.reducer is None:
            fail(self, "a combiner of a reduction only", "no reducer")
        operand_types = [argument.type for argument in self.combiner.block.args]
        if operand_types != [*elements, *elements]:
            wanted = ", ".join(str(element) for element in (*elements, *elements))
            fail(self, f"a combiner of ({wanted})", f"({', '.join(map(str, operand_types))})")
        types = [cast(IntegerAttr | FloatAttr, number).type for number in self.identity]
        if types != list(elements):
            fail(self, f"an identity of ({', '.join(map(str, elements))})", f"({', '.join(map(str, types))})")
        self._verify_yield(self.combiner.block, elements, "a combiner")

    def _verify_yield(self, block: Block, elements: Sequence[Attribute], what: str) -> None:
        if not isinstance(last := block.last_op, YieldOp):
            fail(self, f"{what} that ends in te.yield", last.name if last else "an empty body")
        if list(last.operand_types) != list(elements):
            fail(self, f"a {', '.join(map(str, elements))} yielded", ", ".join(map(str, last.operand_types)))

    def print(self, printer: Printer) -> None:
        print_compute(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return cls.create(**parse_compute(parser))


def _shape(type_: Attribute) -> tuple[Size, ...]:
    return extents_of(cast("TensorType[Attribute]", type_)) if isinstance(type_, TensorType) else ()


@lru_cache(1024)
def _numbers(values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i64, values)


@lru_cache(1024)
def _tensor(element: Attribute, extents: tuple[Size, ...]) -> TensorType[Attribute]:
    return tensor_of(element, extents)


def _yields(block: Block) -> Sequence[SSAValue]:
    last = block.last_op
    return last.values if isinstance(last, YieldOp) else ()


def _check_indices(op: ReadOp | IndexOp) -> None:
    """Fail unless the indices of `op` are axes of its compute or are made inside."""
    compute = op.parent_op()
    assert isinstance(compute, ComputeOp)
    for i, value in enumerate(op.indices):
        block = value.owner if isinstance(value.owner, Block) else value.owner.parent
        if block is not compute.block:
            fail(
                op,
                f'indices that are axes of compute "{compute.label.data}" or made inside',
                f"index operand {i} of another",
            )


@irdl_op_definition
class ReadOp(IRDLOperation):
    """The element of a tensor at an affine point; with `else`, that value wherever the point lies outside."""

    name = "te.read"
    tensor = operand_def(TensorType)
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    otherwise = opt_prop_def(Attribute)
    result = result_def(Attribute)
    traits = traits_def(Pure(), HasParent(ComputeOp))

    @staticmethod
    def make(
        tensor: SSAValue, map: AffineMap, indices: Sequence[SSAValue], otherwise: Attribute | None = None
    ) -> ReadOp:
        element = stored_type(cast(TensorType[Attribute], tensor.type).element_type)
        properties: dict[str, Attribute] = {"map": AffineMapAttr(map)}
        if otherwise is not None:
            properties["otherwise"] = otherwise
        return ReadOp.create(operands=[tensor, *indices], result_types=[element], properties=properties)

    def verify_(self) -> None:
        type_ = cast(TensorType[Attribute], self.tensor.type)
        _check_indices(self)
        check_map(self, self.map.data, len(self.indices), len(type_.shape))
        element = stored_type(type_.element_type)
        if self.result.type != element:
            fail(self, f"a result of type {element}", str(self.result.type))
        if self.otherwise is not None:
            check_else(self, self.otherwise, element)
        compute = self.parent_op()
        assert isinstance(compute, ComputeOp)
        if self.tensor.owner is compute:
            fail(self, "a tensor that is computed before", f'the result of its own compute "{compute.label.data}"')

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.tensor)
        print_indices(printer, self.map.data, self.indices)
        if self.otherwise is not None:
            printer.print_string(" else ")
            printer.print_attribute(self.otherwise)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : ")
        printer.print_attribute(self.tensor.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        tensor = parser.parse_unresolved_operand()
        map, indices = parse_indices(parser)
        properties: dict[str, Attribute] = {"map": map}
        if parser.parse_optional_keyword("else") is not None:
            properties["otherwise"] = parser.parse_attribute()
        attributes = parse_attributes(parser)
        parser.parse_punctuation(":")
        type_ = parser.parse_type()
        if not isinstance(type_, TensorType):
            parser.raise_error(f"te.read: expected a tensor type, got {type_}")
        element = stored_type(cast(TensorType[Attribute], type_).element_type)
        return cls.create(
            operands=[parser.resolve_operand(tensor, cast(Attribute, type_)), *indices],
            result_types=[element],
            properties=properties,
            attributes=attributes,
        )


@irdl_op_definition
class IndexOp(IRDLOperation):
    """An affine function of the axes as a number: `te.index [%i * 2 + 1]`."""

    name = "te.index"
    indices = var_operand_def(IndexType)
    map = prop_def(AffineMapAttr)
    result = result_def(IndexType)
    traits = traits_def(Pure(), HasParent(ComputeOp))

    @staticmethod
    def make(map: AffineMap, indices: Sequence[SSAValue]) -> IndexOp:
        return IndexOp.create(operands=indices, result_types=[INDEX], properties={"map": AffineMapAttr(map)})

    def verify_(self) -> None:
        _check_indices(self)
        check_map(self, self.map.data, len(self.indices), 1)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        print_indices(printer, self.map.data, self.indices)
        printer.print_op_attributes(self.attributes, print_keyword=True)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        map, indices = parse_indices(parser)
        attributes = parse_attributes(parser)
        return cls.create(operands=indices, result_types=[INDEX], properties={"map": map}, attributes=attributes)


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The elements a compute stands for, one per result; in a combiner, the combination."""

    name = "te.yield"
    values = var_operand_def(Attribute)
    traits = traits_def(IsTerminator(), HasParent(ComputeOp))
    assembly_format = "$values attr-dict `:` type($values)"

    def __init__(self, *values: SSAValue | Operation):
        super().__init__(operands=[[SSAValue.get(value) for value in values]])


STAGES = (ComputeOp, StateOp, ScanOp, ExternOp, HybridOp)
"""The ops that a te.func is made of."""
