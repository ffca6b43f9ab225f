"""Einsum, determinants, triangles, identities, windows and losses against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from against_onnxruntime import check_node, one_node
from onnx import helper
from operator_cases import random

from whence.dialects.relay.interpret import evaluate_module
from whence.dialects.relay.linear_algebra import EinsumOp
from whence.frontends.onnx import from_onnx


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(3, 4), (4, 5)]),
        ("ij,jk", [(3, 4), (4, 5)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("bqhd,bkhd->bhqk", [(2, 4, 3, 5), (2, 6, 3, 5)]),
        ("bhqk,bkhd->bqhd", [(2, 3, 4, 6), (2, 6, 3, 5)]),
        ("bsd,hdk->bhsk", [(2, 3, 4), (5, 4, 6)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("ii->i", [(4, 4)]),
        ("bii->b", [(2, 4, 4)]),
        ("ijk->kij", [(2, 3, 4)]),
        ("ijk->j", [(2, 3, 4)]),
        ("i,j->ij", [(3,), (4,)]),
        ("ij,ij->ij", [(3, 4), (3, 4)]),
        ("ij,kj->k", [(3, 4), (5, 4)]),
        ("ab,bc,cd->ad", [(2, 3), (3, 4), (4, 5)]),
        ("ab,ab,bc->c", [(2, 3), (2, 3), (3, 4)]),
        ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]),
        ("b...d,d->b...", [(2, 3, 4), (4,)]),
    ],
)
def test_einsum(equation: str, shapes: list[tuple[int, ...]]):
    check_node("Einsum", *(random(shape) for shape in shapes), opset=12, equation=equation, rtol=1e-4, atol=1e-5)


def test_products_of_an_einsum_are_matrix_products():
    model, _ = one_node("Einsum", [random((2, 3, 4)), random((5, 4, 6))], opset=12, equation="bsd,hdk->bhsk")
    assert not [op for op in from_onnx(model).walk() if isinstance(op, EinsumOp)]


def test_determinants_and_triangles():
    check_node("Det", random((2, 3, 3)), opset=22)
    for upper in (0, 1):
        for k in (-2, 0, 1, 9):
            check_node("Trilu", random((2, 4, 5)), np.array(k), opset=14, known=[1], upper=upper)
        check_node("Trilu", random((4, 5), "int64"), opset=14, upper=upper)
    for k in (-1, 0, 2):
        check_node("EyeLike", random((3, 5)), opset=9, k=k, dtype=7)


@pytest.mark.parametrize("op", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
def test_windows(op: str, periodic: int):
    check_node(op, np.array(10), opset=17, known=[0], periodic=periodic, atol=1e-6)


def test_mel_weights():
    numbers: list[Any] = [np.array(8), np.array(64), np.array(8192)]
    edges = [np.array(10, np.float32), np.array(4000, np.float32)]
    check_node("MelWeightMatrix", *numbers, *edges, opset=17, known=[0, 1, 2, 3, 4])


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses(reduction: str, weighted: bool):
    targets = np.array([[0, 2, 3], [4, 0, 1]])
    given = [random((2, 5, 3)), targets, *([np.abs(random((5,)))] if weighted else [])]
    for ignored in ({}, {"ignore_index": 2}):
        check_node("NegativeLogLikelihoodLoss", *given, opset=13, reduction=reduction, **ignored)
        check_node("SoftmaxCrossEntropyLoss", *given, opset=13, outputs=(True, True), reduction=reduction, **ignored)


def test_sizes_and_sparse_constants():
    check_node("Size", random((2, 3, 4)), opset=13)
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("values", onnx.TensorProto.FLOAT, [2], [1.5, 2.5]),
        helper.make_tensor("at", onnx.TensorProto.INT64, [2], [1, 5]),
        [2, 3],
    )
    model, _ = one_node("Constant", [], opset=13, sparse_value=sparse)
    found: Any = evaluate_module(from_onnx(model), [])
    np.testing.assert_array_equal(found[0], [[0, 1.5, 0], [0, 0, 2.5]])
