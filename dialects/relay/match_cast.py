"""`relay.match_cast`: a tensor at a shape that names its extents, which calls check."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def, var_operand_def

from ..element_types import DTYPES
from ..sizes import Size, same, substitute, symbols_of
from ..sizes.text import parse_size
from ..sizes.types import extents_of, tensor_of
from .attributes import required_ints, required_string, string
from .operator import Operator
from .signature import Signature, Tensor, as_tensor
from .traits import ELEMWISE, Stateful


@irdl_op_definition
class MatchCastOp(Operator):
    """A tensor at a shape: a size that nothing before has is bound to its extent, every other extent is checked.

    What is made of the result comes after the check. Where types have no names of sizes, `names` has them: those of the
    extents of `data`, and behind `;` those of each of `known`, tensors that have the sizes, too.

    ```mlir
    %1 = relay.match_cast %0 {shape = #relay.sizes<k, 4>, dtype = "float32"}
        : (tensor<?x4xf32>) -> tensor<?x4xf32, #relay.sizes<k, 4>>
    ```
    """

    name = "relay.match_cast"
    data = operand_def(TensorType)
    known = var_operand_def(TensorType)
    result = result_def(TensorType)
    shape = required_ints()
    dtype = required_string()
    names = string("")
    # The check is not to be lost with the value.
    traits = traits_def(ELEMWISE, Stateful())

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if sig.str("dtype") not in DTYPES or sig.types[0].element_type != DTYPES[sig.str("dtype")]:
            sig.fail(f"a tensor of {sig.str('dtype')}", str(sig.types[0]))
        values: dict[str, Size] = {}
        patterns = patterns_of(sig.str("names"))
        for number, pattern in enumerate(patterns[1:], 1):
            _match(sig, number, pattern, values)
        shape = [
            actual if same(wanted, DYNAMIC_INDEX) and not patterns else wanted
            for wanted, actual in zip(sig.ints("shape"), _extents(sig), strict=True)
        ]
        if not patterns:
            _match(sig, 0, shape, {})
            return [tensor_of(sig.types[0].element_type, shape)]
        return [tensor_of(sig.types[0].element_type, _match(sig, 0, patterns[0], values))]

    @classmethod
    def evaluate(cls, sig: Signature, data: Any, known: Sequence[Any]) -> Any:
        return data

    @property
    def sizes(self) -> list[Size]:
        """The extents that the result has by name."""
        patterns = patterns_of(self.names.data)
        return patterns[0] if patterns else list(extents_of(as_tensor(self.result)))

    def binding(self, taken: Container[str]) -> dict[str, Size]:
        """Return a size that the result's type names, other than those that are taken, and the operand's extent."""
        extents = extents_of(as_tensor(self.data))
        for wanted, actual in zip(self.sizes, extents, strict=True) if not self.names.data else ():
            if str(wanted) in symbols_of(wanted) and str(wanted) not in taken and not same(wanted, actual):
                return {str(wanted): actual}
        return {}

    def name_in_text(self, known: Sequence[SSAValue]) -> None:
        """Note the names of sizes as text, and tensors that have them, too, before types lose them."""
        if not self.names.data:
            shapes = [self.sizes, *(extents_of(as_tensor(value)) for value in known)]
            self.properties["names"] = type(self.names)("; ".join(", ".join(map(str, shape)) for shape in shapes))
            self.operands = [self.data, *known]


def patterns_of(names: str) -> list[list[Size]]:
    """The extents that a text of `names` has, `-1` for one without a name."""
    return [
        [DYNAMIC_INDEX if text.strip() == "-1" else parse_size(text) for text in part.split(",") if text.strip()]
        for part in (names.split(";") if names else ())
    ]


def _extents(sig: Signature) -> Sequence[Size]:
    extents, wanted = extents_of(sig.types[0]), sig.ints("shape")
    if len(extents) != len(wanted):
        sig.fail(f"a tensor of {len(wanted)} dimensions, {_shown(wanted)}", str(sig.types[0]))
    return extents


def _match(sig: Signature, number: int, pattern: Sequence[Size], values: dict[str, Size]) -> list[Size]:
    """Match the extents of an operand, bind sizes that are not bound, and return the extents that are known then."""
    known: list[Size] = []
    for wanted, actual in zip(pattern, extents_of(sig.types[number]), strict=True):
        if same(wanted, DYNAMIC_INDEX) or same(actual, DYNAMIC_INDEX):
            known.append(actual if same(wanted, DYNAMIC_INDEX) else substitute(wanted, values))
            continue
        size = substitute(wanted, values)
        if sig.str("names") and str(wanted) in symbols_of(wanted) and str(wanted) not in values:
            values[str(wanted)] = actual
            size = actual
        expected = f"{_shown(pattern)}{_where(values)}"
        if isinstance(size, int) and isinstance(actual, int) and size != actual:
            sig.fail(expected, str(sig.types[number]))
        if not same(size, actual):
            sig.require(size - actual, expected, str(sig.types[number]))
            sig.require(actual - size, expected, str(sig.types[number]))
        known.append(size if isinstance(size, int) or not sig.str("names") else actual)
    return known


def _shown(shape: Sequence[Size]) -> str:
    return f"[{', '.join('?' if same(size, DYNAMIC_INDEX) else str(size) for size in shape)}]"


def _where(values: Mapping[str, Size]) -> str:
    return f" for {', '.join(f'{name} = {size}' for name, size in values.items())}" if values else ""
