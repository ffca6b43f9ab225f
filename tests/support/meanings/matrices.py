# pyright: basic
"""Matrices and products beyond `matmul`: over any axes, outer ones, by blocks, with sums; inverses, determinants."""

from __future__ import annotations

from typing import Any

import numpy as np
from special_numbers import Array

from meanings.meaning import Case, Meaning
from meanings.spelled import aten, op, spellings

_RNG = np.random.default_rng(23)


def _random(*shape: int) -> Array:
    return _RNG.uniform(-2, 2, shape).astype(np.float32)


def _regular(*shape: int) -> Array:
    """Return matrices whose diagonals are larger than the rest, of either sign."""
    signs = np.where(np.arange(shape[-1]) % 2, -6, 6).astype(np.float32)
    return _random(*shape) + np.eye(shape[-1], dtype=np.float32) * signs


_MATRICES = [Case("matrix", [_regular(3, 3)]), Case("batch", [_regular(2, 4, 4)])]
_A, _B = _random(2, 3, 4), _random(4, 3, 5)
_NAN = np.full((3, 5), np.nan, np.float32)


def _tensordot_stablehlo(net: Any, a: Any, b: Any) -> Any:
    numbers = "#stablehlo.dot<lhs_contracting_dimensions = [1, 2], rhs_contracting_dimensions = [1, 0]>"
    return net("dot_general", a, b, dot_dimension_numbers=numbers)


TABLE = [
    Meaning("inverse", np.linalg.inv, _MATRICES, spellings(
        torch="linalg_inv", names="A", keras="Inv", tensorflow="MatrixInverse",
        onnx_by=op("Inverse", domain="com.microsoft")), lost=1.0),
    Meaning("inverse_of_the_transpose", lambda x: np.linalg.inv(x.swapaxes(-1, -2)), _MATRICES, {
        "tensorflow": op("MatrixInverse", adjoint=True),
        "keras": lambda net, x: net("Inv", net("Swapaxes", x, axis1=-1, axis2=-2))}, lost=1.0),
    Meaning("determinant", np.linalg.det, _MATRICES, spellings(
        onnx="Det", torch="linalg_det", names="A", keras="Det", tensorflow="MatrixDeterminant"), lost=1000.0),
    Meaning("sign_and_log_of_determinant", lambda x: tuple(part.astype(x.dtype) for part in np.linalg.slogdet(x)),
            _MATRICES, {
        "torch": aten("linalg_slogdet", "A", results=2), "torch old": aten("slogdet", results=2),
        "keras": op("Slogdet", results=2), "tensorflow": op("LogMatrixDeterminant", results=2)}, lost=10.0),
    Meaning("solve", np.linalg.solve, [Case("columns", [_regular(3, 3), _random(3, 2)]),
                                       Case("batch", [_regular(2, 3, 3), _random(2, 3, 2)])], spellings(
        torch="linalg_solve", names="A B", keras="Solve", tensorflow="MatrixSolve"), lost=1.0),
    Meaning("solve_of_vectors", lambda a, b: np.linalg.solve(a, b[..., None])[..., 0], [
        Case("vector", [_regular(3, 3), _random(3)]), Case("batch", [_regular(2, 4, 4), _random(2, 4)])], spellings(
        torch="linalg_solve", names="A B", keras="Solve"), lost=1.0),
    Meaning("outer", np.outer, [Case("vectors", [_random(3), _random(4)])], spellings(
        torch="outer", names="self vec2", keras="Outer")),
    Meaning("inner", np.inner, [Case("vectors", [_random(3), _random(3)]), Case("matrices", [_random(2, 3), _random(
        4, 3)]), Case("more axes", [_random(2, 5, 3), _random(4, 2, 3)])], spellings(
        torch="inner", names="self other", keras="Inner"), lost=10.0),
    Meaning("vdot", np.vdot, [Case("vectors", [_random(5), _random(5)])], spellings(
        torch="vdot", names="self other", keras="Vdot", stablehlo="dot", torch_dot_by=aten("dot", "self tensor")),
            lost=10.0),
    Meaning("kron", np.kron, [Case("matrices", [_random(2, 3), _random(4, 2)]),
                              Case("ranks that differ", [_random(3), _random(2, 2)])], spellings(
        torch="kron", names="self other", keras="Kron")),
    Meaning("tensordot", lambda a, b: np.tensordot(a, b, ([1, 2], [1, 0])), [Case("two axes", [_A, _B])], {
        "torch": aten("tensordot", "self other", dims_self=[1, 2], dims_other=[1, 0]),
        "keras": op("Tensordot", axes=[[1, 2], [1, 0]]), "stablehlo": _tensordot_stablehlo}, lost=20.0),
    Meaning("trace", np.trace, [Case("square", [_random(3, 3)]), Case("wide", [_random(2, 4)])], spellings(
        torch="trace", keras="Trace"), lost=10.0),
    Meaning("product_and_sum", lambda a, b, c: 0.5 * (a @ b) + 2 * c, [
        Case("vector", [_random(3, 4), _random(4, 5), _random(5)]),
        Case("matrix", [_random(3, 4), _random(4, 5), _random(3, 5)])], {
        "onnx": op("Gemm", alpha=0.5, beta=2.0),
        "torch": lambda net, a, b, c: net("aten.addmm.default", self=c, mat1=a, mat2=b, alpha=0.5, beta=2)}, lost=10.0),
    Meaning("product_without_its_sum", lambda a, b, c: a @ b, [Case("not a number", [_random(3, 4), _random(4, 5),
                                                                                     _NAN])], {
        "onnx": op("Gemm", beta=0.0),
        "torch": lambda net, a, b, c: net("aten.addmm.default", self=c, mat1=a, mat2=b, beta=0)},
            lost=10.0, note="times 0 nothing is added, whatever it is"),
]  # fmt: skip
