"""The inputs of a model: what it says of their names, dtypes and extents, completed by the shapes that a user gives."""

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
"""Numbers and sizes; None for what is open and has no name."""


def size_named(text: str) -> SizeExpr:
    """Return the size that a name of an extent says: an expression as `past + 1`, else the symbol called like it."""
    try:
        size = parse_size(text)
    except ValueError:
        size = None
    return size if isinstance(size, SizeExpr) else symbol(identifier(text))


def no_element_type(what: str, supported: Iterable[object], actual: str) -> FrontendError:
    """Return the error about an element type that no tensor of relay has; `supported` are names of those that do."""
    return FrontendError(f"{what}: expected an element type among {', '.join(map(str, supported))}, got {actual}")


@dataclass(frozen=True)
class Inputs:
    """The inputs of a model, in order. Open extents of one name are one symbol; their names may be expressions.

    Shapes are given by the names of inputs, or by their aliases. What they say of a symbol holds for all inputs.
    """

    file: str
    specs: Sequence[OpenSpec] = ()
    aliases: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Other name of an input, which a call may use -> its name."""
    ranges: Ranges = field(default_factory=lambda: MappingProxyType({}))
    """The values that the model says its symbols take."""
    usual: Mapping[str, Sequence[int]] = field(default_factory=lambda: MappingProxyType({}))
    """Input -> the shape that it has if none is given, in the place of which any other of its rank may be given."""

    @property
    def leaves_open(self) -> bool:
        """Return whether an extent that has a number for those who give none is open."""
        return any(None in (spec.dims or ()) for spec in self.specs if spec.name in self.usual)

    def after(self, shapes: Mapping[str, Sequence[int]]) -> tuple[OpenSpec, ...]:
        """Return the inputs after `shapes`, of which each fits the model; raises FrontendError for others."""
        extents = self._extents(shapes)
        result: list[OpenSpec] = []
        for spec in self.specs:
            own, dims = extents[spec.name], spec.dims
            if own is not None:
                stated = dims if dims is not None else [None] * len(own)
                dims = [_dimension(size, dim) for size, dim in zip(own, stated, strict=True)]
            result.append(OpenSpec.of(spec.name, dims, spec.dtype, spec.kind))
        return tuple(result)

    def types(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, TensorType[Attribute]]:
        """Return the types of the inputs, by name, after `shapes`.

        Raises FrontendError for shapes that contradict the model, or do not fit into memory; Undecided for extents that
        nothing says, and for inputs that are no tensors of numbers.
        """
        specs = self.after(shapes)
        self._check_compiled()
        usual = {spec.name: self.usual.get(spec.name, spec.shape) for spec in specs}
        pairs = {spec.name: zip(spec.shape, usual[spec.name], strict=True) for spec in specs}
        extents = {name: [second if first == OPEN else first for first, second in pair] for name, pair in pairs.items()}
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
        """As `types`, with a symbol for each extent that is open: of its name, else called after input and axis.

        Raises Undecided for inputs of unknown rank.
        """
        extents = self._extents(shapes)
        self._check_compiled()
        types: dict[str, TensorType[Attribute]] = {}
        for spec in self.specs:
            if (own := extents[spec.name]) is None:
                raise Undecided(f"input '{spec.name}': expected a tensor of known rank, got any", None)
            called = (identifier(f"{spec.name}_{axis}") for axis in range(len(own)))
            sizes = [symbol(name) if size is None else size for name, size in zip(called, own, strict=True)]
            types[spec.name] = _type(spec, sizes)
        return types

    def named(self, shapes: Mapping[str, ShapeT]) -> dict[str, ShapeT]:
        """Return shapes by the names of inputs. Raises FrontendError for names that none has."""
        names = {**self.aliases, **{spec.name: spec.name for spec in self.specs}}
        if unknown := [str(name) for name in shapes if name not in names]:
            listed = ", ".join(unknown)
            raise FrontendError(f"User specified the shape for inputs that weren't found in the graph: {listed}")
        return {names[name]: shape for name, shape in shapes.items()}

    def _check_compiled(self) -> None:
        """Raise Undecided for inputs that native code does not take."""
        for spec in self.specs:
            if spec.kind != "tensor" or spec.dtype.hasobject:
                actual = "texts" if spec.kind == "tensor" else f"a {spec.kind}"
                raise Undecided(f"input '{spec.name}': expected a tensor of numbers, got {actual}", None)

    def _extents(self, shapes: Mapping[str, Sequence[Size]]) -> dict[str, Extents | None]:
        """The extents of each input after `shapes`; None where even their number is open."""
        wanted = {
            name: [size if isinstance(size, SizeExpr) else int(size) for size in shape]
            for name, shape in self.named(shapes).items()
        }
        bound: dict[str, Size] = {}
        for spec in self.specs:
            shape = wanted.get(spec.name)
            if shape is None:
                continue
            if (spec.ranked and len(shape) != len(spec.shape)) or any(proves(size, "<", 0) for size in shape):
                self._disagree(spec, shape)
            for text, size in zip(spec.names, shape, strict=False):
                if text is not None and text not in bound:
                    bound[text] = size
                    self._check_range(spec, shape, text, size)
        result: dict[str, Extents | None] = {}
        for spec in self.specs:
            own: Extents | None = None
            if (dims := spec.dims) is not None:
                own = [_size_after(dim, bound) if isinstance(dim, str) else dim for dim in dims]
            if (shape := wanted.get(spec.name)) is not None:
                fits = own is None or spec.name in self.usual
                if not fits and not all(a is None or same(a, b) for a, b in zip(own or (), shape, strict=True)):
                    self._disagree(spec, shape)
                own = shape
            result[spec.name] = own
        return result

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
    """The size that a name of an extent says, for what names are: of an expression its symbols, else its own text."""
    values = {str(size_named(name)): size for name, size in bound.items()}
    size = size_named(text)
    return substitute(size, values) if values.keys() & set(symbols_of(size)) else bound.get(text, size)


def _dimension(size: Size | None, stated: Dimension) -> Dimension:
    """The model's own name of an extent that stays as it is; else what it is."""
    if isinstance(size, SizeExpr):
        return stated if isinstance(stated, str) and same(size, size_named(stated)) else str(size)
    return size


def _type(spec: OpenSpec, sizes: Sequence[Size]) -> TensorType[Attribute]:
    numbers = [size for size in sizes if isinstance(size, int)]
    if len(numbers) == len(sizes) and (too_big := excess(numbers, spec.dtype.itemsize)):
        raise FrontendError(f"input '{spec.name}': expected {expectation()}, got {too_big}")
    return tensor_of(element_type(spec.dtype), sizes)
