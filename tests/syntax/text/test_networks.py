"""Whole programs: printed, read back, equal; as written, and as ops have them with types and spans."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np
import pytest
from relay_networks import NETWORKS

from whence.dialects.relay.core import ConstantOp, FuncOp
from whence.provenance.span import SourceName, Span
from whence.reading.textio import read_module
from whence.runtime.values.params import write_params
from whence.support.dtypes import Array
from whence.support.errors import FrontendError
from whence.syntax.relay.elaborate import elaborate
from whence.syntax.relay.equal import structural_equal
from whence.syntax.relay.expr import Program
from whence.syntax.relay.view import view
from whence.syntax.text import astext, fromtext, parse
from whence.syntax.text.prelude import import_prelude, prelude

FOLDER = Path(__file__).parents[2] / "relay"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.relay"))


def program(name: str) -> Program:
    if name == "prelude":
        return prelude()
    if name in NETWORKS:
        return NETWORKS[name]()
    return parse((FOLDER / f"{name}.relay").read_text(), f"{name}.relay")


@pytest.mark.parametrize("name", [*PROGRAMS, *NETWORKS, "prelude"])
def test_both_ways(name: str):
    made = program(name)
    spans = name not in NETWORKS
    assert structural_equal(fromtext(astext(made)), made, spans=spans)
    typed = view(elaborate(made))
    again = fromtext(astext(typed))
    assert structural_equal(again, typed, spans=spans)
    assert astext(again, annotate=lambda _: "") == astext(typed, annotate=lambda _: "")


def test_weights_beside_a_file(tmp_path: Path):
    text = (FOLDER / "mlp.relay").read_text()
    (tmp_path / "mlp.relay").write_text(text)
    values: dict[str, Array] = {}
    for param in parse(text).functions["main"].params[1:]:
        shape = param.type_annotation.concrete_shape
        values[param.name_hint] = np.arange(prod(shape), dtype="float32").reshape(shape)
    with open(tmp_path / "mlp.params", "wb") as stream:
        write_params({**values, "of no use": np.zeros(1, "float32")}, stream)
    module = read_module(tmp_path / "mlp.relay")
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    (data,) = function.block.args
    assert data.location == Span(SourceName("mlp.relay"), 3, 3, 11, 11).location
    constants = [op for op in module.walk() if isinstance(op, ConstantOp)]
    for op, (name, value) in zip(constants, values.items(), strict=True):
        np.testing.assert_array_equal(op.value(module), value, err_msg=name)


def test_weights_of_another_shape(tmp_path: Path):
    (tmp_path / "mlp.relay").write_text((FOLDER / "mlp.relay").read_text())
    with open(tmp_path / "mlp.params", "wb") as stream:
        write_params({"fc1_bias": np.zeros(3, "float32")}, stream)
    with pytest.raises(FrontendError, match=r"%fc1_bias: expected Tensor\[\(8\), float32\], got .*\(mlp\.relay:4:"):
        read_module(tmp_path / "mlp.relay")


def test_the_prelude_takes_no_ones_place():
    made = fromtext('#[version = "0.0.5"]\ndef @hd(%x: int32) { %x }')
    with pytest.raises(FrontendError, match="expected a program without hd"):
        import_prelude(made)
    empty = Program()
    import_prelude(empty)
    assert structural_equal(empty, prelude())
