"""A model of a frontend, as what imports it and runs it needs to know it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ...dialects.sizes import Ranges, Size
from ...provenance.diagnostics import message
from ...runtime.flow import Region
from ...runtime.model_facts import ModelMetadata
from ...runtime.open_specs import OpenSpec
from .custom import NO_CUSTOM_OPS, CustomOps
from .tensor import Undecided


class Model(ABC):
    """A loaded and checked model, as what imports it and runs it needs to know it."""

    file: str
    """The name of the file, without folders; what locations say."""
    name: str
    """Of the graph."""
    prefix: str
    """The ledger's prefix for operators of the model: `onnx` in `onnx.Conv`."""
    region: Region
    """Its steps."""
    aliases: Mapping[str, str] = MappingProxyType({})
    """Other name of an input, which a call may use -> its name."""
    metadata: ModelMetadata = ModelMetadata()
    """The metadata that the file states."""
    custom_ops: CustomOps = NO_CUSTOM_OPS
    """The operators that Python functions compute."""

    @abstractmethod
    def importer(self, region: Region) -> Any:
        """Return the `Importer` of the steps of a region."""

    @abstractmethod
    def input_types(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, TensorType[Attribute]]:
        """Input name -> type, in order; `shapes` are what the user gives.

        Raises FrontendError for shapes that contradict the model, and Undecided for what stays open.
        """

    def symbolic_types(self, shapes: Mapping[str, Sequence[Size]]) -> dict[str, TensorType[Attribute]]:
        """As `input_types`, with a symbol for each open dimension. Raises Undecided where there is none."""
        raise Undecided(message(self.file, "inputs of known sizes", "open ones"), None)

    @property
    def ranges(self) -> Ranges:
        """The values that the model says its symbols take."""
        return {}

    @abstractmethod
    def open_inputs(self, shapes: Mapping[str, Sequence[int]]) -> tuple[OpenSpec, ...]:
        """The inputs after `shapes`, which `input_types` has checked."""

    @abstractmethod
    def open_outputs(self) -> tuple[OpenSpec, ...]:
        """The outputs, as far as the model says."""
