"""The context of a TFLite converter: one operator, its tensors, its options."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ...support.dtypes import limits
from ..importing import context
from ..importing.node_parts import NodePart
from .model import Quantization, TensorInfo
from .option_values import stated_values
from .program import RENAMING, Node

_CUSTOM = "custom_options"
_OF_HYBRIDS = "AsymmetricQuantizeInputs"
_OF_TYPES, _OF_SHAPES = "the types of tensors say it, and are checked", "the shapes of tensors say it"
HINTS = {
    **dict.fromkeys(("IdxOutType", "InDataType", "OutDataType", "OutType", "OutputType"), _OF_TYPES),
    **dict.fromkeys(("DepthMultiplier", "Num", "ValuesCount"), _OF_SHAPES),
    **dict.fromkeys(("IndicesAreSorted", "UniqueIndices"), "says that a faster kernel may be taken"),
    "PotScaleInt16": "the scales of tensors say it",
    "QuantizedBiasType": "sums are exact in either type",
    "ValidateIndices": "indices are checked wherever they can be",
}
"""Options that do not change the results, and why."""
INTEGERS = ("INT4", "INT8", "UINT8", "INT16", "INT32")
"""Element types that may be quantised."""


@dataclass(eq=False, kw_only=True)
class Context(context.Context):
    """One operator under conversion. Inputs and outputs are counted from 0; absent optional inputs are None."""

    node: Node

    # Options.

    def stated(self, name: str) -> Any:
        """Return a field of the options, by its name in the schema's classes; None without options."""
        self.asked.attributes.add(name)
        options = self.node.operator.options
        if options is None:
            return None
        if not hasattr(options, name):
            self.fail(f"options with {name}", type(options).__name__)
        if not hasattr(options, f"{name}AsNumpy"):
            return getattr(options, name)()
        return tuple(getattr(options, f"{name}AsNumpy")().tolist()) if getattr(options, f"{name}Length")() else ()

    @property
    def version(self) -> int:
        return self.node.operator.version

    @property
    def custom_options(self) -> bytes:
        """Return the options of a custom operator, in the operator's own form."""
        self.asked.attributes.add(_CUSTOM)
        return self.node.operator.custom

    def parts(self) -> Iterator[NodePart]:
        """Yield the present inputs, and the options that differ from the defaults of the schema."""
        yield from self.input_parts()
        operator = self.node.operator
        if self.node.op_type == RENAMING:
            return  # The options are the call's.
        if operator.options is not None:
            stated = stated_values(operator.options)
            if not self._hybrid():
                stated.pop(_OF_HYBRIDS, None)
            for name, value in ((name, stated[name]) for name in stated if name not in HINTS):
                yield NodePart(name, "option", name, repr(value))
        if operator.custom:
            yield NodePart(_CUSTOM, "option", _CUSTOM, f"{len(operator.custom)} bytes")

    def _hybrid(self) -> bool:
        """Return whether float data meet integer weights."""
        kinds = [self.quantized(index) for index, tensor in enumerate(self.inputs) if tensor is not None]
        return any(kinds) and not kinds[0]

    # Tensors of the file.

    def info(self, index: int) -> TensorInfo:
        """Return the file's description of input `index`, which must be present."""
        info = self.node.inputs[index] if index < len(self.node.inputs) else None
        if info is None:
            self.fail(f"an input {index}", "none")
        return info

    def out(self, index: int = 0) -> TensorInfo:
        """Return the file's description of output `index`."""
        if index >= len(self.node.outputs):
            self.fail(f"an output {index}", f"{len(self.node.outputs)} outputs")
        return self.node.outputs[index]

    def quantized(self, index: int = 0) -> bool:
        """Return whether input `index` holds quantised numbers."""
        info = self.info(index)
        return info.quantization is not None and info.type in INTEGERS

    def quantization(self, index: int) -> Quantization:
        """Return the quantisation of input `index`."""
        return self.checked(self.info(index))

    def out_quantization(self, index: int = 0) -> Quantization:
        """Return the quantisation of output `index`."""
        return self.checked(self.out(index))

    def checked(self, info: TensorInfo) -> Quantization:
        """Return the quantisation of a tensor of integers."""
        quantization = info.quantization
        if quantization is None:
            self.fail(f"a scale and zero point of tensor '{info.name}'", "none")
        if info.type not in INTEGERS:
            self.fail(f"quantised numbers in tensor '{info.name}'", info.type.lower())
        low, high = limits(info.type.lower())
        if (quantization.zero_point < low).any() or (quantization.zero_point > high).any():
            self.fail(f"zero points of tensor '{info.name}' in [{low}, {high}]", str(quantization.zero_point.tolist()))
        if not quantization.scale.all():
            self.fail(f"positive scales of tensor '{info.name}'", "0")
        if info.type == "INT16" and quantization.zero_point.any():
            self.fail(
                f"a zero point of 0 of tensor '{info.name}', which has 16 bits",
                str(quantization.zero_point.tolist()[0]),
            )
        return quantization

    # Values.

    def optional(self, index: int) -> SSAValue | None:
        """Return input `index` as a relay value, if it is present."""
        return self.value(index) if self.has(index) else None

    def number(self, value: float, dtype: str) -> SSAValue:
        """Add a scalar constant."""
        return self.constant(np.asarray(value, dtype), "scalar")

    def axes(self, index: int, rank: int) -> tuple[int, ...]:
        """Return the axes in input `index`, counted from 0, each once."""
        axes = self.known_ints(index, "axes")
        if any(not -rank <= axis < rank for axis in axes):
            self.fail(f"axes in [{-rank}, {rank})", str(list(axes)))
        return tuple(dict.fromkeys(axis % rank for axis in axes))

    def axis(self, axis: int, rank: int) -> int:
        """Return an axis counted from 0."""
        if not -rank <= axis < rank:
            self.fail(f"an axis in [{-rank}, {rank})", str(axis))
        return axis % rank
