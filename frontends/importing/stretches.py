"""Stretches of a model's steps -> modules: for the shapes of the values in a call, or for all sizes like theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp, i8
from xdsl.ir import BlockArgument, SSAValue

from ...dialects.element_types import tensor_type
from ...dialects.relay.size_ranges import main_of, set_ranges
from ...dialects.sizes import Size, known_ranges
from ...dialects.sizes.types import tensor_of
from ...dialects.sizes.unknowns import Unknowns
from ...runtime.interpreting.flow import Argument, Items, Known, Output, Region, Step, Value
from ...runtime.interpreting.flow import Source as Left
from ...runtime.interpreting.flow import tensor as array_of
from ...runtime.interpreting.shape_patterns import Pattern, places_of_sizes
from ...support.dtypes import Array
from .importer import Importer
from .model import Model
from .names import strings
from .sizes import open_places
from .tensor import Tensor, Undecided


@dataclass(frozen=True, eq=False)
class Imported:
    """A stretch of steps."""

    module: ModuleOp
    arguments: tuple[Argument, ...]
    """The arguments of `@main`."""
    results: Mapping[str, Left]
    """The sources of its results, by name."""
    next: Step | None
    """The first step that is not in it."""
    computes: bool
    """True if there is anything left to run."""
    cut: Undecided | None = None
    """The reason why it ends before that step."""

    @property
    def shortened(self) -> bool:
        """Return whether it ends because that step accepts certain sizes only, not because values decide the step."""
        return self.cut is not None and self.cut.tensor is None and self.next is not None and not self.next.kind


def import_stretch(
    source: Model, region: Region, at: int, given: Mapping[str, Value], sizes: Sequence[Size] | None = None
) -> Imported:
    """Import as many steps of a region, from `at` on, as can be converted for values of these shapes.

    sizes: other sizes of the values than their own, in the order of `runtime.shape_patterns.kind_of`.
    Raises Demand for the name of a value that the first step needs, and FrontendError for steps that cannot be
    imported.
    """
    importer = Importer(source, region)
    entering = None if sizes is None else iter(sizes)
    for name, value in given.items():
        importer.tensors[name] = _entered(importer, name, value, Argument(name), entering)
    begin = region.steps[at]
    follow = importer.convert_steps(region, at, cut=True)
    if follow is begin:
        return Imported(importer.module, (), {}, begin, False, importer.cut)
    position = len(region.steps) if follow is None else region.steps.index(follow)
    needed = region.needed_after(position)
    values: dict[SSAValue, int] = {}
    results = {name: _left(importer, importer.tensors[name], values) for name in importer.bound if name in needed}
    importer.main.attributes["output_names"] = strings(value.name_hint or f"result{k}" for value, k in values.items())
    importer.main.attributes["input_names"] = strings(map(_spelled, importer.arguments))
    module = importer.finish(list(values))
    return Imported(module, tuple(importer.arguments), results, follow, bool(values), importer.cut)


Sizes: TypeAlias = "Iterator[Size] | None"
"""The remaining sizes of values, in order; None if they are the values' own."""


def _entered(importer: Importer, name: str, value: Value, argument: Argument, sizes: Sizes) -> Tensor:
    """Return the tensor for the interpreter's value with a name."""
    match value:
        case None:
            return Tensor(name, items=None, nothing=True)
        case list():
            arguments = [Argument(name, (*argument.path, at)) for at in range(len(value))]
            pairs = zip(value, arguments, strict=True)
            return Tensor(name, items=[_entered(importer, name, item, own, sizes) for item, own in pairs])
        case Known():
            array = value.array if sizes is None else _opened(importer, name, value.array, argument, sizes)
            leaf = importer.value_leaf(name, importer.region)
            return Tensor(name, array, leaf=leaf, counts=value.array.dtype)
        case _:
            type_ = tensor_type(array := array_of(value, name))
            if sizes is not None:
                type_ = tensor_of(type_.element_type, list(islice(sizes, array.ndim)))
            return importer.argument(name, type_, argument)


def _opened(importer: Importer, name: str, array: Array, argument: Argument, sizes: Iterator[Size]) -> Array:
    """Return a known value with sizes for the elements that may differ between calls, and add arguments for these."""
    flat: Array = array.reshape(-1).astype(np.object_)
    for at in places_of_sizes(array):
        flat[at] = next(sizes)
    opened = open_places(flat)
    for at in opened:
        importer.argument(name, tensor_of(i8, [0, flat[at]]), replace(argument, element=at))
    return flat.reshape(array.shape) if opened else array


def _left(importer: Importer, tensor: Tensor, values: dict[SSAValue, int]) -> Left:
    """Return the place of a tensor after the stretch, for the interpreter; `values` are the outputs so far."""
    if tensor.items is not None:
        return Items(tuple(_left(importer, item, values) for item in tensor.items))
    if tensor.nothing:
        return None
    if tensor.symbolic:
        at = values.setdefault(tensor.materialise(importer.builder, importer.module), len(values))
        assert tensor.array is not None
        return Output(at, known=open_places(tensor.array))
    if tensor.array is not None:
        return Known(tensor.array)
    assert tensor.value is not None
    if isinstance(tensor.value, BlockArgument):
        return importer.arguments[tensor.value.index]
    at = values.setdefault(tensor.value, len(values))
    if tensor.narrowed is None:
        return Output(at)
    count, axis = tensor.narrowed
    return Output(at, values.setdefault(count, len(values)), axis)


def import_open_stretch(
    source: Model,
    region: Region,
    at: int,
    given: Mapping[str, Value],
    pattern: Pattern,
    sizes: Sequence[int],
    *,
    whole: bool = False,
) -> Imported | None:
    """Import a stretch, as `import_stretch` does, for all values whose sizes fit a pattern.

    met: the sizes of `given`, in the order of the pattern. If a step requires two sizes to be equal, and those of
    `given` are, the program is only for equal ones. It ends before a step that does not accept sizes.
    whole: refuse a program that ends before such a step.
    Returns None if only the sizes of `given` would remain. Raises the errors of `import_stretch`, and Undecided for a
    program that would end at once.
    """
    unknowns = Unknowns(pattern.terms, sizes, list(_places(given)))
    while True:
        with known_ranges(unknowns.ranges):
            stretch = import_stretch(source, region, at, given, unknowns.sizes)
        if stretch.cut is None or not unknowns.narrow(stretch.cut.equal):
            break
    begin = region.steps[at]
    if stretch.cut is not None and ((stretch.next is begin and not begin.kind) or (whole and stretch.shortened)):
        raise stretch.cut
    if (unknowns.narrowed and not stretch.computes) or unknowns.decided:
        return None
    set_ranges(main_of(stretch.module), unknowns.ranges)
    return stretch


def _places(given: Mapping[str, Value]) -> Iterable[str]:
    """Yield a name for each size of values, in their order."""
    stack: list[tuple[str, Value]] = list(given.items())[::-1]
    while stack:
        name, value = stack.pop()
        if isinstance(value, list):
            stack += [(f"{name}_{k}", item) for k, item in enumerate(value)][::-1]
        elif isinstance(value, Known):
            yield from (f"{name}_{at}" for at in places_of_sizes(value.array))
        elif value is not None:
            yield from (f"{name}_{axis}" for axis in range(array_of(value, name).ndim))


def _spelled(argument: Argument) -> str:
    element = () if argument.element is None else (argument.element,)
    return argument.name + "".join(f"[{index}]" for index in (*argument.path, *element))
