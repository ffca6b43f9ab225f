"""`relay.call_tir`: results of a kernel of tir, which is a function of the module beside those of relay.

A call names its kernel, and finds it in its module. A call that stands alone, in a function that becomes a kernel of
the program, holds it (`hold_kernels`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, LocationAttr, ModuleOp, TensorType
from xdsl.ir import Attribute, Data, Operation, SSAValue
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, traits_def, var_operand_def, var_result_def
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import SymbolTable

from ...provenance.diagnostics import describe, fail
from ...support.errors import FrontendError, expectation
from ..element_types import dtype_name
from ..format import parse_attributes
from ..sizes import Size, SizeExpr, same, substitute, symbols_of
from ..sizes.kernel import kernel_size
from ..sizes.types import extents_of, tensor_of
from .attributes import ints, ints_attr, parse_value, print_value, required_string, to_attribute
from .operator import Operator
from .signature import Signature, Tensor
from .traits import OPAQUE, OpPattern, Stateful
from .types import tensors_differ

if TYPE_CHECKING:
    from ..tir import BufferType, PrimFuncOp

KERNEL = "kernel"
"""The attribute of a call that holds its kernel."""
PATTERN = "op_pattern"
"""The attribute of a call that says how its kernel may fuse (TVM's name and numbers)."""


class HoldsKernel(Protocol):
    """An object that stands for a kernel, such as `tir.PrimFunc`."""

    @property
    def op(self) -> PrimFuncOp: ...


@irdl_attr_definition
class KernelAttr(Data["PrimFuncOp"]):
    """A kernel of tir: `#relay.kernel<tir.prim_func @scale(..) outputs 1 {..}>`."""

    name = "relay.kernel"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> PrimFuncOp:
        from ..tir import PrimFuncOp

        assert isinstance(parser, Parser)
        with parser.in_angle_brackets():
            # Values of the kernel may have the names of values around the call.
            outside, parser.ssa_values = parser.ssa_values, {}
            try:
                op = parser.parse_op()
            finally:
                parser.ssa_values = outside
        if not isinstance(op, PrimFuncOp):
            parser.raise_error(f"expected a tir.prim_func, got {op.name}")
        return op

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_op(self.data)


@irdl_op_definition
class CallTirOp(Operator):
    """Results of a kernel: its arguments are the operands in order, then the results.

    With `inplace [0, -1]`, the kernel writes result 0 to its argument 0, and result 1 to an argument behind the
    operands. An extent of a kernel that is a size is the operand's; `sizes [..]` are all sizes of the kernel, or those
    that no operand tells.

    ```mlir
    %0 = relay.call_tir @scale(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    """

    name = "relay.call_tir"
    data = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    callee = required_string()
    inplace_indices = ints()
    tir_vars = ints()
    # What a kernel computes is not known before it is compiled.
    traits = traits_def(OPAQUE, Stateful())

    def __init__(
        self,
        data: Sequence[SSAValue | Operation],
        kernel: PrimFuncOp,
        inplace_indices: Sequence[int] = (),
        location: LocationAttr | None = None,
        *,
        sizes: Sequence[Size] = (),
    ):
        """sizes: the values of s0, s1, ..; of those that no operand tells alone, or none where operands tell all."""
        values = list(map(SSAValue.get, data))
        properties: dict[str, Attribute] = {"callee": kernel.sym_name, "inplace_indices": ints_attr(inplace_indices)}
        properties["tir_vars"] = to_attribute(cast("Sequence[int]", list(sizes)))
        sig = self._signature_of([value.type for value in values], [len(values)], properties, location)
        held = KernelAttr(kernel.clone())
        types = self.inferred(_of_kernel(sig, held))
        Operation.__init__(
            self,
            operands=values,
            result_types=types,
            properties=properties,
            attributes={KERNEL: held},
            location=location,
        )

    @property
    def kernel(self) -> KernelAttr:
        """The kernel. Raises VerifyException when the module has none of that name."""
        from ..tir import PrimFuncOp

        if isinstance(held := self.attributes.get(KERNEL), KernelAttr):
            return held
        module = self.parent_op()
        while module is not None and not module.has_trait(SymbolTable):
            module = module.parent_op()
        kernel = SymbolTable.lookup_symbol(module, self.callee.data) if module is not None else None
        if not isinstance(kernel, PrimFuncOp):
            fail(self, f"a tir.prim_func named @{self.callee.data}", "none in the module")
        return KernelAttr(kernel)

    @property
    def signature(self) -> Signature:
        return _of_kernel(super().signature, self.kernel)

    @property
    def size_values(self) -> list[Size]:
        """The sizes s0, s1, .. of the kernel in this call."""
        return _size_values(self.signature, self.kernel.data)

    def at_types(self, operands: Sequence[SSAValue]) -> Self:
        copy = super().at_types(operands)
        copy.attributes[KERNEL] = self.kernel
        return copy

    @classmethod
    def gives_tuple(cls, count: int) -> bool:
        return count != 1

    def fusion_pattern(self) -> OpPattern:
        held = self.attributes.get(PATTERN)
        return OpPattern(held.value.data) if isinstance(held, IntegerAttr) else OpPattern.OPAQUE

    def reads_tuple(self) -> bool:
        return False

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        held = sig.attributes.get(KERNEL)
        if not isinstance(held, KernelAttr):
            sig.fail(f"a tir.prim_func named @{sig.str('callee')}", "none in the module")
        kernel = held.data
        results = result_buffers(kernel, len(sig.types), sig.ints("inplace_indices"), sig)
        values = {str(kernel_size(k)): size for k, size in enumerate(_size_values(sig, kernel))}
        return [
            tensor_of(buffer.element_type, [substitute(extent, values) for extent in buffer.get_shape()])
            for buffer in results
        ]

    @classmethod
    def evaluate(cls, sig: Signature, data: Sequence[Any]) -> Any:
        raise FrontendError(expectation("call_tir", "a program that is compiled, as numpy runs no kernels", "none"))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.callee.data)
        with printer.in_parens():
            printer.print_list(self.operands, printer.print_ssa_value)
        if indices := self.signature_indices():
            printer.print_string(f" inplace {list(indices)}")
        if self.tir_vars != self.declared_attributes()["tir_vars"].default_value:
            printer.print_string(" sizes ")
            print_value(self.tir_vars, printer)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)

    def signature_indices(self) -> tuple[int, ...]:
        """The arguments of the kernel to which results are written, -1 for one behind the operands."""
        return super().signature.ints("inplace_indices")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        callee = parser.parse_symbol_name()
        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        indices: list[int] = []
        if parser.parse_optional_keyword("inplace") is not None:
            indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        sizes: Attribute = ints_attr(())
        if parser.parse_optional_keyword("sizes") is not None:
            sizes = parse_value(parser)
        attributes = parse_attributes(parser)
        parser.parse_punctuation(":")
        type_ = parser.parse_function_type()
        return cls.create(
            operands=parser.resolve_operands(operands, type_.inputs.data, parser.pos),
            result_types=type_.outputs.data,
            properties={"callee": callee, "inplace_indices": ints_attr(indices), "tir_vars": sizes},
            attributes=dict(attributes),
        )


def _of_kernel(sig: Signature, kernel: KernelAttr) -> Signature:
    return replace(sig, attributes={**sig.attributes, KERNEL: kernel})


def linked(sig: Signature, kernels: Mapping[str, HoldsKernel]) -> Signature:
    """Return the signature of a call with its kernel, and any other as it is.

    Raises VerifyException for a name that is no kernel's.
    """
    if sig.op != CallTirOp.name:
        return sig
    name = sig.str("callee")
    if name not in kernels:
        sig.fail(f"a kernel among {', '.join(kernels) or 'none'} as callee", name)
    return _of_kernel(sig, KernelAttr(kernels[name].op))


def check_stated(sig: Signature, stated: Sequence[Attribute | None], results: Sequence[Tensor]) -> None:
    """Raise VerifyException where a call states other types of results than its kernel has; None states nothing."""
    held = sig.attributes.get(KERNEL)
    if not stated or not isinstance(held, KernelAttr):
        return
    if len(stated) != len(results):
        _refuse(sig, held.data, f"out_ty of {len(results)} results", str(len(stated)))
    for number, (wanted, actual) in enumerate(zip(stated, results, strict=True)):
        if wanted is None:
            continue
        tensor = cast("Tensor", wanted) if isinstance(wanted, TensorType) else None
        if tensor is None or tensors_differ(tensor, actual):
            got = str(cast(Attribute, wanted)) if tensor is None else _spelled_type(tensor)
            _refuse(sig, held.data, f"out_ty {_spelled_type(actual)} of result {number}", got)


def calls_of(module: Operation) -> Iterable[CallTirOp]:
    """The calls of kernels in a module."""
    return (op for op in module.walk() if isinstance(op, CallTirOp))


def hold_kernels(module: ModuleOp, calls: Iterable[CallTirOp] | None = None) -> None:
    """Let calls, all of a module by default, hold a copy of their kernel, one for all calls of it.

    Kernels that no other calls need leave the module.
    """
    from ..tir import PrimFuncOp

    held: dict[str, KernelAttr] = {}
    for op in calls_of(module) if calls is None else calls:
        if KERNEL not in op.attributes:
            name = op.callee.data
            op.attributes[KERNEL] = held.setdefault(name, KernelAttr(op.kernel.data.clone()))
    needed = {op.callee.data for op in calls_of(module) if KERNEL not in op.attributes}
    for op in list(module.ops):
        if isinstance(op, PrimFuncOp) and op.sym_name.data in held.keys() - needed:
            op.detach()
            op.erase()


def result_buffers(kernel: PrimFuncOp, operands: int, indices: Sequence[int], sig: Signature) -> list[BufferType]:
    """The buffers of a call's results in order. Raises VerifyException where the kernel has other arguments."""
    buffers = [cast("BufferType", argument.type) for argument in kernel.block.args]
    written = kernel.outputs.value.data
    fresh = indices.count(-1) if indices else written
    if len(buffers) != operands + fresh:
        _refuse(sig, kernel, f"{max(len(buffers) - fresh, 0)} operands", str(operands))
    if not indices:
        return buffers[operands:]
    last = set(range(len(buffers) - written, len(buffers)))
    if len(indices) != written or {*(i for i in indices if i != -1), *range(operands, len(buffers))} != last:
        wanted = f"inplace_indices that name the arguments {', '.join(map(str, sorted(last)))} that it writes"
        _refuse(sig, kernel, wanted, str(list(indices)))
    behind = iter(range(operands, len(buffers)))
    return [buffers[next(behind) if index == -1 else index] for index in indices]


def _size_values(sig: Signature, kernel: PrimFuncOp) -> list[Size]:
    """The sizes of a kernel; complains about operands that it does not take."""
    values, extents = _told_sizes(sig, kernel)
    names = [str(kernel_size(number)) for number in range(len(kernel.size_names))]
    given = sig.ints("tir_vars")
    left = names if given and len(given) == len(names) else [name for name in names if name not in values]
    if len(left) != len(given):
        untold = [own for name, own in zip(names, kernel.size_names, strict=True) if name in left]
        wanted = f"operands with extents that tell {', '.join(untold)}" if untold else "no tir_vars"
        _refuse(sig, kernel, wanted, f"{', '.join(map(str, sig.types)) or 'none'} and {len(given)} tir_vars")
    values.update(zip(left, given, strict=True))
    for index, wanted, actual in extents:
        buffer = cast("BufferType", kernel.block.args[index].type)
        expected = f"operand {index} of {_spelled(buffer)} for {_named(kernel)}"
        sig.require_equal(substitute(wanted, values), actual, expected, str(sig.types[index]))
    return [values[name] for name in names]


def _told_sizes(sig: Signature, kernel: PrimFuncOp) -> tuple[dict[str, Size], Sequence[tuple[int, Size, Size]]]:
    """The sizes of a kernel that extents of the operands tell, by name; and operands' numbers, extents and sizes."""
    extents: list[tuple[int, Size, Size]] = []
    for index, (type_, argument) in enumerate(zip(sig.types, kernel.block.args, strict=False)):
        buffer = cast("BufferType", argument.type)
        wanted, actual = buffer.get_shape(), sig.shape(index)
        if buffer.element_type != type_.element_type or len(wanted) != len(actual):
            _refuse(sig, kernel, f"operand {index} of {_spelled(buffer)}", str(type_))
        extents += [(index, *pair) for pair in zip(wanted, actual, strict=True)]
    return sizes_told(kernel, sig.types), extents


def sizes_told(kernel: PrimFuncOp, types: Sequence[Tensor]) -> dict[str, Size]:
    """The sizes of a kernel, by name, that types of its first arguments tell: of the operands, or of results, too."""
    values: dict[str, Size] = {}
    buffers = [cast("BufferType", argument.type) for argument in kernel.block.args]
    shapes = [(buffer.get_shape(), extents_of(type_)) for buffer, type_ in zip(buffers, types, strict=False)]
    pairs = [pair for wanted, actual in shapes for pair in zip(wanted, actual, strict=False)]
    for _ in kernel.size_names:
        for wanted, actual in pairs:
            _solve(substitute(wanted, values), actual, values)
    return values


def sizes_of_results(kernel: PrimFuncOp, operands: Sequence[Tensor], results: Sequence[Tensor]) -> list[Size] | None:
    """The sizes of a kernel, in order, that no operand tells, as the results behind them do; None if these do not."""
    if any(same(extent, DYNAMIC_INDEX) for type_ in results for extent in extents_of(type_)):
        return None
    told = sizes_told(kernel, operands)
    names = [str(kernel_size(number)) for number in range(len(kernel.size_names))]
    values = sizes_told(kernel, [*operands, *results])
    return [values[name] for name in names if name not in told] if values.keys() >= set(names) else None


def _solve(wanted: Size, actual: Size, values: dict[str, Size]) -> None:
    """Note the size that an extent tells: the only one in it, times a number and plus one."""
    if not isinstance(wanted, SizeExpr) or len(names := set(symbols_of(wanted))) != 1:
        return
    (name,) = names
    rest = substitute(wanted, {name: 0})
    factor = substitute(wanted, {name: 1}) - rest
    if isinstance(factor, int) and factor and isinstance(rest, int) and name not in values:
        values[name] = (actual - rest) // factor


def _named(kernel: PrimFuncOp) -> str:
    return f"kernel '{kernel.sym_name.data}' ({describe(kernel.location)})"


def _spelled(buffer: BufferType) -> str:
    return f"{dtype_name(buffer.element_type)}[{', '.join(map(str, buffer.get_shape()))}]"


def _spelled_type(type_: Tensor) -> str:
    return f"{dtype_name(type_.element_type)}[{', '.join(map(str, extents_of(type_)))}]"


def _refuse(sig: Signature, kernel: PrimFuncOp, expected: str, found: str) -> NoReturn:
    sig.fail(f"{expected} for {_named(kernel)}", found)
