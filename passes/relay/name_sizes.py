"""Sizes that inputs leave open, `?`, get names, and all that follows from them follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute, BlockArgument

from ...dialects.relay.core import FuncOp
from ...dialects.relay.operator import Operator
from ...dialects.relay.size_ranges import main_of, ranges_of, required_of, set_ranges, set_required, symbols_in
from ...dialects.sizes import (
    Ranges,
    Size,
    SizeExpr,
    UndecidedSize,
    common_range,
    known_ranges,
    proves,
    range_for,
    same,
    substitute,
    symbol,
    symbols_of,
)
from ...dialects.sizes.intervals import Range
from ...dialects.sizes.text import identifier
from ...dialects.sizes.types import extents_of, is_open, tensor_of
from ...provenance.diagnostics import message
from ...support.errors import FrontendError
from .bind_sizes import bind_sizes
from .dynamic_to_static import DynamicToStaticPass
from .match_casts import resolve_casts
from .size_arithmetic import compute_sizes

Shapes = Mapping[str, "Sequence[Size]"]


def names_of_inputs(main: FuncOp) -> list[str]:
    """The names of a function's arguments, each once, as the source has them where it has any."""
    attribute = main.attributes.get("input_names")
    names = [name.data for name in cast("ArrayAttr[StringAttr]", attribute)] if isinstance(attribute, ArrayAttr) else []
    rest = main.block.args[len(names) :]
    names += [argument.name_hint or f"input{len(names) + k}" for k, argument in enumerate(rest)]
    taken = set(names)
    # Values have hints alike: xDSL drops the number behind one.
    for k, name in enumerate(names):
        if name in names[:k]:
            names[k] = next(new for n in count(1) if (new := f"{name}_{n}") not in taken)
            taken.add(names[k])
    return names


def shape_inputs(module: ModuleOp, shapes: Shapes, ranges: Ranges) -> None:
    """Give arguments of `@main` the shapes that a caller says, numbers or sizes; what `@main` calls otherwise gets the
    caller's names.

    Raises FrontendError for unknown names, and shapes and bounds that contradict the module's. Types of what follows
    are for `name_sizes` to find.
    """
    main = main_of(module)
    names = names_of_inputs(main)
    if unknown := [name for name in shapes if name not in names]:
        listed = ", ".join(unknown)
        raise FrontendError(f"User specified the shape for inputs that weren't found in the graph: {listed}")
    values: dict[str, Size] = {}
    for name, argument in zip(names, main.block.args, strict=True):
        if name in shapes:
            _agree(name, argument, shapes[name], values)
    renamed = {name: size for name, size in values.items() if not same(size, symbol(name))}
    carried = _carried(main, renamed, ranges)
    if renamed:
        bind_sizes(module, renamed)
        main = main_of(module)
    for name, argument in zip(names, list(main.block.args), strict=True):
        if name in shapes:
            _retype(argument, tensor_of(argument.type.element_type, shapes[name]))  # type: ignore[attr-defined]
    main.update_type()
    set_ranges(main, carried)


def _agree(name: str, argument: BlockArgument, shape: Sequence[Size], values: dict[str, Size]) -> None:
    """Note in `values` what a given shape says of the symbols of an argument's; complain where that cannot be."""
    type_ = argument.type
    declared = extents_of(cast("TensorType[Attribute]", type_)) if isinstance(type_, TensorType) else None
    fits = declared is not None and len(declared) == len(shape)
    for old, new in zip(declared or (), shape, strict=False):
        if isinstance(old, SizeExpr) and symbols_of(old) == (str(old),):
            fits = fits and same(values.setdefault(str(old), new), new)
    for old, new in zip(declared or (), shape, strict=False):
        fits = fits and not proves(new, "<", 0)
        fits = fits and (same(old, DYNAMIC_INDEX) or same(substitute(old, values), new))
    if not fits:
        wanted = f"a shape that agrees with the module's {_shown(declared)}"
        raise FrontendError(message(f"input '{name}'", wanted, f"[{', '.join(map(str, shape))}]", argument.location))


def _shown(shape: Sequence[Size] | None) -> str:
    if shape is None:
        return "input, which is no tensor"
    return f"[{', '.join('?' if same(size, DYNAMIC_INDEX) else str(size) for size in shape)}]"


def _carried(main: FuncOp, values: Mapping[str, Size], ranges: Ranges) -> Ranges:
    """The caller's ranges, and the function's under the names that the caller gives; what is no more than one symbol's
    becomes sizes that no call may make negative. Raises FrontendError where none is left."""
    merged: dict[str, Range] = dict(ranges)
    required = list(required_of(main))
    for name, range_ in ranges_of(main).items():
        size = values.get(name, symbol(name))
        low, high = range_
        if isinstance(size, int):
            if size < (low or 0) or (high is not None and size > high):
                raise FrontendError(f"input shapes: expected {_bounds(name, range_)}, got {name} = {size}")
        elif symbols_of(size) == (str(size),):
            common = common_range(merged.get(str(size), (0, None)), range_)
            if common is None:
                raise FrontendError(f"input shapes: expected {_bounds(name, range_)}, got other bounds of {size}")
            merged[str(size)] = common
        else:
            required += [(size - low, main.location)] if low else []
            required += [(high - size, main.location)] if high is not None else []
    set_required(main, required)
    return merged


def _bounds(name: str, range_: Range) -> str:
    low, high = range_
    return f"{low or 0} <= {name}" + ("" if high is None else f" <= {high}")


def name_sizes(module: ModuleOp) -> None:
    """Name each `?` of `@main`'s arguments after the argument and its place, and have types follow in one program of
    operators, `dyn` ones among them whose shapes are arithmetic with sizes.

    A program that makes sense for some values of a symbol only gets them as its bounds. Raises UndecidedSize where not
    all sizes follow from the arguments', VerifyException where types do not fit.
    """
    main = main_of(module)
    symbols = set(symbols_in(main))
    for name, argument in zip(names_of_inputs(main), list(main.block.args), strict=True):
        if is_open(argument.type):
            type_ = cast("TensorType[Attribute]", argument.type)
            sizes: list[Size] = []
            for axis, size in enumerate(extents_of(type_)):
                sizes.append(_fresh(f"{name}_{axis}", symbols) if same(size, DYNAMIC_INDEX) else size)
            _retype(argument, tensor_of(type_.element_type, sizes))
    main.update_type()
    ranges = dict(ranges_of(main))
    with known_ranges(ranges):
        DynamicToStaticPass().apply(Context(), module)
        compute_sizes(module)
    resolve_casts(module)
    for op in main_of(module).walk():
        if isinstance(op, Operator) and any(map(is_open, op.result_types)):
            op.infer(op.signature)
            raise UndecidedSize(message(op.name, "sizes that follow from the inputs'", "others", op.location))


def named(module: ModuleOp) -> ModuleOp:
    """A copy of a module after `name_sizes`, which is tried with narrower ranges of symbols where it needs them."""
    ranges: dict[str, Range] = {}
    while True:
        copy = module.clone()
        main = main_of(copy)
        ranges = {**ranges_of(main), **ranges}
        try:
            with known_ranges(ranges):
                name_sizes(copy)
        except UndecidedSize as error:
            needed = range_for(*error.equal) if error.equal is not None else None
            if needed is None or (common := common_range(ranges.get(needed[0], (0, None)), needed[1])) is None:
                raise
            if ranges.get(needed[0]) == common:
                raise
            ranges[needed[0]] = common
        else:
            set_ranges(main_of(copy), ranges)
            return copy


def _fresh(text: str, symbols: set[str]) -> SizeExpr:
    name = identifier(text, symbols)
    symbols.add(name)
    return symbol(name)


def _retype(argument: BlockArgument, type_: Attribute) -> None:
    if argument.type == type_:
        return
    block = argument.owner
    new = block.insert_arg(type_, argument.index, argument.location)
    new.name_hint = argument.name_hint
    argument.replace_all_uses_with(new)
    block.erase_arg(argument)
