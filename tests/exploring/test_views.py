"""Views and the check of the session of a compiled model."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import onnx.parser
import pytest
from onnx import numpy_helper

from whence.explorer.session.difference import difference
from whence.explorer.session.document import Session
from whence.explorer.session.file import from_json, to_json
from whence.explorer.session.text import column, layers_of_lines, text_of_stage
from whence.explorer.session.views import VIEWS
from whence.explorer.session.views.choice import Choice
from whence.exploring.record import record
from whence.support.errors import FrontendError

NETWORK = """
<ir_version: 8, opset_import: ["": 13]>
net (float[1, 3, 8, 8] image) => (float[1, 4, 8, 8] out) {
    [conv1] a = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (image, w1)
    [bn1] b = BatchNormalization (a, scale, bias, mean, variance)
    [relu1] c = Relu (b)
    [conv2] d = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (c, w2)
    [relu2] out = Relu (d)
}"""


@pytest.fixture(scope="module")
def session() -> Session:
    model, rng = onnx.parser.parse_model(NETWORK), np.random.default_rng(3)
    shapes = {"w1": (4, 3, 3, 3), "w2": (4, 4, 3, 3), **dict.fromkeys(("scale", "bias", "mean", "variance"), (4,))}
    for name, shape in shapes.items():
        array = np.abs(rng.standard_normal(shape).astype(np.float32))
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    return record(model.SerializeToString())


def test_a_recorded_document_is_whole(session: Session):
    assert from_json(json.loads(json.dumps(to_json(session)))) == session


def _numbers(value: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    keyed = isinstance(value, dict)
    items: Any = cast("dict[str, Any]", value).items() if keyed else enumerate(value)
    for key, element in items:
        at = f"{path}.{key}" if keyed else f"{path}[]"
        if type(element) is int:
            yield at.removeprefix("."), value, key
        elif isinstance(element, dict | list):
            yield from _numbers(element, at)


LINKS = re.compile(
    r"(.*\.)?(stage|graph|owner|source|sets|ops|kernel|program|set|before|after|run|base|edits.*|schedule)(\[\])*"
)


def test_a_damaged_link_is_found_wherever_it_is(session: Session):
    """A number of each kind of field, and more of them at random, as documents have many of some and few of others."""
    document, generator = json.loads(json.dumps(to_json(session))), random.Random(5)
    numbers = [row for row in _numbers(document) if LINKS.fullmatch(row[0]) and not row[0].endswith(".ordinal[]")]
    picked = {path: (path, container, key) for path, container, key in numbers}
    for path, container, key in [*picked.values(), *generator.sample(numbers, 100)]:
        value, container[key] = container[key], generator.choice([-2, 10**9])
        with pytest.raises(FrontendError) as caught:
            from_json(document)
        assert "\n" not in str(caught.value), path
        container[key] = value


def test_a_batch_norm_unpacked_is_gone_and_new_ops_name_both_layers(session: Session):
    text = VIEWS["diff"](session, Choice(stage="simplify-inference"))
    lines = text.splitlines()
    assert sum(line.startswith("- ") and "nn.batch_norm" in line for line in lines) == 1
    new = [line for line in lines if line.startswith("+ ")]
    assert new
    assert all("bn1" in line.partition("  ; ")[2] for line in new)


def test_the_kinds_of_lines_are_those_that_the_recorder_saw(session: Session):
    """Differences of the ops by the recorder, and of lines by their ops, agree."""
    for k, stage in enumerate(session.stages):
        if stage.diff is not None and stage.before >= 0:
            result = difference(session, stage.before, k)
            ops = column(stage.body.ops)
            before = column(session.stages[stage.before].body.ops)
            new = {ops[pair.right] for pair in result.pairs if pair.kind == "new"} - {-1}
            gone = {before[pair.left] for pair in result.pairs if pair.kind == "gone"} - {-1}
            assert new <= set(stage.diff.new)
            assert gone <= set(stage.diff.gone)
            both = [pair for pair in result.pairs if min(pair.left, pair.right) >= 0]
            assert all(ops[pair.right] == before[pair.left] for pair in both)


def test_stages_are_shown_with_all_their_lines(session: Session):
    for k, stage in enumerate(session.stages):
        lines = VIEWS["stage"](session, Choice(stage=str(k))).splitlines()
        assert len(lines) == stage.lines + 1
        behind = layers_of_lines(session, k)
        assert [bool(rows) for rows in behind] == [" ; " in line for line in lines[1:]], stage.name


def test_every_layer_has_a_fate_and_a_line_of_descent(session: Session):
    for row, kind in enumerate(session.layers.kind):
        if kind == "layer":
            where = VIEWS["where"](session, Choice(layer=str(row)))
            assert "served by" in where
            lineage = VIEWS["lineage"](session, Choice(layer=str(row)))
            assert all(f"    {level:<8} " in lineage for level in ("te", "tir", "llvm", "asm"))
    assert "nn.batch_norm -> " in VIEWS["where"](session, Choice(layer="bn1"))


def test_why_tells_how_a_line_of_relay_came_to_be(session: Session):
    last = max(k for k, stage in enumerate(session.stages) if stage.level == "relay")
    texts = text_of_stage(session, last)
    line = next(
        n for n, text in enumerate(texts, 1) if "conv2d_NCHWc" in text and "func" not in text and "call" not in text
    )
    text = VIEWS["why"](session, Choice(stage=str(last), line=line))
    assert "serves conv1" in text or "serves conv2" in text
    assert "BlockConv" in text


def test_passes_that_changed_nothing_are_folded(session: Session):
    folded, full = (VIEWS["passes"](session, Choice(full=full)) for full in (False, True))
    assert "unchanged: " in folded
    assert "unchanged: " not in full
    runs = [run for run in session.passes if run.kernel < 0]
    assert len(full.splitlines()) == len(runs) + 2
    shown = [line for line in folded.splitlines()[2:] if "unchanged" not in line]
    assert len(shown) == sum(run.changed for run in runs)
