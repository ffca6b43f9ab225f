"""The meaning of the regions of reductions, scatters and sorts: an operator, or a known combination of some."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, UnregisteredOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from .nodes import attributes_of

OPERATORS = frozenset({"add", "multiply", "maximum", "minimum", "and", "or", "xor"})
"""Operators of a body whose operands may change places."""
_ARGUMENTS = {"GT": "argmax", "GE": "argmax", "LT": "argmin", "LE": "argmin"}


def name_of(op: Operation) -> str:
    """The name of an op; without its dialect for those of a program of StableHLO."""
    name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
    dialect, _, short = name.partition(".")
    return short if dialect in ("stablehlo", "chlo", "func") else name


def described(region: Region) -> str:
    """The names of a region's ops, for errors."""
    names = [name_of(op) for block in region.blocks for op in block.ops]
    return ", ".join(names[:8]) + (", .." if len(names) > 8 else "")


def recognised(op: Operation) -> str:
    """Return what the region of an op computes; empty where it is nothing known.

    An operator of the two arguments by its name; `update` where the second argument is the result; `argmax` and
    `argmin` of values with their places; `ascending` and `descending`, with the number of the operand that is compared.
    """
    if len(op.regions) != 1 or len(op.regions[0].blocks) != 1:
        return ""
    block = op.regions[0].block
    last = block.last_op
    if last is None or name_of(last) != "return":
        return ""
    results, arguments = list(last.operands), list(block.args)
    if name_of(op) == "sort":
        return _order(results, block)
    if len(arguments) == 2 and len(results) == 1:
        if results[0] is arguments[1]:
            return "update"
        maker = results[0].owner
        if isinstance(maker, Operation) and set(maker.operands) == set(arguments) and name_of(maker) in OPERATORS:
            return name_of(maker)
        return ""
    if len(arguments) == 4 and len(results) == 2:
        return _argument(results, block)
    return ""


def _argument(results: list[SSAValue], block: Block) -> str:
    """The place of the greatest or the least: values and places are selected by comparisons of values, then places."""
    x, index, other, other_index = block.args
    selects = [result.owner for result in results]
    if not all(isinstance(op, Operation) and name_of(op) == "select" for op in selects):
        return ""
    (_, *values), (_, *places) = (list(op.operands) for op in selects if isinstance(op, Operation))
    if values != [x, other] or places != [index, other_index]:
        return ""
    kinds = set[str]()
    for op in block.ops:
        if name_of(op) == "compare":
            direction = str(attributes_of(op).get("comparison_direction", ""))
            if list(op.operands) == [x, other] and direction in _ARGUMENTS:
                kinds.add(_ARGUMENTS[direction])
            elif list(op.operands) == [index, other_index] and direction != "LT":
                return ""
        elif name_of(op) not in ("or", "and", "select", "return"):
            return ""
    return kinds.pop() if len(kinds) == 1 else ""


def _order(results: list[SSAValue], block: Block) -> str:
    """`ascending 0` or `descending 0`: which operand is compared, and how."""
    if len(results) != 1 or not isinstance(compare := results[0].owner, Operation) or name_of(compare) != "compare":
        return ""
    left, right = (_source(value) for value in compare.operands)
    direction = str(attributes_of(compare).get("comparison_direction", ""))
    if left is None or right is None or left.index // 2 != right.index // 2 or left is right:
        return ""
    ascending = direction in ("LT", "LE")
    if not ascending and direction not in ("GT", "GE"):
        return ""
    # The operands may have changed sides.
    if left.index % 2:
        ascending = not ascending
    return f"{'ascending' if ascending else 'descending'} {left.index // 2}"


def _source(value: SSAValue) -> BlockArgument | None:
    """The argument that a value is, but for zeros and NaNs, which a total order takes to be equal to their like."""
    for _ in range(4):
        if isinstance(value, BlockArgument):
            return value
        op = value.owner
        if not isinstance(op, Operation) or name_of(op) != "select":
            return None
        condition, replaced, kept = op.operands
        asked = condition.owner
        if not isinstance(asked, Operation) or name_of(asked) != "compare" or not _is_constant(replaced):
            return None
        value = kept
    return None


def _is_constant(value: SSAValue) -> bool:
    op = value.owner
    return (
        isinstance(op, Operation)
        and name_of(op) == "constant"
        and isinstance(op.properties.get("value"), DenseIntOrFPElementsAttr)
    )
