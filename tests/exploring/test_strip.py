"""A stripped session has no name and no weight of its model, and the links of the one that it was made from."""

from __future__ import annotations

import json
import re
from typing import Any, cast

import numpy as np
import onnx.parser
import pytest
from onnx import ModelProto, numpy_helper
from small_session import named_session, small_session

from whence.explorer.session.check import check
from whence.explorer.session.document import Session
from whence.explorer.session.file import to_json
from whence.explorer.session.strip import stripped
from whence.explorer.session.text import text_of_stage
from whence.explorer.session.views import VIEWS
from whence.explorer.session.views.choice import Choice
from whence.exploring.record import record

NETWORK = """
<ir_version: 8, opset_import: ["": 13]>
zebra_net (float[zebra_batch, 3, 8, 8] zebra_image) => (float[zebra_batch, 4] zebra_scores) {
    [zebra_conv] zebra_a = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (zebra_image, zebra_w)
    [zebra_relu] zebra_b = Relu (zebra_a)
    [zebra_pool] zebra_c = GlobalAveragePool (zebra_b)
    [zebra_flat] zebra_d = Flatten (zebra_c)
    [zebra_bias] zebra_scores = Add (zebra_d, zebra_v)
}"""


def _model(batch: int | None) -> ModelProto:
    model, rng = onnx.parser.parse_model(NETWORK), np.random.default_rng(3)
    for name, shape in (("zebra_w", (4, 3, 3, 3)), ("zebra_v", (1, 4))):
        array = rng.standard_normal(shape).astype(np.float32)
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    model.graph.node[0].name = "zebra/stripes/conv"
    model.graph.node[1].name = 'zebra "relu"; <b>:0'
    if batch is not None:
        for value in (*model.graph.input, *model.graph.output):
            value.type.tensor_type.shape.dim[0].dim_value = batch
    return model


@pytest.fixture(scope="module", params=[2, None], ids=["static", "open"])
def session(request: pytest.FixtureRequest) -> Session:
    return record(_model(cast("int | None", request.param)).SerializeToString())


def _shape(value: Any) -> Any:
    """A JSON value with nothing of its texts."""
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_shape(item) for item in cast("list[Any]", value)]
    return "" if isinstance(value, str) else value


def test_no_name_is_left(session: Session):
    text = json.dumps(to_json(stripped(session)))
    assert "zebra" in json.dumps(to_json(session))
    assert "zebra" not in text
    assert "stripes" not in text
    assert "tvmgen" not in text
    assert "fused_nn" not in text
    assert '"nn.conv2d' in text
    assert "relay-fuse-ops" in text


def test_no_weights_are_left(session: Session):
    text = json.dumps(to_json(stripped(session)))
    assert not re.search(r"dense<\[[^\]]*(,[^\],]*){8,}\]", text)
    for name in ("zebra_w",):
        tensor = next(each for each in _model(2).graph.initializer if each.name == name)
        values = cast("list[float]", numpy_helper.to_array(tensor).ravel().tolist())
        assert not [value for value in values if f"{value:.6g}" in text]


def test_links_are_those_of_the_session(session: Session):
    before, after = to_json(session), to_json(stripped(session))
    check(stripped(session))
    assert _shape(after) == _shape(before)
    assert after["layers"]["type"] == before["layers"]["type"]
    assert after["layers"]["kind"] == before["layers"]["kind"]


def test_names_stay_apart_and_stay_the_same_wherever_they_are(session: Session):
    result = stripped(session)
    pairs = set(zip(session.layers.name, result.layers.name, strict=True))
    assert len({new for _, new in pairs}) == len(pairs) == len(set(session.layers.name))
    tokens: dict[str, set[str]] = {}
    for k, stage in enumerate(session.stages):
        if stage.level == "relay":
            for old, new in zip(text_of_stage(session, k), text_of_stage(result, k), strict=True):
                names = [re.findall(r"[%@][\w.$]+", line) for line in (old, new)]
                for a, b in zip(*names, strict=True):
                    tokens.setdefault(a, set()).add(b)
    assert all(len(new) == 1 for new in tokens.values())
    assert not [name for name, new in tokens.items() if name in new and not name[1:].isdigit()]
    assert len({name for new in tokens.values() for name in new}) == len(tokens)
    symbols = [kernel.symbol for kernel in result.kernels]
    code = "\n".join(line for k in range(len(result.stages)) for line in text_of_stage(result, k))
    assert all(f"@{symbol}(" in code and f"{symbol}:" in code for symbol in symbols)
    scope = result.layers.scope[session.layers.name.index("zebra/stripes/conv")]
    assert re.fullmatch(r"n\w{10}/n\w{10}", scope)


def test_every_view_of_it_is_there(session: Session):
    result = stripped(session)
    layer = session.layers.name.index("zebra/stripes/conv")
    assert "Conv" in VIEWS["where"](result, Choice(layer=str(layer)))
    assert "zebra" not in VIEWS["lineage"](result, Choice(layer=str(layer)))


def test_other_sessions_of_a_model_have_the_same_hashes_and_other_models_others():
    session = small_session()
    again = small_session()
    again.layers.name[1] = "block/relu9"
    first, second = stripped(session).layers.name, stripped(again).layers.name
    assert [a == b for a, b in zip(first, second, strict=True)] == [True, False, True, True, True, True]
    again.made_by.sha256 = "cd" * 32
    assert not set(first[:5]) & set(stripped(again).layers.name)


def test_numbers_types_and_layouts_stay_though_values_have_such_names():
    """Shapes are part of a bug; `%256` is the usual name of a value out of PyTorch."""
    session = small_session()
    lines = ["%256 = nn.conv2d(%int64) : tensor<1x256x7xf32>", "%1 = cast(%256, float32[1, 256, 7])", "NCHW int64", ""]
    session.stages[1].body.edits = [(0, 0, lines)]
    session.layers.name[:3] = ["256", "NCHW", "asm"]
    session.graphs[0].edges.text[0] = "int64[256, 1]"
    session.graphs[0].nodes.attributes[1] = [("shape", "[256, 7]")]
    session.calls[0].name = "float32"
    result = stripped(session)
    check(result)
    text = "\n".join(text_of_stage(result, 1))
    assert re.sub(r"n[0-9a-f]{10}", "NAME", text) == "\n".join(lines).replace("%int64", "%NAME")
    assert result.graphs[0].edges.text[0] == "int64[256, 1]"
    assert result.graphs[0].nodes.attributes[1] == [("shape", "[256, 7]")]
    assert [stage.level for stage in result.stages] == [stage.level for stage in session.stages]
    assert all(re.fullmatch(r"n\w{10}", name) for name in (*result.layers.name[:3], result.calls[0].name))


def test_values_and_what_tells_of_files_go():
    result = stripped(small_session())
    assert result.made_by.sha256 == ""
    assert re.fullmatch(r"n\w{10}\.onnx", result.made_by.model)
    assert result.made_by.command == f"whence explore {result.made_by.model}"
    assert [(of.inputs, of.sample) for of in result.tensors] == [("", [[], []])]
    session = small_session()
    session.schedules[0].frames[1].at = "/home/zebra/schedules.py:8"
    session.layers.name[0] = 'zebra "odd"; 1'
    session.programs[0].about = 'a call of zebra "odd"; 1 decides'
    session.stages[1].body.edits = [(0, 0, ["%0 = dense<[1.5, 2, 3, 4, 5, 6, 7, 8, 9]>", "", "", ""])]
    text = json.dumps(to_json(stripped(session)))
    assert "zebra" not in text
    assert "dense<[..]>" in text


NAMES = ["<b>secret</b>", 'secret "quoted"', "secret\n\x00\u202e", "geheim/\u00df secret", "secret" * 999]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_any_letters_go(name: str):
    session = named_session(name)
    session.layers.type[0], session.ops.name[0] = "Conv", "nn.conv2d"
    text = json.dumps(to_json(stripped(session)))
    assert "secret" not in text
    assert "geheim" not in text
