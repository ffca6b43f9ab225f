"""Weights as parameters of `@main`, as TVM's frontends have them, beside a module whose weights are constants."""

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
    """Make parameters of constants, which come after the inputs in the order of the module: name -> value.

    name_of: what the parameter is called for the constants at some layers; None for constants that stay. Those of one
    name are one parameter, which keeps the location of the first.
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
    """Make parameters `_param_1`, `_param_2`, .. of the constants at layers that are all weights: name -> value."""
    numbers = count(1)

    def name_of(layers: tuple[str, ...]) -> str | None:
        return f"_param_{next(numbers)}" if layers and weights >= set(layers) else None

    return as_parameters(module, name_of)
