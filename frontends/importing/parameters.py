"""Weights as parameters of `@main`, as TVM's frontends import them."""

from __future__ import annotations

from collections.abc import Callable, Set
from itertools import count
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import SSAValue

from ...dialects.relay.core import ConstantOp, FuncOp
from ...provenance.span import layer_names
from ...support.dtypes import Array


def as_parameters(module: ModuleOp, name_of: Callable[[tuple[str, ...]], str | None]) -> dict[str, Array]:
    """Turn constants into parameters, after the inputs and in the order of the module; return name -> value.

    name_of: returns the parameter's name for a constant at some layers; None for constants that stay. Constants with
    the same name become one parameter, with the location of the first.
    """
    main = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    values: dict[str, Array] = {}
    arguments: dict[str, SSAValue] = {}
    for op in list(main.block.ops):
        if not isinstance(op, ConstantOp) or (name := name_of(layer_names(op.location))) is None:
            continue
        if name not in arguments:
            values[name] = op.value(module)
            arguments[name] = argument = main.block.insert_arg(op.result.type, len(main.block.args))
            argument.location, argument.name_hint = op.location, op.result.name_hint
        op.result.replace_all_uses_with(arguments[name])
        op.detach()
        op.erase()
    names = main.attributes.get("input_names")
    declared = list(cast("ArrayAttr[StringAttr]", names).data) if names is not None else []
    main.attributes["input_names"] = ArrayAttr([*declared, *map(StringAttr, values)])
    main.update_type()
    return values


def numbered_parameters(module: ModuleOp, weights: Set[str]) -> dict[str, Array]:
    """Turn constants whose layers are all weights into parameters `_param_1`, `_param_2`, ..; return name -> value."""
    numbers = count(1)

    def name_of(layers: tuple[str, ...]) -> str | None:
        return f"_param_{next(numbers)}" if layers and weights >= set(layers) else None

    return as_parameters(module, name_of)
