"""Weights as parameters of `@main`, as TVM's frontend has them, beside a module whose weights are constants."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr

from ...dialects.relay.core import ConstantOp, FuncOp
from ...provenance.span import layer_names
from ...support.dtypes import Array


def as_parameters(module: ModuleOp, tensors: AbstractSet[str]) -> dict[str, Array]:
    """Make parameters of the constants that are located at one of `tensors`: name -> value.

    They are called `_param_1`, `_param_2`, .. in the order in which the module has them, and come after the inputs;
    each keeps its location, which is the tensor's name.
    """
    main = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    found: dict[str, Array] = {}
    for op in list(main.block.ops):
        location = op.location
        if not isinstance(op, ConstantOp) or set(layer_names(location)) - tensors or not layer_names(location):
            continue
        name = f"_param_{len(found) + 1}"
        found[name] = op.value(module)
        argument = main.block.insert_arg(op.result.type, len(main.block.args))
        argument.location, argument.name_hint = location, name
        op.result.replace_all_uses_with(argument)
        op.detach()
        op.erase()
    names = main.attributes.get("input_names")
    given = list(cast("ArrayAttr[StringAttr]", names).data) if names is not None else []
    main.attributes["input_names"] = ArrayAttr([*given, *map(StringAttr, found)])
    main.update_type()
    return found
