"""The operators that Whence reads from each format, and the declarations in their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from whence.frontends.importing.attributes import REQUIRED, Attribute, listed
from whence.frontends.importing.converter import Converter
from whence.frontends.importing.rows import Input, declaration_of
from whence.support.errors import FrontendError
from whence.support.names import did_you_mean

Named = Iterator[tuple[str, Converter[Any]]]


@dataclass(frozen=True)
class AttributeRow:
    """An attribute that a row declares."""

    name: str
    kind: str
    """A type, or the words among which it is one."""
    default: Any
    """The value of one that a node does not state; None of one that it may do without."""
    required: bool
    computed: bool
    """True if the default depends on the node."""

    def __str__(self) -> str:
        default = "" if self.required else " = .." if self.computed else f" = {self.default!r}"
        return f"{self.name}: {self.kind}{default}"


@dataclass(frozen=True)
class OperatorRow:
    """An operator, and the parts of a node that its row reads."""

    name: str
    inputs: Sequence[Input]
    attributes: Sequence[AttributeRow]
    complete: bool
    """False if the row reads other parts of a node, too, depending on its contents."""

    def __str__(self) -> str:
        inputs = [each.name + "?" * each.optional + "*" * each.variadic for each in self.inputs]
        parts = [*inputs, *map(str, self.attributes), *([] if self.complete else [".."])]
        return f"{self.name}({', '.join(parts)})"


def _onnx() -> Named:
    from whence.frontends.onnx.convert import DOMAINS, spelled

    for domain, table in DOMAINS.items():
        if domain != "ai.onnx":
            yield from ((spelled(domain, name), row) for name, row in table.of_operators())


def _pytorch() -> Named:
    from whence.frontends.torch.convert import CONVERTERS

    yield from CONVERTERS.of_operators()


def _tflite() -> Named:
    from whence.frontends.tflite.convert import CONVERTERS, HYBRID, QUANTIZED

    for table, data in ((CONVERTERS, ""), (QUANTIZED, " of quantised data"), (HYBRID, " of quantised weights")):
        yield from ((name + data, row) for name, row in table.of_operators())


def _tensorflow() -> Named:
    from whence.frontends.tensorflow.convert import CONVERTERS

    yield from CONVERTERS.of_operators()


def _keras() -> Named:
    from whence.frontends.keras.convert import LAYERS, OPERATIONS

    yield from LAYERS.of_operators()
    yield from ((f"keras.ops.{name}", row) for name, row in OPERATIONS.of_operators())


def _stablehlo() -> Named:
    from whence.frontends.stablehlo.convert import CONVERTERS

    yield from CONVERTERS.of_operators()


FORMATS: dict[str, Callable[[], Named]] = {
    "onnx": _onnx,
    "pytorch": _pytorch,
    "tflite": _tflite,
    "tensorflow": _tensorflow,
    "keras": _keras,
    "stablehlo": _stablehlo,
}


def operators(format: str, names: Sequence[str] = ()) -> list[OperatorRow]:
    """Return the operators of a format, by name; with `names`, only those whose names contain one of them.

    Raises FrontendError for an unknown format, and for a name that no operator has.
    """
    if format not in FORMATS:
        raise FrontendError(f"expected a format among {listed(tuple(FORMATS))}, got '{format}'")
    rows = dict(FORMATS[format]())
    chosen: set[str] = set()
    for name in names:
        alike = [name] if name in rows else [each for each in rows if name.lower() in each.lower()]
        if not alike:
            raise FrontendError(f"expected an operator of {format}, got '{name}'{did_you_mean(name, list(rows))}")
        chosen.update(alike)
    return [_row(name, rows[name]) for name in sorted(rows) if not names or name in chosen]


def _row(name: str, converter: Converter[Any]) -> OperatorRow:
    declaration = declaration_of(converter)
    if declaration is None:
        return OperatorRow(name, (), (), complete=False)
    attributes = [_attribute(attribute.name or key, attribute) for key, attribute in declaration.attributes.items()]
    return OperatorRow(name, declaration.inputs, attributes, not declaration.of_context)


def _attribute(name: str, attribute: Attribute[Any]) -> AttributeRow:
    among = cast("Sequence[str]", getattr(attribute, "among", ()))
    kind = listed([repr(word) for word in among]) if among else type(attribute).__name__.lower()
    required, computed = attribute.default is REQUIRED, callable(attribute.default)
    default = None if required or computed else attribute.default
    default = str(cast("np.dtype[Any]", default)) if isinstance(default, np.dtype) else default
    return AttributeRow(name, kind, default, required, computed)
