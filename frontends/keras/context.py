"""The context of a Keras converter: one call of a layer, its configuration, arguments and weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ...dialects.relay.elementwise import CastOp
from ...dialects.relay.numerics import is_float
from ...dialects.sizes import same_shape
from ...support.dtypes import Array
from ..importing import context
from ..importing.attributes import REQUIRED
from ..importing.node import Node as ModelNode
from ..importing.node_parts import Asked, NodePart
from ..importing.results import Stated
from ..importing.tensor import Tensor, dtype_of
from .nests import entries_of, items_of, leaves, whole

Config = Mapping[str, Any]
FLOATS = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True)
class Reference:
    """An argument that is an input of the step."""

    index: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Node(ModelNode):
    """The call of a layer that a step comes from."""

    config: Config
    arguments: Sequence[Any]
    """The positional arguments; a tensor in them is a Reference."""
    keywords: Mapping[str, Any]
    weights: Mapping[str, int]
    """Name in the layer -> index among the inputs of the step."""
    states: Sequence[int] = ()
    """The inputs that hold the layer's states after the last call of the program."""
    is_mask: bool = False
    """True for a step that computes the mask of the layer's output."""
    major: int = 3
    """The version of Keras that wrote the file."""
    is_layer: bool = True
    """False for an operation of `keras.ops`, which computes in the dtypes of its operands."""
    names: tuple[str, ...] = ()
    """The names that the user may call its class by."""
    results: Sequence[Stated] = ()
    """The types of its outputs, where the file states them."""


_TRAINED = ("_initializer", "_regularizer", "_constraint", "_quantizer")
"""The ends of the names of entries about the initial values and the training of weights."""
HINTS: Mapping[str, str] = {
    **dict.fromkeys(("name", "trainable", "dtype", "build_config", "registered_name"), "of any layer"),
    **dict.fromkeys(
        ("batch_input_shape", "batch_shape", "build_input_shape", "input_length", "input_shape", "sparse", "ragged"),
        "of inputs",
    ),
    **dict.fromkeys(
        ("use_bias", "use_scale", "bias_axes", "center", "scale", "tie_weights", "unit_forget_bias"),
        "of weights, which there are",
    ),
    **dict.fromkeys(("dropout", "recurrent_dropout", "rate", "stddev", "noise_shape", "seed"), "of training"),
    **dict.fromkeys(("momentum", "renorm_momentum", "renorm_clipping", "power_iterations", "l1", "l2"), "of training"),
    **dict.fromkeys(("implementation", "unroll", "use_cudnn", "flash_attention"), "of the way to the same values"),
    **dict.fromkeys(("mask_zero", "stateful", "quantization_config"), "read with the graph"),
    "output_shape": "what weights show",
}
"""Entries of configurations that do not change the results, or are read elsewhere, each with the reason."""
DEFAULTS: Mapping[str, tuple[Any, ...]] = {"fill_mode": ("constant",), "sorted": (True, False)}
"""The defaults of entries of layers with rows, where they are not 0, false or None."""


def _is_default(name: str, value: Any) -> bool:
    return value in DEFAULTS[name] if name in DEFAULTS else not value


class AskedConfig(Mapping[str, Any]):
    """A configuration that records the names of the entries that are read."""

    def __init__(self, config: Config, asked: Asked):
        self._config, self._asked = config, asked

    def __getitem__(self, name: str) -> Any:
        self._asked.attributes.add(name)
        return self._config[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._config)

    def __len__(self) -> int:
        return len(self._config)


def policy_of(config: Config) -> str:
    """Return the name of the dtype policy of a layer: `float32`, `mixed_float16`, ..; raises ValueError without one.

    For a quantised layer, it is the policy that the layer had before quantisation.
    """
    policy_name = config.get("dtype")
    for _ in range(3):
        if (policy := entries_of(policy_name)) is None:
            break
        inner = entries_of(policy.get("config")) or {}
        policy_name = inner.get("source_name", inner.get("name"))
    if policy_name is None:
        return "float32"
    if not isinstance(policy_name, str):
        raise ValueError(type(policy_name).__name__)
    return policy_name.rpartition("_from_")[2]


def compute_dtype(policy: str) -> str:
    """Return the dtype that a policy computes in; raises ValueError for an unknown policy."""
    name = policy.removeprefix("mixed_")
    if name not in FLOATS and name not in ("int8", "int16", "int32", "int64", "uint8", "bool", "string"):
        raise ValueError(policy)
    return name


@dataclass(eq=False, kw_only=True)
class Context(context.Context):
    """One call under conversion. Its inputs are the tensors of its arguments, then the layer's weights."""

    repeats = True
    node: Node
    prefix: str = ""
    """The start of the names of weights: `forward_layer.` for a layer inside the called one."""

    # Configuration.

    @property
    def config(self) -> Config:
        """Return the configuration, which records the entries that are read."""
        return AskedConfig(self.node.config, self.asked)

    def parts(self) -> Iterator[NodePart]:
        """Yield the entries of the configuration that differ from the defaults of Keras."""
        for name, value in () if self.node.is_mask else self.node.config.items():
            if name not in HINTS and not name.endswith(_TRAINED) and not _is_default(name, value):
                yield NodePart(name, "configuration", name, repr(value))

    def inside(self, attribute: str, kind: str, config: Config) -> Context:
        """Return the context of the layer at an attribute of this one, with the same inputs."""
        node = replace(self.node, op_type=kind, config=config)
        prefix = f"{self.prefix}{attribute}." if attribute else self.prefix
        return replace(self, node=node, prefix=prefix)

    def with_values(self, *values: SSAValue, names: Sequence[str] = ()) -> Context:
        """Return this context with values in the place of its tensors; weights stay.

        names: the arguments that the values are; without a name, values are positional arguments, in order.
        """
        weights = sorted(self.node.weights.values())
        inputs = [*self.inputs[: weights[0] if weights else len(self.inputs)]]
        kept = self.inputs[len(inputs) :]
        shift = len(values) - len(inputs)
        weights_now = {name: index + shift for name, index in self.node.weights.items()}
        named = {name: Reference(at) for at, name in enumerate(names) if name}
        arguments = [Reference(at) for at in range(len(values) - len(named))]
        node = replace(self.node, arguments=arguments, keywords=named, weights=weights_now)
        tensors = [Tensor(f"value {at}", value=value, leaf=self.leaf) for at, value in enumerate(values)]
        return replace(self, node=node, inputs=[*tensors, *kept])

    def option(self, name: str, default: Any = None) -> Any:
        """Return an entry of the configuration; `default` where there is none."""
        return self.config.get(name, default)

    def stated(self, name: str) -> Any:
        value = self.option(name)
        # Keras saves numbers of numpy as tensors.
        return value if (tensor := entries_of(value)) is None else (entries_of(tensor.get("config")) or {}).get("value")

    def states_nothing(self, name: str) -> bool:
        return name in self.config

    def whole(self, value: Any) -> int | None:
        return whole(value)

    def element_type(self, name: str, value: Any) -> np.dtype[Any]:
        if not isinstance(value, str):
            self.fail(f"the name of a dtype as '{name}'", repr(value))
        try:
            return _bfloat16() if value == "bfloat16" else np.dtype(value)
        except TypeError:
            self.fail(f"a dtype as '{name}'", repr(value))

    def choice(self, name: str, allowed: Sequence[str], default: str = REQUIRED) -> str:
        value = self.word(name, default).lower()
        if value not in allowed:
            self.fail(f"'{name}' among {', '.join(allowed)}", repr(value))
        return value

    @property
    def dtype_name(self) -> str:
        """Return the dtype that the layer computes in."""
        try:
            return compute_dtype(policy_of(self.config))
        except ValueError as error:
            self.fail("a dtype policy of one dtype, or a mixed one", str(error))

    def channels_first(self) -> bool:
        if self.option("data_format") is None:
            return False
        return self.choice("data_format", ("channels_last", "channels_first")) == "channels_first"

    def axis(self, axis: int, rank: int) -> int:
        """Return an axis counted from the front."""
        if not -rank <= axis < rank:
            self.fail(f"an axis in [{-rank}, {rank})", str(axis))
        return axis % rank

    # Arguments.

    def index_of(self, name: str, position: int) -> int | None:
        if self.argument(position, name) is None:
            return None
        references = self.references(position, name)
        if len(references) != 1:
            self.fail(f"one tensor as argument {position} ({name})", str(len(references)))
        return references[0]

    def indices_of(self, name: str, position: int) -> list[int]:
        return self.references(position, name)

    def argument(self, index: int, name: str = "", default: Any = None) -> Any:
        """Return the argument at an index or of a name: a Reference or a value of Python."""
        if index < len(self.node.arguments):
            return self.node.arguments[index]
        return self.node.keywords.get(name, default)

    def references(self, index: int = 0, name: str = "inputs") -> list[int]:
        """Return the inputs that an argument, a tensor or a list of tensors, refers to."""
        return [reference.index for reference in leaves(self.argument(index, name), Reference)]

    def operands(self, index: int = 0, name: str = "inputs") -> list[SSAValue]:
        """Return the tensors of an argument."""
        return [self.value(at) for at in self.references(index, name)]

    def data(self, index: int = 0, name: str = "inputs") -> SSAValue:
        """Return the one tensor of an argument."""
        reference = self.index_of(name, index)
        if reference is None:
            self.fail(f"one tensor as argument {index} ({name})", "0")
        return self.value(reference)

    def optional(self, index: int, name: str) -> SSAValue | None:
        """Return the tensor of an optional argument."""
        return self.data(index, name) if self.argument(index, name) is not None else None

    def mask(self, index: int, name: str = "mask") -> SSAValue | None:
        """Return the mask of an optional argument, true at the elements that count."""
        reference = self.argument(index, name)
        return self.masks(reference)[0] if isinstance(reference, Reference) else None

    def masks(self, nest: Any) -> list[SSAValue | None]:
        """Return the masks that a nest refers to, as booleans; None for a tensor without a mask."""
        items = items_of(nest)
        references = [nest] if items is None else items
        values = [super(Context, self).value(ref.index) if isinstance(ref, Reference) else None for ref in references]
        return [None if value is None else self.cast(value, "bool") for value in values]

    # Values.

    def value(self, index: int) -> SSAValue:
        """Return input `index`; a layer gets floats in the dtype that it computes in."""
        value = super().value(index)
        if not self.node.is_layer or not is_float(dtype_of(value)):
            return value
        dtype = self.dtype_name
        return value if dtype not in FLOATS else self.cast(value, dtype)

    def cast(self, value: SSAValue, dtype: str) -> SSAValue:
        return value if dtype_of(value).name == dtype else self.emit(CastOp, value, dtype=dtype)

    # Weights.

    def has_weight(self, name: str) -> bool:
        return self.prefix + name in self.node.weights

    def weight_place(self, name: str, shape: Sequence[int] | None = None) -> int:
        """Return the index of the input that a weight is, once its shape is checked."""
        index = self.node.weights.get(self.prefix + name)
        if index is None:
            self.fail(f"a weight {name}", f"{', '.join(self.node.weights) or 'none'}")
        actual = self.shape(index)
        if shape is not None and not same_shape(actual, tuple(shape)):
            self.fail(f"weight '{self.prefix}{name}' of shape [{', '.join(map(str, shape))}]", str(list(actual)))
        return index

    def weight(self, name: str, shape: Sequence[int] | None = None) -> SSAValue:
        """Return a weight in the dtype that the layer computes in."""
        return self.value(self.weight_place(name, shape))

    def arranged(self, name: str, shape: Sequence[int], order: Sequence[int], newshape: Sequence[int] = ()) -> SSAValue:
        """Return a weight with its axes in another order, and perhaps another shape, under its own name."""
        tensor = self.tensor(self.weight_place(name, shape))
        assert tensor.array is not None
        array: Array = np.ascontiguousarray(tensor.array.transpose(order))
        if newshape:
            array = array.reshape(newshape)
        return self.of_weight(name, array)

    def of_weight(self, name: str, array: Array) -> SSAValue:
        """Return numbers computed from a weight, under its name, in the dtype that the layer computes in."""
        tensor = self.tensor(self.weight_place(name))
        if is_float(array.dtype) and self.dtype_name in FLOATS:
            array = array.astype(np.dtype(self.dtype_name) if self.dtype_name != "bfloat16" else _bfloat16())
        with self.builder.located(tensor.location):
            return self.constant(array, tensor.name)

    def numbers(self, name: str, shape: Sequence[int] | None = None) -> Array:
        """Return the numbers of a weight."""
        array = self.tensor(self.weight_place(name, shape)).array
        assert array is not None
        return array


def _bfloat16() -> np.dtype[Any]:
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)
