"""The ops of a dialect as lines of a table: `name operands -> results {regions} : properties`.

An operand `*x` stands for any number of values, `x?` for one that may be missing; so do results. A property `x?` may be
missing, a region `*x` stands for any number of them. Several variadic groups of one op have equal sizes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    IRDLOperation,
    IRDLOption,
    ParsePropInAttrDict,
    SameVariadicOperandSize,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.traits import IsTerminator

from .directives import DIRECTIVES

_LINE = re.compile(r"(\w+)\s*([^-{:]*)(?:->\s*([^{:]*))?(?:\{([^}]*)\})?\s*(?::\s*(.*))?")


def op_classes(
    dialect: str,
    table: str,
    formats: Mapping[str, str],
    syntaxes: Mapping[str, type[IRDLOperation]] | None = None,
) -> list[type[Operation]]:
    """Return the classes of the ops that the lines of a table declare.

    formats: name of an op -> its assembly format. syntaxes: name -> a base class that parses and prints the op.
    """
    lines = [line.strip() for line in table.strip().splitlines()]
    return [_op_class(dialect, line, formats, syntaxes or {}) for line in lines]


def _field(word: str) -> str:
    """The name of a field for a word of a line: one that no op has anyway."""
    name = word.strip("*?")
    return f"{name}_" if hasattr(IRDLOperation, name) else name


def _op_class(
    dialect: str, line: str, formats: Mapping[str, str], syntaxes: Mapping[str, type[IRDLOperation]]
) -> type[IRDLOperation]:
    match = _LINE.fullmatch(line)
    assert match is not None, line
    name, operands, results, regions, properties = (part or "" for part in match.groups())
    body: dict[str, Any] = {"name": f"{dialect}.{name}", "__module__": __name__, "__doc__": f"`{line}`"}
    for word in operands.split():
        variadic, optional = word.startswith("*"), word.endswith("?")
        define = var_operand_def if variadic else opt_operand_def if optional else operand_def
        body[_field(word)] = define(Attribute)
    for word in results.split():
        body[_field(word)] = (var_result_def if word.startswith("*") else result_def)(Attribute)
    for word in regions.split():
        body[_field(word)] = var_region_def() if word.startswith("*") else region_def()
    for word in properties.split():
        define = opt_prop_def if word.endswith("?") else prop_def
        body[f"{_field(word)}_property"] = define(Attribute, prop_name=word.strip("?"))
    options: tuple[IRDLOption, ...] = ()
    if operands.count("*") > 1:
        options = (SameVariadicOperandSize(),)
    if name in formats:
        body["assembly_format"], body["custom_directives"] = formats[name], DIRECTIVES
        options = (*options, ParsePropInAttrDict())
    body["irdl_options"] = options
    if name == "return":
        body["traits"] = traits_def(IsTerminator())
    title = "".join(part.capitalize() for part in name.split("_"))
    return irdl_op_definition(type(f"{title}Op", (syntaxes.get(name, IRDLOperation),), body))
