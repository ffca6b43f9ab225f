"""Recognises the regions of reductions, scatters and sorts: one operator, or a known combination of several."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, UnregisteredOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from .nodes import attributes_of

OPERATORS = frozenset({"add", "multiply", "maximum", "minimum", "and", "or", "xor"})
"""Commutative operators that a body may consist of."""
_ARGUMENTS = {"GT": "argmax", "GE": "argmax", "LT": "argmin", "LE": "argmin"}


def name_of(op: Operation) -> str:
    """Return the name of an op, without the dialect if it is one of StableHLO's."""
    name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
    dialect, _, short = name.partition(".")
    return short if dialect in ("stablehlo", "chlo", "func") else name


def described(region: Region) -> str:
    """Return the names of a region's ops, for errors."""
    names = [name_of(op) for block in region.blocks for op in block.ops]
    return ", ".join(names[:8]) + (", .." if len(names) > 8 else "")


def recognised(op: Operation) -> str:
    """Return a word for the function that the region of an op computes; empty for an unknown one.

    The word is the name of an operator of the two arguments; `logaddexp`; `update` if the second argument is the
    result; `argmax` or `argmin` for values with their indices; or `ascending 0` or `descending 0`, with the number of
    the compared operand, and further such pairs of words for operands that decide ties. For `select_and_scatter`, the
    comparison that selects comes before the operator that scatters: `GE add`.
    """
    if any(len(region.blocks) != 1 for region in op.regions):
        return ""
    blocks = [region.block for region in op.regions]
    if name_of(op) == "select_and_scatter":
        return " ".join(filter(None, (_direction(blocks[0]), _recognised(op, blocks[1]))))
    return _recognised(op, blocks[0]) if len(blocks) == 1 else ""


def _recognised(op: Operation, block: Block) -> str:
    last = block.last_op
    if last is None or name_of(last) != "return":
        return ""
    results, arguments = list(last.operands), list(block.args)
    if name_of(op) == "sort":
        return _order(results)
    if len(arguments) == 2 and len(results) == 1:
        if results[0] is arguments[1]:
            return "update"
        source = results[0].owner
        if isinstance(source, Operation) and set(source.operands) == set(arguments) and name_of(source) in OPERATORS:
            return name_of(source)
        return "logaddexp" if len(block.ops) < 12 and _expression(results[0]) == _LOGADDEXP else ""
    if len(arguments) == 4 and len(results) == 2:
        return _argument(results, block)
    return ""


_LOGADDEXP = (
    "select(compare(subtract(0, 1), subtract(0, 1)), add(0, 1), "
    "add(maximum(0, 1), log_plus_one(exponential(negate(abs(subtract(0, 1)))))))"
)
"""JAX's form of `logaddexp`, which takes the sum where the difference is NaN."""


def _expression(value: SSAValue) -> str:
    """Return a value of a small block as an expression of the block's arguments, which stand as their numbers."""
    if isinstance(value, BlockArgument):
        return str(value.index)
    op = value.owner
    if not isinstance(op, Operation):
        return ""
    return f"{name_of(op)}({', '.join(map(_expression, op.operands))})"


def _direction(block: Block) -> str:
    """Return the direction in which a body compares its two arguments, such as `GE`; empty for another body."""
    compare, last = block.first_op, block.last_op
    if compare is None or last is None or last is not compare.next_op or name_of(compare) != "compare":
        return ""
    compares_arguments = list(compare.operands) == list(block.args) and list(last.operands) == list(compare.results)
    return str(attributes_of(compare).get("comparison_direction", "")) if compares_arguments else ""


def _argument(results: list[SSAValue], block: Block) -> str:
    """Return `argmax` or `argmin` if comparisons of values, then of indices, select the results; empty otherwise."""
    value, index, other, other_index = block.args
    selects = [result.owner for result in results]
    if not all(isinstance(op, Operation) and name_of(op) == "select" for op in selects):
        return ""
    (_, *values), (_, *indices) = (list(op.operands) for op in selects if isinstance(op, Operation))
    if values != [value, other] or indices != [index, other_index]:
        return ""
    kinds = set[str]()
    for op in block.ops:
        if name_of(op) == "compare":
            direction = str(attributes_of(op).get("comparison_direction", ""))
            if list(op.operands) == [value, other] and direction in _ARGUMENTS:
                kinds.add(_ARGUMENTS[direction])
            elif list(op.operands) == [index, other_index] and direction != "LT":
                return ""
        elif name_of(op) not in ("or", "and", "select", "return"):
            return ""
    return kinds.pop() if len(kinds) == 1 else ""


def _order(results: list[SSAValue]) -> str:
    """Return `ascending 0` or `descending 0` for the compared operand, then the same for operands that decide ties."""
    if len(results) != 1:
        return ""
    value, keys = results[0], list[str]()
    while True:
        # `less(x) or (equal(x) and ..)`
        tie = value.owner
        if not isinstance(tie, Operation) or name_of(tie) != "or":
            last = _compared(value)
            return " ".join([*keys, last]) if last else ""
        less, otherwise = tie.operands
        both = otherwise.owner
        if not isinstance(both, Operation) or name_of(both) != "and":
            return ""
        equal, value = both.operands
        key, tie_key = _compared(less), _compared(equal)
        if not key or tie_key != f"equal {key.split()[1]}":
            return ""
        keys.append(key)


def _compared(value: SSAValue) -> str:
    """Return `ascending 0`, `descending 0` or `equal 0` for a value that compares two elements of an operand."""
    compare = value.owner
    if not isinstance(compare, Operation) or name_of(compare) != "compare":
        return ""
    left, right = (_source(operand) for operand in compare.operands)
    direction = str(attributes_of(compare).get("comparison_direction", ""))
    if left is None or right is None or left.index // 2 != right.index // 2 or left is right:
        return ""
    if direction == "EQ":
        return f"equal {left.index // 2}"
    if direction not in ("LT", "LE", "GT", "GE"):
        return ""
    # The operands may have changed sides.
    ascending = (direction in ("LT", "LE")) != bool(left.index % 2)
    return f"{'ascending' if ascending else 'descending'} {left.index // 2}"


def _source(value: SSAValue) -> BlockArgument | None:
    """Return the argument that a value equals, up to the zeros and NaNs that a total order makes uniform."""
    for _ in range(4):
        if isinstance(value, BlockArgument):
            return value
        op = value.owner
        if not isinstance(op, Operation) or name_of(op) != "select":
            return None
        condition, replaced, kept = op.operands
        comparison = condition.owner
        if not isinstance(comparison, Operation) or name_of(comparison) != "compare" or not _is_constant(replaced):
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
