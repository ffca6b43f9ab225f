"""The inputs of a model: the names, dtypes and extents that it states, completed by the user's shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NoReturn, TypeVar

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ...dialects.element_types import element_type
from ...dialects.sizes import Ranges, Size, SizeExpr, proves, same, substitute, symbol, symbols_of
from ...dialects.sizes.text import identifier, parse_size
from ...dialects.sizes.types import tensor_of
from ...runtime.values.open_specs import OPEN, Dimension, OpenSpec, spelled
from ...support.errors import FrontendError
from .limits import excess, expectation
from .tensor import Undecided

ShapeT = TypeVar("ShapeT")
Extents = Sequence["Size | None"]
"""Numbers and sizes; None for an open extent without a name."""


def size_named(text: str) -> SizeExpr:
    """Return the size that an extent's name means: an expression such as `past + 1`, or the symbol with that name."""
    try:
        size = parse_size(text)
    except ValueError:
        size = None
    return size if isinstance(size, SizeExpr) else symbol(identifier(text))


def no_element_type(what: str, supported: Iterable[object], actual: str) -> FrontendError:
    """Return the error about an element type that relay lacks; `supported` are the names of those that it has."""
    return FrontendError(f"{what}: expected an element type among {', '.join(map(str, supported))}, got {actual}")


@dataclass(frozen=True)
class Inputs:
    """The inputs of a model, in order. Open extents with the same name are one symbol; names may be expressions.

    Shapes are keyed by the names of inputs, or by their aliases. A symbol has the same value in all inputs.
    """

    file: str
    specs: Sequence[OpenSpec] = ()
    aliases: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Other name of an input, which a call may use -> its name."""
    ranges: Ranges = field(default_factory=lambda: MappingProxyType({}))
    """The ranges of symbols that the model states."""
    usual: Mapping[str, Sequence[int]] = field(default_factory=lambda: MappingProxyType({}))
    """Input -> its default shape, which any other shape of the same rank may replace."""

    @property
    def leaves_open(self) -> bool:
        """Return whether an input with a default shape has an open extent."""
        return any(None in (spec.dims or ()) for spec in self.specs if spec.name in self.usual)

    def after(self, shapes: Mapping[str, Sequence[int]]) -> tuple[OpenSpec, ...]:
        """Return the inputs with `shapes` applied; raises FrontendError for shapes that do not fit the model."""
        extents = self._extents(shapes)
        specs: list[OpenSpec] = []
        for spec in self.specs:
            sizes, dims = extents[spec.name], spec.dims
            if sizes is not None:
                declared = dims if dims is not None else [None] * len(sizes)
                dims = [_dimension(size, dim) for size, dim in zip(sizes, declared, strict=True)]
            specs.append(OpenSpec.of(spec.name, dims, spec.dtype, spec.kind))
        return tuple(specs)

    def types(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, TensorType[Attribute]]:
        """Return the types of the inputs, by name, with `shapes` applied.

        Raises FrontendError for shapes that contradict the model, or do not fit into memory; Undecided for unknown
        extents, and for inputs that are no tensors of numbers.
        """
        specs = self.after(shapes)
        self._check_compiled()
        defaults = {spec.name: self.usual.get(spec.name, spec.shape) for spec in specs}
        pairs = {spec.name: zip(spec.shape, defaults[spec.name], strict=True) for spec in specs}
        extents = {name: [default if size == OPEN else size for size, default in pair] for name, pair in pairs.items()}
        if opened := [spec for spec in specs if not spec.ranked or OPEN in extents[spec.name]]:
            listed = ", ".join(f"{spec.name} {spelled(spec.dims)}" for spec in opened)
            example = ",".join(str(1 if extent == OPEN else extent) for extent in opened[0].shape or [1])
            raise Undecided(
                f"{self.file}: expected static shapes, got dynamic dimensions in inputs {listed}; "
                f'give their shapes, such as "{opened[0].name}:[{example}]" (input_shapes, --input-shapes)',
                None,
            )
        return {spec.name: _type(spec, extents[spec.name]) for spec in specs}

    def symbolic_types(self, shapes: Mapping[str, Sequence[Size]]) -> dict[str, TensorType[Attribute]]:
        """Return the types of the inputs, with a symbol for each open extent, named after it or after input and axis.

        Raises the errors of `types`, but Undecided only for inputs of unknown rank or without numbers.
        """
        extents = self._extents(shapes)
        self._check_compiled()
        types: dict[str, TensorType[Attribute]] = {}
        for spec in self.specs:
            if (declared := extents[spec.name]) is None:
                raise Undecided(f"input '{spec.name}': expected a tensor of known rank, got any", None)
            names = (identifier(f"{spec.name}_{axis}") for axis in range(len(declared)))
            sizes = [symbol(name) if size is None else size for name, size in zip(names, declared, strict=True)]
            types[spec.name] = _type(spec, sizes)
        return types

    def named(self, shapes: Mapping[str, ShapeT]) -> dict[str, ShapeT]:
        """Return shapes keyed by the names of inputs. Raises FrontendError for unknown names."""
        names = {**self.aliases, **{spec.name: spec.name for spec in self.specs}}
        if unknown := [str(name) for name in shapes if name not in names]:
            listed = ", ".join(unknown)
            raise FrontendError(f"User specified the shape for inputs that weren't found in the graph: {listed}")
        return {names[name]: shape for name, shape in shapes.items()}

    def _check_compiled(self) -> None:
        """Raise Undecided for inputs that native code cannot take."""
        for spec in self.specs:
            if spec.kind != "tensor" or spec.dtype.hasobject:
                actual = "texts" if spec.kind == "tensor" else f"a {spec.kind}"
                raise Undecided(f"input '{spec.name}': expected a tensor of numbers, got {actual}", None)

    def _extents(self, shapes: Mapping[str, Sequence[Size]]) -> dict[str, Extents | None]:
        """Return the extents of each input with `shapes` applied; None if even the rank is open."""
        given = {
            name: [size if isinstance(size, SizeExpr) else int(size) for size in shape]
            for name, shape in self.named(shapes).items()
        }
        bound: dict[str, Size] = {}
        for spec in self.specs:
            shape = given.get(spec.name)
            if shape is None:
                continue
            if (spec.ranked and len(shape) != len(spec.shape)) or any(proves(size, "<", 0) for size in shape):
                self._disagree(spec, shape)
            for text, size in zip(spec.names, shape, strict=False):
                if text is not None and text not in bound:
                    bound[text] = size
                    self._check_range(spec, shape, text, size)
        extents: dict[str, Extents | None] = {}
        for spec in self.specs:
            sizes: Extents | None = None
            if (dims := spec.dims) is not None:
                sizes = [_size_after(dim, bound) if isinstance(dim, str) else dim for dim in dims]
            if (shape := given.get(spec.name)) is not None:
                fits = sizes is None or spec.name in self.usual
                if not fits and not all(a is None or same(a, b) for a, b in zip(sizes or (), shape, strict=True)):
                    self._disagree(spec, shape)
                sizes = shape
            extents[spec.name] = sizes
        return extents

    def _check_range(self, spec: OpenSpec, shape: Sequence[Size], text: str, size: Size) -> None:
        low, high = self.ranges.get(text, (0, None))
        least = low or 0
        if isinstance(size, int) and (size < least or (high is not None and size > high)):
            limit = f"from {least}" + ("" if high is None else f" to {high}")
            raise FrontendError(
                f"input '{spec.name}': expected {text} {limit}, got {size} in [{', '.join(map(str, shape))}]"
            )

    def _disagree(self, spec: OpenSpec, shape: Sequence[Size]) -> NoReturn:
        declared = spelled(self.usual.get(spec.name, spec.dims))
        raise FrontendError(
            f"input '{spec.name}': expected a shape that agrees with the model's {declared}, "
            f"got [{', '.join(map(str, shape))}]"
        )


def _size_after(text: str, bound: Mapping[str, Size]) -> Size:
    """Return the size that an extent's name means, with bound names, or the symbols of an expression, replaced."""
    values = {str(size_named(name)): size for name, size in bound.items()}
    size = size_named(text)
    return substitute(size, values) if values.keys() & set(symbols_of(size)) else bound.get(text, size)


def _dimension(size: Size | None, declared: Dimension) -> Dimension:
    """Return an extent as a dimension: the model's own name if it is the same size, else its value."""
    if isinstance(size, SizeExpr):
        return declared if isinstance(declared, str) and same(size, size_named(declared)) else str(size)
    return size


def _type(spec: OpenSpec, sizes: Sequence[Size]) -> TensorType[Attribute]:
    numbers = [size for size in sizes if isinstance(size, int)]
    if len(numbers) == len(sizes) and (too_big := excess(numbers, spec.dtype.itemsize)):
        raise FrontendError(f"input '{spec.name}': expected {expectation()}, got {too_big}")
    return tensor_of(element_type(spec.dtype), sizes)
