"""The way from a layer down: its own kernel, and in it the lines that compute it."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace

import pytest
from recorded_sessions import recorded
from small_session import small_session

from whence.explorer.session.document import Leads, LineTimes, Session
from whence.explorer.session.leads import LEVELS, add_leads, line_of, serving
from whence.explorer.session.text import layers_of_lines, text_of_stage
from whence.explorer.session.views import VIEWS
from whence.explorer.session.views.choice import Choice

_FRAME = re.compile(r"tir\.(prim_func|for|alloc)|arith\.constant")
_MODELS = ["twins", "transformer", "int8"]


def _again(session: Session) -> Leads:
    session.leads = Leads()
    add_leads(session, {})
    return session.leads


def _serving(session: Session, row: int) -> list[int]:
    """The calls one of whose slots is of a layer: a plain walk over the document."""
    return [
        number
        for number, call in enumerate(session.calls)
        if any(row in session.sets[k] for k in (call.set, *call.layers))
    ]


def _stage(session: Session, call: int, level: str) -> int:
    return [k for k in session.kernels[session.calls[call].kernel].stages if session.stages[k].level == level][-1]


@pytest.mark.parametrize("name", _MODELS)
def test_the_first_call_has_most_of_a_layer(name: str):
    session = recorded(name)
    (times,) = session.times
    of_call: dict[int, dict[int, float]] = {number: dict(parts) for number, parts in enumerate(times.parts)}
    several = 0
    for row, kind in enumerate(session.layers.kind):
        calls = _serving(session, row)
        assert sorted(serving(session.leads, {row})) == calls
        if kind != "layer" or not calls:
            continue
        several += len(calls) > 1
        seconds = [of_call[call].get(row, 0.0) for call in serving(session.leads, {row})]
        assert seconds == sorted(seconds, reverse=True)
    assert several


_OWN = {
    "twins": {"Conv": "conv2d", "GlobalAveragePool": "pool"},
    "transformer": {"MatMul": "dense|matmul", "Softmax": "softmax"},
    "int8": {"CONV_2D": "conv2d", "DEPTHWISE_CONV_2D": "conv2d", "FULLY_CONNECTED": "dense"},
    "relay": {"nn.conv2d": "conv2d", "nn.dense": "dense", "nn.softmax": "softmax"},
    "quantised": {"Conv": "conv2d", "ConvTranspose": "conv2d", "MaxPool": "pool"},
    "trees": {"TreeEnsembleRegressor": "tree"},
    "torch": {"aten.conv2d.default": "conv2d", "aten.linear.default": "dense"},
    "loops": {"aten.softmax.int": "softmax", "aten.max.default": "max", "aten.div.Tensor": "divide"},
    "jax": {"convolution": "conv2d", "dot_general": "dense|matmul"},
}
"""Model -> operator of a layer -> a pattern of the names of kernels that compute it."""


@pytest.mark.parametrize("name", _OWN)
def test_layers_lead_to_the_kernel_that_computes_them(name: str):
    session, wrong, several = recorded(name), list[object](), 0
    layers = [row for row, kind in enumerate(session.layers.kind) if kind == "layer"]
    for kind, pattern in _OWN[name].items():
        rows = [row for row in layers if session.layers.type[row] == kind]
        assert rows, kind
        for row in rows:
            calls = serving(session.leads, {row})
            several += len(calls) > 1
            names = [session.calls[call].name for call in calls]
            if not names or not re.search(pattern, names[0]):
                wrong.append((session.layers.name[row], names))
    assert wrong == []
    # Programs of the others have a call for each of these layers.
    assert bool(several) is (name not in ("relay", "loops"))


def test_products_lead_to_their_own_kernels_without_times():
    """By estimated work: the kernels of dense layers, where others reshape what these read and write."""
    session = recorded("transformer")
    products = [row for row, kind in enumerate(session.layers.type) if kind == "MatMul"]
    work = {n: {row: float(n) for row in products} for n in range(len(session.calls))}
    for number, call in enumerate(session.calls):
        if re.search("dense|matmul", call.name):
            work[number] = dict.fromkeys(products, 1e6 + number)
    session.times, session.leads = [], Leads()
    add_leads(session, work)
    calls = [serving(session.leads, {row}) for row in products]
    assert all(re.search("dense|matmul", session.calls[first].name) for first, *_ in calls)
    assert sum(len(all_calls) > 1 for all_calls in calls) >= 12


@pytest.mark.parametrize("name", _MODELS)
@pytest.mark.parametrize("timed", [True, False])
def test_lines_serve_their_layer_and_compute(name: str, timed: bool):
    session = recorded(name)
    if not timed:
        session.times = []
        _again(session)
    leads, known = session.leads, dict[tuple[int, int], list[tuple[int, ...]]]()
    numbers: dict[str, int] = defaultdict(int)
    sampled = 0
    for n, (row, call) in enumerate(zip(leads.layer, leads.call, strict=True)):
        for level in LEVELS:
            line = int(getattr(leads, level)[n])
            if not line or session.layers.kind[row] != "layer":
                continue
            k = _stage(session, call, level)
            behind = known.setdefault((k, call), layers_of_lines(session, k, call))
            text = text_of_stage(session, k)[line - 1]
            assert row in behind[line - 1], (level, line, text)
            numbers[level] += 1
            if level == "tir" and timed:
                texts = text_of_stage(session, k)
                counts = {
                    of.line[at]: of.samples[at]
                    for of in session.times[0].lines
                    if (of.call, of.stage) == (call, k)
                    for at in range(len(of.line))
                    if of.line[at] and row in behind[of.line[at] - 1] and not _FRAME.search(texts[of.line[at] - 1])
                }
                assert counts.get(line, 0) == max(counts.values(), default=0)
                sampled += bool(counts)
            numbers[f"{level} frames"] += bool(re.match(r"\s*(te\.func|schedule\.seq|tir\.prim|tir\.for|define)", text))
            numbers[f"{level} constants"] += "arith.constant" in text
    assert all(numbers[level] > 5 for level in LEVELS)
    assert bool(sampled) is timed
    assert {level: count for level, count in numbers.items() if " " in level and count} == {}


def test_the_line_with_most_samples_comes_first():
    session = small_session()
    assert [line_of(session.leads, {0}, 0, level) for level in ("tir", "llvm", "asm")] == [2, 1, 1]
    session.times[0].lines = [LineTimes(0, 5, [1, 2, 3], [90, 1, 9])]
    assert line_of(_again(session), {0}, 0, "tir") == 2, "that of the loop is a header"
    session.times[0].lines.append(LineTimes(0, 7, [2, 3], [4, 50]))
    assert line_of(_again(session), {1}, 0, "asm") == 2, "the last instruction is of no line"
    session.times[0].lines = [LineTimes(1, 5, [3], [9])]
    assert line_of(_again(session), {0}, 0, "tir") == 2, "samples of another call"


def test_views_follow_the_leads():
    session = small_session()
    session.calls.append(replace(session.calls[1], name="fused_2", layers=[3, 2], set=4))
    session.times[0].calls.append(0.004)
    session.times[0].parts.append([(2, 0.004)])
    _again(session)
    text = VIEWS["where"](session, Choice(layer="conv2"))
    assert text.index("served by fused_2") < text.index("served by fused_1")
    lineage = VIEWS["lineage"](session, Choice(layer="conv2"))
    assert lineage.index("call fused_2") < lineage.index("call fused_1")
    assert "2: T[i] = conv" in lineage
    assert "1: for i in range" not in lineage
    assert VIEWS["why"](session, Choice(layer="conv2")).splitlines()[1] == "2: T[i] = conv"
    assert VIEWS["why"](session, Choice(layer="conv2", level="asm")).splitlines()[1] == "1: vmulps"
