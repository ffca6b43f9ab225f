"""Every operator is declared once and whole; operands in groups, of which some may be missing."""

from __future__ import annotations

import pkgutil
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from io import StringIO
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import test
from xdsl.dialects.builtin import Builtin, ModuleOp, TensorType, f32
from xdsl.ir import Dialect
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from whence.dialects.relay import (
    OPERATORS,
    annotation,
    elementwise,
    nn,
    packed_call,
    qnn,
    qnn_elementwise,
    qnn_products,
    transform,
)
from whence.dialects.relay.evaluation import evaluate
from whence.dialects.relay.operator import Operator, operators_of
from whence.dialects.relay.signature import Signature, Tensor
from whence.dialects.relay.traits import INJECTIVE, FusionPattern, OpPattern
from whence.lowering import relay_to_te
from whence.lowering.relay_to_te.lower import TABLE

NOT_LOWERED = {
    *operators_of(annotation),
    nn.BatchNormOp,
    nn.DropoutOp,
    packed_call.CallDpsPackedOp,
    qnn.RequantizeOp,
    qnn_products.Conv2DTransposeOp,
    *set(operators_of(qnn_elementwise)) - {qnn_elementwise.AvgPool2DOp, qnn_elementwise.MultiplyAddOp},
}
"""Marks for external compilers, operators of training, those that are arithmetic on quantised tensors, packed calls.

Passes of every level rewrite them, and packed calls become parts for an external compiler.
"""


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_an_operator_has_all_its_meanings(operator: type[Operator]):
    assert operator.evaluate.__func__ is not Operator.evaluate.__func__
    assert operator.infer.__func__ is not Operator.infer.__func__
    assert operator.has_trait(FusionPattern)
    assert (operator in TABLE) == (operator not in NOT_LOWERED)


def test_operators_are_found_and_named_once():
    assert len({operator.name for operator in OPERATORS}) == len(OPERATORS)
    names = [module.name for module in pkgutil.iter_modules(relay_to_te.__path__) if module.name != "lower"]
    tables = [getattr(import_module(f"{relay_to_te.__name__}.{name}"), "TABLE", {}) for name in names]
    rows = Counter(operator for table in tables for operator in table)
    assert set(rows) <= set(OPERATORS)
    assert set(rows.values()) == {1}
    assert all(operator in TABLE for operator in rows)
    for module in (elementwise, nn, transform):
        declared = {value for name, value in vars(module).items() if name.endswith("Op")}
        assert declared <= set(OPERATORS)


@irdl_op_definition
class SampleOp(Operator):
    """The sum of `data`, `bias` if there is one, and all of `more`; and how many `more` are."""

    name = "relay.sample"
    data = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    more = var_operand_def(TensorType)
    result = result_def(TensorType)
    copies = var_result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(INJECTIVE)

    @classmethod
    def infer(cls, sig: Signature) -> Sequence[Tensor]:
        if sig.operand("bias") and sig.operand("bias")[0] != sig.types[0]:
            sig.fail(f"a bias of type {sig.types[0]}", str(sig.operand("bias")[0]))
        return [sig.types[0], *sig.operand("more")]

    @classmethod
    def evaluate(cls, sig: Signature, data: Any, bias: Any, more: tuple[Any, ...]) -> tuple[Any, ...]:
        return data + (0 if bias is None else bias) + sum(more), *more


X = TensorType(f32, (2,))


def values(count: int) -> list[Any]:
    return list(test.TestOp(result_types=[X] * count).results)


@pytest.mark.parametrize(("bias", "more"), [(True, 2), (False, 0), (False, 3), (True, 0)])
def test_operand_groups(bias: bool, more: int):
    data, extra, *rest = values(2 + more)
    op = SampleOp(data, extra if bias else None, rest)
    op.verify()
    assert len(op.results) == 1 + more
    assert list(op.operands) == [data, *([extra] if bias else []), *rest]
    rng = np.random.default_rng(more)
    arrays = [rng.standard_normal(2).astype(np.float32) for _ in op.operands]
    total, *copies = evaluate(op, arrays)
    np.testing.assert_allclose(np.asarray(total, np.float32), np.sum(arrays, axis=0), rtol=1e-6)
    assert len(copies) == more

    module = ModuleOp([data.owner, op])
    text = StringIO()
    Printer(text).print_op(module)
    assert ("_, [" in text.getvalue()) == (not bias)
    context = Context()
    for dialect in (Builtin, test.Test, Dialect("relay", [SampleOp], [])):
        context.load_dialect(dialect)
    again = Parser(context, text.getvalue()).parse_module()
    again.verify()
    assert again.is_structurally_equivalent(module)


def test_trailing_operand_groups_may_be_left_out():
    (data,) = values(1)
    assert list(SampleOp(data).operands) == [data]


def test_groups_are_checked():
    data, extra = values(2)
    with pytest.raises(VerifyException, match=r"relay.sample: expected 3 operands, got 4"):
        SampleOp(data, extra, [], data)
    wrong = test.TestOp(result_types=[TensorType(f32, (3,))]).results[0]
    with pytest.raises(VerifyException, match="expected a bias of type tensor<2xf32>, got tensor<3xf32>"):
        SampleOp(data, wrong)
    with pytest.raises(VerifyException, match=r"relay.add: expected 2 operands, got 3"):
        elementwise.AddOp(data, extra, data)
    with pytest.raises(VerifyException, match=r"relay.sample: expected one value for data, got 2"):
        SampleOp([data, extra])
    with pytest.raises(VerifyException, match=r"relay.sample: expected at most one value for bias, got 2"):
        SampleOp(data, [data, extra])


def test_a_variadic_operand_takes_what_is_given():
    data, extra = values(2)
    assert list(transform.ConcatenateOp(data, extra, data).operands) == [data, extra, data]
    assert SampleOp.pattern() is OpPattern.INJECTIVE
