"""The names of values in a printed `schedule.sequence`: those of the stages and axes that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from whence import te
from whence.cli import opt
from whence.te.language.tensor import Tensor
from whence.te.schedule.schedule import Schedule


def gemm(*, terms: str = "k", labels: str = "ABC") -> tuple[Tensor, Tensor]:
    first, second, product = labels.split() if " " in labels else labels
    a, b = te.placeholder((16, 32), name=first), te.placeholder((32, 8), name=second)
    k = te.reduce_axis((0, 32), name=terms)
    c = te.compute((16, 8), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name=product)
    return a, c


def cached() -> Schedule:
    a, c = gemm()
    s = te.create_schedule(c)
    accumulator = s.cache_write(c, "local")
    tile = s.cache_read(a, "local", [accumulator])
    outer, inner = s[c].split(c.op.axis[0], 4)
    s[c].fuse(inner, c.op.axis[1])
    s[accumulator].compute_at(s[c], outer)
    k_outer, k_inner = s[accumulator].split(s[accumulator].op.reduce_axis[0], 8)
    s[tile].compute_at(s[accumulator], k_outer)
    s[accumulator].reorder(k_outer, *s[accumulator].op.axis, k_inner)
    return s


def factored() -> Schedule:
    _, c = gemm()
    s = te.create_schedule(c)
    parts = s.rfactor(c, s[c].split(c.op.reduce_axis[0], 8)[1])
    s[parts].unroll(s[parts].leaf_iter_vars[0])
    return s


def clashing() -> Schedule:
    """Two stages of one label, which is that of an argument, and axes of one name."""
    x = te.placeholder((4, 4), name="T")
    y = te.compute((4, 4), lambda i, i_1: x[i, i_1] + 1.0, name="T")
    z = te.compute((4, 4), lambda i, T: y[i, T] + 1.0, name="T")
    s = te.create_schedule(z)
    for stage in (y, z):
        s[stage].split(stage.op.axis[0], 2)
    s.cache_read(x, "local", [y])
    return s


def spelled() -> Schedule:
    """Names that a value cannot have."""
    a, c = gemm(terms="k/x", labels="in/a b conv/c.out")
    double = te.compute((16, 8), lambda i, j: c[i, j] * 2.0, name="2x")
    s = te.create_schedule(double)
    s[c].split(c.op.reduce_axis[0], 4)
    s[c].compute_at(s[double], double.op.axis[0])
    s.cache_read(a, "local", [c])
    return s


SEQUENCES: dict[Callable[[], Schedule], str] = {
    cached: """
  %C = schedule.stage "C"
  %C.local = schedule.cache_write %C "local"
  %A = schedule.argument 0
  %A.local = schedule.cache_read %A "local" readers(%C.local)
  %i, %j = schedule.axes %C : 2
  %i.outer, %i.inner = schedule.split %i factor 4
  %i.inner.j.fused = schedule.fuse %i.inner, %j
  schedule.fused %i.inner.j.fused
  schedule.compute_at %C.local, %C, %i.outer
  %i_1, %j_1, %k = schedule.axes %C.local : 3
  %k.outer, %k.inner = schedule.split %k factor 8
  schedule.compute_at %A.local, %C.local, %k.outer
  schedule.reorder %k.outer, %i_1, %j_1, %k.inner
""",
    factored: """
  %C = schedule.stage "C"
  %i, %j, %k = schedule.axes %C : 3
  %k.outer, %k.inner = schedule.split %k factor 8
  %C.rf = schedule.rfactor %k.inner at 0
  %k.inner_1, %i_1, %j_1, %k.outer_1 = schedule.axes %C.rf : 4
  schedule.unroll %k.inner_1
""",
    clashing: """
  %T = schedule.stage "T"
  %i, %i_1 = schedule.axes %T : 2
  %i.outer, %i.inner = schedule.split %i factor 2
  %T_1 = schedule.stage "T_1"
  %i_2, %T_2 = schedule.axes %T_1 : 2
  %i.outer_1, %i.inner_1 = schedule.split %i_2 factor 2
  %T_3 = schedule.argument 0
  %T.local = schedule.cache_read %T_3 "local" readers(%T)
""",
    spelled: """
  %conv_c.out = schedule.stage "conv/c.out"
  %i, %j, %k_x = schedule.axes %conv_c.out : 3
  %k_x.outer, %k_x.inner = schedule.split %k_x factor 4
  %_2x = schedule.stage "2x"
  %i_1, %j_1 = schedule.axes %_2x : 2
  schedule.compute_at %conv_c.out, %_2x, %i_1
  %p0 = schedule.argument 0
  %p0.local = schedule.cache_read %p0 "local" readers(%conv_c.out)
""",
}


@pytest.mark.parametrize("make", SEQUENCES)
def test_values_are_named_as_what_they_stand_for(
    make: Callable[[], Schedule], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    s = make()
    assert str(s.sequence) == f"schedule.sequence @main {{{SEQUENCES[make]}}}"
    assert str(s.snapshot(len(s.primitive_record)).sequence) == str(s.sequence)
    text, file = str(s.module()), tmp_path / "schedule.mlir"
    for _ in range(2):
        file.write_text(text)
        capsys.readouterr()
        assert opt.main([str(file)]) == 0
        assert capsys.readouterr().out.rstrip() == text
