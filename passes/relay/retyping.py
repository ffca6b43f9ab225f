"""The walk of passes that change the dtypes in which operators compute, and the casts that stand between them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from ...dialects.element_types import dtype_name
from ...dialects.relay.core import CallOp, FuncOp, ReturnOp
from ...dialects.relay.elementwise import CastOp
from ...dialects.relay.operator import Operator, element_of
from ...provenance.rewrite import rewrite
from ...provenance.span import fuse


def _casts() -> dict[tuple[SSAValue, Attribute], CastOp]:
    return {}


def _types() -> dict[SSAValue, Attribute]:
    return {}


@dataclass
class Retype(RewritePattern):
    """Operators in program order, on operands of the dtypes that are theirs; other ops read what they did."""

    keep: set[FuncOp]
    """Functions that return what they did."""
    casts: dict[tuple[SSAValue, Attribute], CastOp] = field(default_factory=_casts, init=False)
    originals: dict[SSAValue, Attribute] = field(default_factory=_types, init=False)
    """Value of another type -> the type that it had."""

    @abstractmethod
    def wanted(self, op: Operator) -> list[Attribute]:
        """The element types that an operator is to read its operands in; it may have other attributes after this."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if not isinstance(op, Operator):
            return
        before = op.properties.copy()
        changed = False
        for index, element in enumerate(self.wanted(op)):
            value = op.operands[index]
            if element != element_of(value):
                op.operands[index] = self._cast(value, element, op, rewriter)
                changed = True
        # Its operand may have changed its type before.
        changed = changed or op.properties != before or any(value in self.originals for value in op.operands)
        if changed:
            rewriter.notify_op_modified(op)
            for result, type_ in zip(op.results, op.inferred(op.signature), strict=True):
                if result.type != type_:
                    original = result.type
                    new = rewriter.replace_value_with_new_type(result, type_)
                    self.originals[new] = original
                    self._restore(new, original, op, rewriter)

    def original(self, value: SSAValue) -> Attribute:
        """The element type that a value had at first."""
        return element_of(self.originals.get(value, value.type))

    def _cast(self, value: SSAValue, element: Attribute, op: Operation, rewriter: PatternRewriter) -> SSAValue:
        """`value` as another dtype, cast once, right behind what makes it, for all that ask."""
        if (cached := self.casts.get((value, element))) is not None:
            cached.location = fuse([cached.location, op.location])
            return cached.result
        converted = CastOp(value, dtype=dtype_name(element), location=op.location)
        owner = value.owner
        point = InsertPoint.after(owner) if isinstance(owner, Operation) else InsertPoint.at_start(owner)
        rewriter.insert(converted, point)
        self.casts[value, element] = converted
        return converted.result

    def _restore(self, value: SSAValue, original: Attribute, op: Operation, rewriter: PatternRewriter) -> None:
        """Have what is no operator read `value` as it was."""
        for use in list(value.uses):
            user = use.operation
            if isinstance(user, Operator) or (isinstance(user, ReturnOp) and user.parent_op() not in self.keep):
                continue
            user.operands[use.index] = self._cast(value, element_of(original), op, rewriter)


def functions_of(module: ModuleOp) -> list[FuncOp]:
    """The functions whose operators may change their dtypes."""
    return [func for func in module.ops if isinstance(func, FuncOp) and func.primitive is None]


def called_in(module: ModuleOp) -> set[str]:
    """The names of the functions that others call."""
    return {call.callee.string_value() for call in module.walk() if isinstance(call, CallOp)}


def retype(functions: list[FuncOp], pattern: Retype) -> None:
    """Apply a pattern to all operators of the functions, once."""
    for func in functions:
        rewrite(func.body, [pattern], recursive=False)
        func.update_type()
