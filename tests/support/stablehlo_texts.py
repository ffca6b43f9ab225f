"""Texts of StableHLO in a form in which equal programs are equal."""

from __future__ import annotations

import io
import re

from xdsl.printer import Printer

from whence.frontends.stablehlo.text import parse


def generic_text(text: str) -> str:
    """Return a program in generic form; names of values and the order of properties say nothing."""
    module = parse(text, "text.mlir").module
    for op in module.walk():
        op.properties, op.attributes = (dict(sorted(named.items())) for named in (op.properties, op.attributes))
        for key in ("arg_attrs", "res_attrs"):
            op.properties.pop(key, None)
        for value in (*op.results, *(arg for region in op.regions for block in region.blocks for arg in block.args)):
            value.name_hint = None
    stream = io.StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    # Large constants stay in the text; they are called after their places.
    return re.sub(r"dense_resource<\w+>", "dense_resource<>", stream.getvalue())
