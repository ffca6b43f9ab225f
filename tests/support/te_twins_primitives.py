"""Twins of the files that show schedule primitives, each on a computation that shows it best."""

from __future__ import annotations

from typing import Any

from text_twins import Made, layer, twin

from whence import te
from whence.te.language.tensor import Tensor
from whence.te.schedule.schedule import Schedule


def _chain(rows: int = 8, columns: int = 6) -> tuple[Tensor, Tensor, Tensor]:
    """`c = |-a|`."""
    a = te.placeholder((rows, columns), name="a")
    b = te.compute((rows, columns), lambda i, j: -a[i, j], name="b")
    return a, b, te.compute((rows, columns), lambda i, j: te.abs(b[i, j]), name="c")


def _blur() -> tuple[Tensor, Tensor]:
    """The sum of three neighbours in a row, then in a column."""
    x = te.placeholder((18, 66), name="x")
    row = te.compute((18, 64), lambda i, j: x[i, j] + x[i, j + 1] + x[i, j + 2], name="row")
    return row, te.compute((16, 64), lambda i, j: row[i, j] + row[i + 1, j] + row[i + 2, j], name="out")


@twin
def compute_at_depths() -> list[Made]:
    found: list[Made] = []
    for depth, name in enumerate(("at_root", "at_row", "at_element")):
        row, out = _blur()
        s = te.create_schedule(out, name=name)
        if depth:
            s[row].compute_at(s[out], out.op.axis[depth - 1])
        found.append(s)
    return found


@twin
def blur_tiled() -> Schedule:
    row, out = _blur()
    s = te.create_schedule(out, name="blur")
    i_outer, j_outer, _, j_inner = s[out].tile(out.op.axis[0], out.op.axis[1], 4, 32)
    s[out].parallel(i_outer)
    s[out].vectorize(s[out].split(j_inner, 8)[1])
    s[row].compute_at(s[out], j_outer)
    s[row].vectorize(s[row].split(row.op.axis[1], 8)[1])
    return s


@twin
def rolling_buffer() -> Schedule:
    row, out = _blur()
    s = te.create_schedule(out, name="blur")
    s[row].compute_at(s[out], out.op.axis[0])
    s[row].rolling_buffer()
    return s


@twin
def inline_chain() -> Schedule:
    with layer("neg", 0):
        a = te.placeholder((64,), name="a")
        b = te.compute((64,), lambda i: -a[i], name="b")
    with layer("exp", 1):
        c = te.compute((64,), lambda i: te.exp(b[i]), name="c")
    with layer("add", 2):
        d = te.compute((64,), lambda i: c[i] + 1.0, name="d")
    with layer("div", 3):
        e = te.compute((64,), lambda i: 1.0 / d[i], name="e")
    s = te.create_schedule(e, name="sigmoid")
    for tensor in (b, c, d):
        s[tensor].compute_inline()
    s[e].vectorize(s[e].split(e.op.axis[0], 16)[1])
    return s


@twin
def odd_split() -> Schedule:
    a = te.placeholder((30,), name="a")
    b = te.compute((30,), lambda i: a[i] * 2.0, name="b")
    s = te.create_schedule(b, name="odd")
    s[b].vectorize(s[b].split(b.op.axis[0], 8)[1])
    return s


@twin
def split_nparts() -> Schedule:
    a = te.placeholder((30,), name="a")
    b = te.compute((30,), lambda i: a[i] * 2.0, name="b")
    s = te.create_schedule(b, name="parts")
    s[b].parallel(s[b].split(b.op.axis[0], nparts=4)[0])
    return s


@twin
def fuse_odd() -> Schedule:
    _, b, c = _chain(5, 7)
    s = te.create_schedule(c, name="fuse")
    s[b].compute_inline()
    fused = s[c].fuse(*c.op.axis)
    s[c].vectorize(s[c].split(fused, 4)[1])
    return s


@twin
def parallel_vectorize() -> Schedule:
    _, b, c = _chain(32, 64)
    s = te.create_schedule(c, name="threads")
    s[b].compute_at(s[c], c.op.axis[0])
    s[c].parallel(c.op.axis[0])
    for stage in (s[b], s[c]):
        stage.vectorize(stage.split(stage.op.axis[1], 16)[1])
    return s


@twin
def reorder_unroll() -> Schedule:
    _, b, c = _chain(16, 6)
    s = te.create_schedule(c, name="unroll")
    s[b].compute_inline()
    i, j = c.op.axis
    outer, inner = s[c].split(i, 2)
    s[c].reorder(j, outer, inner)
    s[c].unroll(inner)
    return s


@twin
def singleton() -> Schedule:
    _, b, c = _chain()
    s = te.create_schedule(c, name="once")
    s[b].compute_at(s[c], s[c].fuse())
    return s


@twin
def storage_align() -> Schedule:
    _, b, c = _chain(8, 30)
    s = te.create_schedule(c, name="align")
    s[b].storage_align(b.op.axis[0], 32, 1)
    return s


@twin
def double_buffer() -> Schedule:
    a, b, c = _chain(8, 32)
    s = te.create_schedule(c, name="double")
    copy = s.cache_read(a, "local", b)
    s[b].compute_at(s[c], c.op.axis[0])
    copy.compute_at(s[c], c.op.axis[0])
    copy.double_buffer()
    return s


@twin
def prefetch() -> Schedule:
    a, b, c = _chain(8, 64)
    s = te.create_schedule(c, name="ahead")
    s[b].compute_inline()
    s[c].prefetch(a, c.op.axis[0], 2)
    return s


@twin
def pragma() -> Schedule:
    _, b, c = _chain()
    s = te.create_schedule(c, name="hints")
    s[b].compute_inline()
    s[c].pragma(c.op.axis[0], "auto_unroll_max_step", 16)
    s[c].pragma(c.op.axis[1], "novector")
    s[c].pragma(c.op.axis[1], "note", "few columns")
    return s


@twin
def group() -> Schedule:
    a, _, c = _chain()
    d = te.compute((8, 6), lambda i, j: c[i, j] + 1.0, name="d")
    s = te.create_schedule(d, name="group")
    both = s.create_group(c, a)
    both.compute_at(s[d], d.op.axis[0])
    return s


@twin
def transform_layout() -> Schedule:
    _, b, c = _chain(4, 32)
    s = te.create_schedule(c, name="packed")

    def blocked(i: Any, j: Any) -> list[Any]:
        return [j // 8, te.AXIS_SEPARATOR, i, j % 8]

    s[b].vectorize(s[b].transform_layout(blocked)[2])
    return s


@twin
def store_predicate() -> Schedule:
    _, b, c = _chain(8, 8)
    s = te.create_schedule(c, name="some")
    i, j = b.op.axis
    s[b].set_store_predicate(te.all(i >= 2, j < 6))
    return s


@twin
def set_scope() -> Schedule:
    _, b, c = _chain()
    s = te.create_schedule(c, name="scope")
    s[b].set_scope("local")
    s[b].compute_at(s[c], c.op.axis[1])
    s[b].compute_root()
    s[b].compute_at(s[c], c.op.axis[0])
    return s


@twin
def bind_threads() -> Schedule:
    a = te.placeholder((8, 32), name="a")
    b = te.compute((8, 32), lambda i, j: a[i, j] * 2.0, name="b")
    s = te.create_schedule(b, name="bind")
    s[b].bind(b.op.axis[0], te.thread_axis("blockIdx.x"))
    s[b].bind(b.op.axis[1], te.thread_axis((0, 32), "threadIdx.x"))
    return s


@twin
def cache_of_cache() -> Schedule:
    a, b = te.placeholder((16, 32), name="a"), te.placeholder((32,), name="b")
    k = te.reduce_axis((0, 32), name="k")
    c = te.compute((16,), lambda i: te.sum(a[i, k] * b[k], axis=k), name="c")
    s = te.create_schedule(c, name="gemv")
    acc = s.cache_write(c, "local")
    rows = s.cache_read(a, "local", acc)
    outer, _ = s[c].split(c.op.axis[0], 4)
    acc.compute_at(s[c], outer)
    k_outer, _ = acc.split(acc.op.reduce_axis[0], 8)
    rows.compute_at(acc, k_outer)
    return s


@twin
def several_outputs() -> Schedule:
    x = te.placeholder((8, 16), name="x")
    both = te.compute((8, 16), lambda i, j: (x[i, j] + 1.0, x[i, j] * x[i, j]), name="both")
    s = te.create_schedule(both, name="pair")
    s[both[0]].parallel(both[0].op.axis[0])
    return s


@twin
def two_at_once() -> list[Made]:
    a = te.placeholder((4,), "int32", name="a")

    def doubled(i: Any) -> Any:
        element = a[i]
        return element + element

    twice = te.compute((4,), doubled, name="b")
    thrice = te.compute((4,), lambda i: a[i] * 3, name="b")
    double, triple = te.create_schedule(twice, name="double"), te.create_schedule(thrice, name="triple")
    double[twice].unroll(twice.op.axis[0])
    return [double, triple]
