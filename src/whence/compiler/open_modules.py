"""Relay modules whose inputs leave sizes open: a caller's shapes, and names for the sizes that stay open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.utils.exceptions import VerifyException

from whence.dialects.relay import LANGUAGE
from whence.dialects.relay.core import CallOp, FuncOp
from whence.dialects.relay.data_types import TypeDataOp
from whence.dialects.relay.match_cast import MatchCastOp
from whence.dialects.relay.size_ranges import REQUIRED, REQUIRED_BY, SIZES
from whence.dialects.sizes.types import SizesAttr
from whence.passes.relay.bind_sizes import resized
from whence.passes.relay.infer_type import infer_types
from whence.passes.relay.match_casts import keep_names
from whence.passes.relay.name_sizes import named as with_names
from whence.passes.relay.name_sizes import shape_inputs
from whence.provenance.diagnostics import fail
from whence.provenance.numbers import same_module
from whence.reading.input_shapes import GivenShapes
from whence.support.errors import FrontendError

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import Attribute


def give_shapes(module: ModuleOp, given: GivenShapes) -> None:
    """Give inputs of `@main` these shapes, in place; types follow.

    Raises FrontendError where they contradict the module.
    """
    shape_inputs(module, given.shapes, given.ranges)
    try:
        infer_types(module)
    except VerifyException as error:
        raise FrontendError(str(error)) from error


def for_all_sizes(module: ModuleOp) -> ModuleOp:
    """Return a copy of a module of operators in which every size has a name or is a number.

    Raises VerifyException where that cannot be: the program has functions, branches or calls, or values decide sizes.
    """
    primitive = {op.sym_name.data for op in module.ops if isinstance(op, FuncOp) and op.primitive is not None}
    for op in module.walk():
        calls = isinstance(op, CallOp) and op.callee.string_value() not in primitive
        if calls or (isinstance(op, LANGUAGE) and not isinstance(op, TypeDataOp)):
            fail(op, "operators only", f"a {op.name.removeprefix('relay.')}")
    return with_names(module)


def without_names(module: ModuleOp) -> ModuleOp:
    """Return a copy of a module in which every named size is `?`.

    Raises VerifyException for an operator whose attributes need the names.
    """
    for op in module.walk():
        named = any(isinstance(attribute, SizesAttr) for attribute in op.properties.values())
        if named and not isinstance(op, MatchCastOp):
            fail(op, "sizes that are numbers, or a program that runs for all sizes", "names in attributes")
    copy = same_module(module)
    keep_names(copy)
    block = copy.body.block
    for op in list(block.ops):
        bare = resized(op, lambda _: DYNAMIC_INDEX)
        block.insert_op_before(bare, op)
        op.detach()
        for inner in bare.walk():
            if isinstance(inner, FuncOp):
                notes = cast("Mapping[str, Attribute]", inner.attributes)
                inner.attributes = {
                    key: value for key, value in notes.items() if key not in (SIZES, REQUIRED, REQUIRED_BY)
                }
    return copy
