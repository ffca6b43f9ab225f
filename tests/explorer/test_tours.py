"""Tours are made by names or by addresses, lead to what is there, and say which step does not."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from recorded_sessions import recorded
from small_session import small_session

from whence.explorer.session.address import PaneState, Pin, read_address, write_address
from whence.explorer.session.document import Session
from whence.explorer.session.file import from_json, to_json
from whence.explorer.session.leads import serving
from whence.explorer.session.places import with_tour
from whence.explorer.session.strip import stripped
from whence.explorer.session.text import text_of_stage
from whence.exploring.exploration import Exploration
from whence.support.errors import FrontendError, PipelineError


def _step(place: Mapping[str, object] | str, session: Session | None = None):
    toured = with_tour(session or small_session(), "A tour", [("Look.", place)])
    return read_address(toured.tours[-1].steps[0].address)


def test_a_place_by_names_is_an_address_with_its_numbers():
    address = _step({"panes": ("graph", "relay:imported", "tir"), "layer": "conv2", "beside": "relu2", "heat": "time"})
    assert address.panes == [
        PaneState("graph", -1, -1, id=1),
        PaneState("relay", 1, -1, id=2),
        # The kernel is shared: the pane shows the call that serves the layer.
        PaneState("tir", 5, 1, id=3),
    ]
    assert (address.pins, address.heat, address.dock) == ([Pin([2]), Pin([3])], "time", "")


def test_a_difference_is_the_stage_of_a_pass_and_the_one_before():
    (pane,) = _step({"panes": "diff:fuse-ops"}).panes
    assert (pane.level, pane.before, pane.stage) == ("diff", 1, 2)


def test_a_call_by_its_name_is_where_layers_are_pinned():
    address = _step({"panes": "tir", "layer": "conv2", "kernel": "fused_1"})
    assert [pin and pin.at for pin in address.pins] == [(5, 1, 1, 0), None]


def test_a_query_opens_the_tab_of_answers():
    address = _step({"query": "time by op"})
    assert (address.query, address.dock) == ("time by op", "answer")


def test_panes_of_a_real_model_begin_above_the_lines_of_the_layer():
    session = recorded("transformer")
    names, kinds = session.layers.name, session.layers.kind
    layers = [row for row, kind in enumerate(kinds) if kind == "layer" and serving(session.leads, {row})]
    for layer in layers:
        _, relay, tir = _step({"layer": names[layer]}, session).panes
        call = serving(session.leads, {layer})[0]
        assert session.stages[tir.stage].kernel == session.calls[call].kernel
        assert session.stages[tir.stage].name == text_name(session, tir.stage)
        lines = [line for line, row in session.stages[relay.stage].body.outputs if row == layer]
        assert not lines or relay.top < lines[0] <= relay.top + 7


def text_name(session: Session, stage: int) -> str:
    """The name of the last stage of the kernel and level of a stage, which has a text."""
    row = session.stages[stage]
    last = [k for k in session.kernels[row.kernel].stages if session.stages[k].level == row.level][-1]
    assert text_of_stage(session, last)
    return session.stages[last].name


def test_an_address_of_the_page_is_a_place_without_its_theme():
    kept = json.loads(json.dumps({"panes": [["relay", 1, -1, 0, 0, 1, -1, 1, 0]], "theme": "dark", "dockShare": 0.5}))
    page = write_address(read_address(_encoded(kept)))
    toured = with_tour(small_session(), "A tour", [("Look.", _encoded(kept))])
    assert toured.tours[-1].steps[0].address == page
    assert "theme" not in vars(read_address(page))


def _encoded(value: Mapping[str, Any]) -> str:
    return "#" + base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


WRONG: list[tuple[Mapping[str, object] | str, str]] = [
    ({"layer": "conv9"}, "--layer: expected a layer: block/conv1"),
    ({"kernel": "nothing"}, "--kernel: expected a kernel: fused_0, fused_1, got 'nothing'"),
    ({"panes": "cuda"}, "expected one of the levels model, relay"),
    ({"panes": "tir:imported"}, "expected one of the stages tir-simplify, got 'imported'"),
    ({"panes": "diff:imported"}, "expected a stage with one before it, got the first"),
    ({"panes": ()}, "expected an address with a pane, got none"),
    ({"panes": "calls"}, "expected a session with a graph for the pane calls, got one without"),
    ({"dock": "noise"}, "expected one of the tabs verdict, "),
    ({"heat": "sun"}, "expected one of the heats off, time"),
    ({"query": "time bye op"}, "query: "),
    ({"layers": "conv2"}, "place: expected options of panes, layer"),
    ({"layer": 3}, "layer: expected a str, got 3"),
    ("#no-address", "expected an address that the page wrote"),
    (_encoded({"panes": [["relay", 99, -1, 0, 0, 1, -1, 1, 0]]}), "expected an index into 8 stages, got 99"),
    (_encoded({"panes": [["tir", 1, -1, 0, 0, 1, -1, 1, 0]]}), "expected a stage of level tir, got one of relay"),
    (_encoded({"panes": [["relay", 1, -1, 4, 0, 1, -1, 1, 0]]}), "expected a line from 0 to 3, got 4"),
    (_encoded({"panes": [["relay", 1, 1, 0, 0, 1, -1, 1, 0]]}), "expected a call of the kernel that the pane shows"),
    (
        _encoded({"panes": [["graph", -1, -1, 0, 0, 1, -1, 1, 0]], "pins": [{"rows": [6], "at": None}, None]}),
        "expected an index into 6 layers, got 6",
    ),
]


@pytest.mark.parametrize(("place", "text"), WRONG)
def test_what_is_not_there_is_told_with_its_step(place: Mapping[str, object] | str, text: str):
    with pytest.raises(PipelineError) as caught:
        Exploration(small_session()).with_tour("A tour", [("Fine.", {}), ("Look.", place)])
    assert str(caught.value).startswith("tour 'A tour', step 2: ")
    assert text in str(caught.value)


def test_a_tour_has_a_step():
    with pytest.raises(PipelineError, match="tour 'A tour': expected a step, got none"):
        Exploration(small_session()).with_tour("A tour", [])


def test_the_time_is_no_place_of_a_session_without_it():
    session = replace(small_session(), times=[], tours=[])
    for place in ({"dock": "time"}, {"heat": "time"}):
        with pytest.raises(PipelineError, match="step 1: expected one of"):
            with_tour(session, "A tour", [("Look.", place)])


def test_tours_are_written_read_and_checked():
    session = small_session()
    document = json.loads(json.dumps(to_json(session)))
    assert from_json(document).tours == session.tours
    document["tours"][0]["steps"][1]["address"] = _encoded(
        {"panes": [["relay", 1, -1, 0, 0, 1, -1, 1, 0]], "program": 7}
    )
    with pytest.raises(FrontendError, match=r"tours\[0\]\.steps\[1\]: expected an index into 1 programs, got 7"):
        from_json(document)


def test_a_stripped_session_has_no_sentences():
    assert stripped(small_session()).tours == []
