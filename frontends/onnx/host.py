"""The steps of a model that Python does, and their options: those that make or read texts and maps.

So are those on sequences that loops carry: native code for one is for as many items as it has. Which values are texts
or maps is known before anything runs: inputs and initializers say it, operators pass it on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, TypeProto, helper
from xdsl.dialects.builtin import LocationAttr

from ...provenance.diagnostics import places
from ...runtime.interpreting.flow import Region, Step
from ...runtime.interpreting.host import HOST, OPERATORS, Task
from ...support.dtypes import Array
from ...support.errors import FrontendError, expectation

_ML = "ai.onnx.ml"
_ALWAYS = {
    ("", "RegexFullMatch"): 0,
    ("", "StringConcat"): 1,
    ("", "StringNormalizer"): 1,
    ("", "StringSplit"): 1,
    ("", "TfIdfVectorizer"): 0,
    ("com.microsoft", "Tokenizer"): 1,
    (_ML, "CastMap"): 0,
    (_ML, "CategoryMapper"): 1,
    (_ML, "DictVectorizer"): 0,
    (_ML, "ZipMap"): 1,
}
"""Operators that only Python has, and how many of their first outputs are of texts or maps, if they may be."""
_NUMBERS = {"Equal": 0, "Shape": 0, "Size": 0, "SequenceLength": 0, "Unique": 1}
"""Of texts, too: how many of their first outputs are of texts; of others all are."""
_LISTED = {
    "ConcatFromSequence": 0,
    "Identity": 1,
    "SequenceAt": 0,
    "SequenceErase": 1,
    "SequenceInsert": 1,
    "SequenceLength": 0,
}
"""Operators that Python does on sequences that loops carry, and how many of their outputs are such."""
_LABELS = {
    "LinearClassifier": "classlabels_ints",
    "SVMClassifier": "classlabels_ints",
    "TreeEnsembleClassifier": "classlabels_int64s",
}
"""Classifiers, and where they have labels that are numbers."""


def is_hosted_operator(domain: str, op_type: str) -> bool:
    """Return whether there is no other way to do an operator."""
    return (domain, op_type) in _ALWAYS


def is_hosted_type(type_: TypeProto) -> bool:
    """Return whether values of a type are texts or maps, or sequences of these."""
    match type_.WhichOneof("value"):
        case "map_type":
            return True
        case "sequence_type":
            return is_hosted_type(type_.sequence_type.elem_type)
        case "optional_type":
            return is_hosted_type(type_.optional_type.elem_type)
        case "tensor_type":
            return type_.tensor_type.elem_type == TensorProto.STRING
        case _:
            return False


def texts_of(tensor: TensorProto, what: str) -> Array:
    """The texts of a tensor; raises FrontendError where they are not UTF-8, or too few."""
    try:
        texts = [text.decode() for text in tensor.string_data]
        return np.asarray(texts, np.object_).reshape(tuple(tensor.dims))
    except ValueError as error:
        expected = f"{list(tensor.dims)} texts in UTF-8"
        raise FrontendError(expectation(what, expected, str(error))) from error


@dataclass(eq=False)
class Hosts:
    """The values of a region and those around it that native code does not take."""

    names: set[str]
    around: Hosts | None = None
    lists: set[str] = field(default_factory=set[str])
    """Sequences of tensors that loops carry."""

    @staticmethod
    def of(graph: GraphProto, around: Hosts | None) -> Hosts:
        names = {value.name for value in graph.input if is_hosted_type(value.type)}
        names |= {tensor.name for tensor in graph.initializer if tensor.data_type == TensorProto.STRING}
        carried = graph.input if around is not None else ()
        lists = {value.name for value in carried if value.type.WhichOneof("value") == "sequence_type"}
        return Hosts(names, around, lists - names)

    def listed(self, name: str) -> bool:
        """Return whether a value is a sequence that a loop carries."""
        return name in self.lists or (self.around is not None and self.around.listed(name))

    def __contains__(self, name: object) -> bool:
        scope: Hosts | None = self
        while scope is not None:
            if name in scope.names:
                return True
            scope = scope.around
        return False

    def reads(self, node: NodeProto) -> bool:
        return any(name in self for name in node.input if name)

    def leave(self, bodies: Mapping[str, Region], inner: Mapping[str, Hosts], outputs: Sequence[str]) -> None:
        """Note what bodies of a step give that is hosted, as the last outputs of it."""
        for name, body in bodies.items():
            # A loop's condition comes before what it leaves.
            given = body.outputs[max(0, len(body.outputs) - len(outputs)) :]
            for outer, value in zip(outputs, given, strict=False):
                if outer and value in inner[name]:
                    self.names.add(outer)
                elif outer and inner[name].listed(value):
                    self.lists.add(outer)

    def steps(
        self,
        step: Step,
        node: NodeProto,
        version: tuple[str, int],
        leaf: LocationAttr,
        source_of: Callable[..., object],
    ) -> list[Step]:
        """Return the steps that replace a step: itself, a host step, or native code with a host step behind it.

        version: the domain of `node`, and its version. source_of: gives the source of a step of another node.
        """
        domain, opset = version
        key, where = (domain, node.op_type), "; ".join(places(leaf))
        attributes = {a.name: a for a in node.attribute}
        if domain == _ML and attributes.get("classlabels_strings") and node.op_type in _LABELS:
            return self._labelled(step, node, where, source_of)
        operator, count = f"{domain}.{node.op_type}" if domain else node.op_type, len(node.output)
        if operator in _LISTED and node.input and self.listed(node.input[0]):
            self.lists.update(node.output[: _LISTED[operator]])
            return [replace(step, kind=HOST, attributes={"task": Task(operator, _plain(node, where), where)})]
        if key in _ALWAYS:
            options, count = _plain(node, where), _ALWAYS[key]
            special = _SPECIAL.get(key)
            options = options if special is None else special(options)
        elif key == (_ML, "LabelEncoder"):
            options = _encoder(node, where, self.reads(node))
            if options is None:
                return [step]
            count = int(options.get("dtype", np.int64) is None)
            if opset == 1:
                operator, count = f"{operator}_1", int(not self.reads(node))
        elif key == (_ML, "OneHotEncoder"):
            options = _plain(node, where)
            options["categories"] = options.get("cats_strings") or options.get("cats_int64s") or []
            if not options.get("cats_strings") and options.get("zeros", 1):
                return [step]
            count = 0
        elif (
            domain == "" and node.op_type == "Cast" and (self.reads(node) or _target(attributes) == TensorProto.STRING)
        ):
            options = _plain(node, where)
            options["dtype"] = _dtype(_target(attributes))
            count = int(options["dtype"] is None)
        elif domain == "" and node.op_type == "Constant" and _text_constant(attributes):
            options = {"value": _constant(attributes, where)}
        elif self.reads(node):
            operator = node.op_type
            if operator not in OPERATORS or (domain and key != (_ML, "ArrayFeatureExtractor")):
                raise FrontendError(expectation(node.op_type, "numbers", "texts or maps", where))
            options = {**_plain(node, where), "outputs": len(node.output)}
            count = _NUMBERS.get(operator, count)
        else:
            return [step]
        self.names.update(name for name in node.output[:count] if name)
        return [replace(step, kind=HOST, attributes={"task": Task(operator, options, where), "hosted": True})]

    def _labelled(self, step: Step, node: NodeProto, where: str, source_of: Callable[..., object]) -> list[Step]:
        """A classifier that gives numbers of classes, and a host step that gives their names."""
        names: list[str] = _plain(node, where)["classlabels_strings"]
        plain = NodeProto()
        plain.CopyFrom(node)
        kept = [a for a in node.attribute if a.name not in ("classlabels_strings", _LABELS[node.op_type])]
        del plain.attribute[:]
        plain.attribute.extend([*kept, helper.make_attribute(_LABELS[node.op_type], list(range(len(names))))])
        label = node.output[0] if node.output else ""
        if not label:
            return [replace(step, source=source_of(proto=plain))]
        number = f"{label} (number)"
        plain.output[0] = number
        self.names.add(label)
        # One class has a score that may be high or low.
        task = Task("labels", {"names": names if len(names) > 1 else ["0", "1"]}, where)
        return [
            replace(step, outputs=tuple(plain.output), source=source_of(proto=plain)),
            Step((number,), (label,), step.layer, HOST, {}, {"task": task, "hosted": True}, step.source),
        ]


def _texts(strings: Sequence[bytes], where: str) -> list[str]:
    try:
        return [text.decode() for text in strings]
    except UnicodeDecodeError as error:
        raise FrontendError(f"expected texts in UTF-8, got: {error} ({where})") from error


def _plain(node: NodeProto, where: str) -> dict[str, Any]:
    """The attributes of a node as Python has them."""
    found: dict[str, Any] = {}
    for attribute in node.attribute:
        match attribute.type:
            case AttributeProto.STRING:
                (found[attribute.name],) = _texts([attribute.s], where)
            case AttributeProto.STRINGS:
                found[attribute.name] = _texts(attribute.strings, where)
            case AttributeProto.TENSOR:
                found[attribute.name] = _array(attribute.t, where)
            case AttributeProto.INTS | AttributeProto.FLOATS:
                found[attribute.name] = list(helper.get_attribute_value(attribute))
            case _:
                found[attribute.name] = helper.get_attribute_value(attribute)
    return found


def _array(tensor: TensorProto, where: str) -> Array:
    if tensor.data_type == TensorProto.STRING:
        return texts_of(tensor, where)
    try:
        return onnx.numpy_helper.to_array(tensor)
    except (ValueError, TypeError) as error:
        raise FrontendError(f"expected a tensor in an attribute, got: {error} ({where})") from error


def _zip_map(told: dict[str, Any]) -> dict[str, Any]:
    return {"labels": told.get("classlabels_strings") or told.get("classlabels_int64s") or []}


_SPECIAL: dict[tuple[str, str], Callable[[dict[str, Any]], dict[str, Any]]] = {(_ML, "ZipMap"): _zip_map}


def _encoder(node: NodeProto, where: str, reads: bool) -> dict[str, Any] | None:
    """Return the options of a LabelEncoder; None for one of numbers only."""
    options = _plain(node, where)
    if "classes_strings" in options:
        return options
    keys, values = _listed(options, "keys"), _listed(options, "values")
    if not any(isinstance(item, str) for item in (*keys[:1], *values[:1])) and not reads:
        return None
    if len(keys) != len(values):
        found = f"{len(keys)} and {len(values)}"
        raise FrontendError(expectation(node.op_type, "as many keys as values", found, where))
    dtype: np.dtype[Any] | None = np.dtype(np.float32 if "values_floats" in options else np.int64)
    if "values_tensor" in options:
        dtype = options["values_tensor"].dtype
    if values and isinstance(values[0], str):
        dtype, default = None, options.get("default_string", "_Unused")
    elif dtype is not None and dtype.kind == "f":
        default = options.get("default_float", -0.0)
    else:
        default = options.get("default_int64", -1)
    if (given := options.get("default_tensor")) is not None:
        (default,) = given.reshape(-1).tolist() or [default]
    return {"keys": keys, "values": values, "default": default, "dtype": dtype}


def _listed(told: Mapping[str, Any], what: str) -> list[Any]:
    """The keys or values of an encoder."""
    if (tensor := told.get(f"{what}_tensor")) is not None:
        return tensor.reshape(-1).tolist()
    names = [f"{what}_{kind}" for kind in ("strings", "int64s", "floats")]
    columns: list[list[Any]] = [told[name] for name in names if name in told]
    return columns[0] if columns else []


def _target(attributes: Mapping[str, AttributeProto]) -> int:
    to = attributes.get("to")
    return to.i if to is not None and to.type == AttributeProto.INT else 0


def _dtype(code: int) -> np.dtype[Any] | None:
    """The dtype of an element type; None of texts."""
    return None if code == TensorProto.STRING else np.dtype(helper.tensor_dtype_to_np_dtype(code))


def _text_constant(attributes: Mapping[str, AttributeProto]) -> bool:
    value = attributes.get("value")
    tensor = value is not None and value.t.data_type == TensorProto.STRING
    return tensor or "value_string" in attributes or "value_strings" in attributes


def _constant(attributes: Mapping[str, AttributeProto], where: str) -> Array:
    if (value := attributes.get("value")) is not None:
        return texts_of(value.t, where)
    if (one := attributes.get("value_string")) is not None:
        return np.asarray(_texts([one.s], where)[0], np.object_)
    return np.asarray(_texts(attributes["value_strings"].strings, where), np.object_)
