# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
"""The kinds of stages by their structure: what is said is right, and products without a tag are as fast as others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import whence
from whence import te
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.relay_to_te.strategy import CHOSEN, schedule_by_rows
from whence.lowering.relay_to_te.structure import structural_tag
from whence.te.schedule.create import create_schedule

Array = NDArray[Any]
Terms = Sequence[tuple[int, str]]
FORMS = {
    "mk,kn->mn": "dense",
    "mk,nk->mn": "dense",
    "kn,mk->mn": "dense",
    "mk,kn->nm": "dense",
    "bmk,bkn->bmn": "dense",
    "bkm,kn->bmn": "dense",
    "mkl,kln->mn": "dense",
    "n(y+p)(x+q)i,pqio->nyxo": "dense",
    "ni(y+p)(x+q),oipq->noyx": "conv2d_nchw",
    "ni(2y+p)(2x+q),oipq->noyx": "conv2d_nchw",
    "ngi(y+p)(x+q),goipq->ngoyx": "conv2d_nchw",
    "nc(y+p)(2x+q),cpq->ncyx": "depthwise_conv2d_nchw",
    "nc(3y+p)(2x+q)->ncyx": "pool_sum",
    # Near misses.
    "mk,mk->mn": "",
    "mk,kmn->mn": "",
    "kk,kn->mn": "",
    "mk,k->m": "",
    "m(k+n),kn->mn": "",
    "ni(y+p)(y+q),oipq->noyx": "",
    "nc(y+p)(x+p)->ncyx": "",
    "nc(y+x)(x+q),cpq->ncyx": "",
    "nc(y+p)(x+q),cyq->ncyx": "",
}


def indices(text: str) -> list[Terms]:
    """The indices of an operand: a letter, or a sum of multiples in parentheses."""
    places: list[Terms] = []
    while text:
        if text[0] == "(":
            inside, _, text = text[1:].partition(")")
            places.append([(int(term[:-1] or 1), term[-1]) for term in inside.split("+")])
        else:
            places.append([(1, text[0])])
            text = text[1:]
    return places


class Case:
    """A sum over the letters that the result does not have, and what numpy makes of it."""

    def __init__(self, form: str, extents: dict[str, int], seed: int = 0):
        operands, _, data = form.partition("->")
        points = [indices(operand) for operand in operands.split(",")]
        letters = list(dict.fromkeys(letter for point in points for terms in point for _, letter in terms))
        terms = [letter for letter in letters if letter not in data]
        rng = np.random.default_rng(seed)
        self.inputs: list[te.Tensor] = []
        self.arrays: list[Array] = []
        grids = np.meshgrid(*(np.arange(extents[letter]) for letter in [*data, *terms]), indexing="ij", sparse=True)
        at: dict[str, Any] = dict(zip([*data, *terms], grids, strict=True))
        product: Any = 1.0
        for number, point in enumerate(points):
            shape = [1 + sum(factor * (extents[letter] - 1) for factor, letter in index) for index in point]
            self.inputs.append(te.placeholder(shape, name=f"p{number}"))
            self.arrays.append(rng.integers(-3, 4, shape).astype(np.float32))
            product = product * self.arrays[-1][tuple(sum(f * at[letter] for f, letter in index) for index in point)]
        whole = np.broadcast_to(product, [extents[letter] for letter in [*data, *terms]])
        self.expected: Array = whole.sum(axis=tuple(range(len(data), len(data) + len(terms))))
        reduced = {letter: te.reduce_axis((0, extents[letter]), name=letter) for letter in terms}

        def element(*axes: Any) -> Any:
            now: dict[str, Any] = dict(zip(data, axes, strict=True)) | reduced
            value: Any = None
            for tensor, point in zip(self.inputs, points, strict=True):
                read = tensor(
                    *(sum((now[x] * f for f, x in index[1:]), now[index[0][1]] * index[0][0]) for index in point)
                )
                value = read if value is None else value * read
            return te.sum(value, axis=list(reduced.values()))

        shape = [extents[letter] for letter in data]
        self.output: te.Tensor = te.compute(shape, element, "c", "", None, [f"{letter}_" for letter in data])

    def schedule(self) -> Any:
        return create_schedule([self.output], self.inputs)


@pytest.mark.parametrize("form", FORMS)
def test_a_kind_is_read_off_the_body(form: str) -> None:
    case = Case(form, dict.fromkeys("abcdefghijklmnoxy", 8) | {"p": 3, "q": 3})
    (compute,) = case.schedule().func.computes
    assert structural_tag(compute) == FORMS[form]


@pytest.mark.parametrize("form", FORMS)
def test_schedules_by_structure_compute_the_numbers(form: str) -> None:
    machine = Target.native()
    for seed in range(3):
        rng = np.random.default_rng(seed)
        extents = {letter: int(rng.choice([1, 2, 5, 8, 17, 33])) for letter in "mnkl"}
        extents |= {letter: int(rng.choice([1, 2, 5, 8, 17])) for letter in "bcgioxy"} | {"p": 1 + seed, "q": 3}
        case = Case(form, extents, seed)
        kernel = whence.build(schedule_by_rows(case.schedule(), machine.hardware), [*case.inputs, case.output])
        assert np.array_equal(kernel(*case.arrays), case.expected), extents


def test_padding_of_an_image_stays_out_of_the_product() -> None:
    image, weight = te.placeholder((1, 8, 16, 16), name="a"), te.placeholder((8, 8, 3, 3), name="w")
    padded = te.compute((1, 8, 18, 18), lambda n, i, y, x: image(n, i, y - 1, x - 1, otherwise=0.0), name="pad")
    i, p, q = (te.reduce_axis((0, extent)) for extent in (8, 3, 3))
    out = te.compute(
        (1, 8, 16, 16), lambda n, o, y, x: te.sum(padded[n, i, y + p, x + q] * weight[o, i, p, q], axis=[i, p, q]), "c"
    )
    schedule = schedule_by_rows(create_schedule([out], [image, weight]), Target.native().hardware)
    rows = {label: str(row) for label, row in schedule.sequence.attributes[CHOSEN].data.items()}
    assert rows["pad"] == '"injective"'
    assert rows["c"] == '"conv2d_nchw"'


def test_groups_of_channels_share_the_schedule_of_images() -> None:
    image, weight = te.placeholder((1, 8, 18, 18), name="a"), te.placeholder((12, 2, 3, 3), name="w")
    c, p, q = (te.reduce_axis((0, extent)) for extent in (2, 3, 3))
    out = te.compute(
        (1, 12, 16, 16),
        lambda n, o, y, x: te.sum(image[n, o // 3 * 2 + c, y + p, x + q] * weight[o, c, p, q], axis=[c, p, q]),
        "c",
    )
    schedule = schedule_by_rows(create_schedule([out], [image, weight]), Target.native().hardware)
    assert "conv2d_nchw" in {str(row).strip('"') for row in schedule.sequence.attributes[CHOSEN].data.values()}
    rng = np.random.default_rng(0)
    data, filters = (rng.integers(-3, 4, each.shape).astype(np.float32) for each in (image, weight))
    windows = np.lib.stride_tricks.sliding_window_view(data.reshape(1, 4, 2, 18, 18), (3, 3), (3, 4))
    expected = np.einsum("ngiyxpq,goipq->ngoyx", windows, filters.reshape(4, 3, 2, 3, 3)).reshape(1, 12, 16, 16)
    assert np.array_equal(whence.build(schedule, [image, weight, out])(data, filters), expected)
