"""topi.generic and topi.x86: the compiler's strategies by TVM's names."""
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whence
from whence import te, topi
from whence.support.errors import WhenceError

_RANDOM = np.random.default_rng(5)


def test_a_dense_layer_has_the_compilers_tiles() -> None:
    a, w = te.placeholder((32, 64), name="a"), te.placeholder((48, 64), name="w")
    out = topi.nn.relu(topi.nn.dense(a, w))
    x, y = _RANDOM.standard_normal((32, 64)).astype("float32"), _RANDOM.standard_normal((48, 64)).astype("float32")
    for schedules in (topi.generic, topi.x86):
        s: Any = schedules.schedule_dense([out])
        assert any("vectorize" in op.name for op in s.primitives)
        result = np.zeros((32, 48), np.float32)
        whence.build(s, [a, w, out])(x, y, result)
        np.testing.assert_allclose(result, np.maximum(x @ y.T, 0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "operator", "wanted"),
    [
        ("schedule_injective", lambda a: topi.exp(a), np.exp),
        ("schedule_softmax", lambda a: topi.nn.softmax(a), lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)),
        ("schedule_reduce", lambda a: topi.sum(a, axis=1), lambda x: x.sum(axis=1)),
        ("default_schedule", lambda a: topi.transpose(a), lambda x: x.T),
    ],
)
def test_schedules_of_kinds(name: str, operator: Any, wanted: Any) -> None:
    a = te.placeholder((9, 35), name="a")
    out = operator(a)
    x = _RANDOM.standard_normal((9, 35)).astype("float32")
    with whence.target.Target("llvm"):
        schedule = getattr(topi.generic, name)(out, "NCHW", False)
    np.testing.assert_allclose(whence.build(schedule, [a, out])(x), wanted(x), rtol=1e-5, atol=1e-6)


def test_unknown_names_and_arguments() -> None:
    with pytest.raises(AttributeError, match=r"'whence.topi.x86' has no attribute 'schedule_dens'.*schedule_dense"):
        _ = topi.x86.schedule_dens
    with pytest.raises(WhenceError):
        topi.generic.schedule_dense(3)
    assert "schedule_pool" in dir(topi.generic)
