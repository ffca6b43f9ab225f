"""Films as animated SVG: at any time they show the lines of the scene that it is time for, each at its place."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from small_session import small_session

import whence
from whence.explorer.session.animation import Line, Scene, animated
from whence.explorer.session.document import Session
from whence.explorer.session.film_export import film_svg
from whence.explorer.session.text import applied, layers_of_lines, text_of_stage
from whence.explorer.session.views.choice import Choice
from whence.exploring.measuring import Wishes
from whence.exploring.record import record
from whence.support.errors import PipelineError

NORM = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), float32], %v: Tensor[(4), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1]);
  %1 = nn.batch_norm(%0, %v, %v, %v, %v);
  nn.relu(%1.0)
}"""
_SVG = "{http://www.w3.org/2000/svg}"
_KEYFRAMES = re.compile(r"@keyframes (\w+)\{((?:[\d.]+%\{[^}]*\})+)\}")
_STEP = re.compile(r"([\d.]+)%\{([^}]*)\}")
_Y = re.compile(r"translateY?\((?:0 )?(\d+)(?:px)?\)")


@pytest.fixture(scope="module")
def session() -> Session:
    return record(whence.relay.fromtext(NORM), wishes=Wishes(films="all"), threads=1)


def scenes_of(svg: str) -> list[list[str]]:
    """Return the lines that are seen in the middle of each scene, from top to bottom."""
    root = ElementTree.fromstring(svg)
    rules = {name: _STEP.findall(steps) for name, steps in _KEYFRAMES.findall(root.findtext(f"{_SVG}style") or "")}
    groups = [element for element in root if element.tag == f"{_SVG}g" and "id" in element.attrib]
    count = sum("scene" in element.get("class", "") for element in root)
    scenes: list[list[str]] = []
    for scene in range(count):
        seen: list[tuple[int, str]] = []
        for group in groups:
            opacity, place = group.get("opacity", "1"), group.get("transform", "")
            for at, state in rules.get(group.get("id", ""), ()):
                if float(at) <= 100 * (scene + 0.8) / count:
                    opacity, place = state.rpartition("opacity:")[2], state
            match = _Y.search(place)
            assert match
            text = group.find(f".//{_SVG}text")
            assert text is not None
            if opacity == "1":
                seen.append((int(match[1]), text.text or ""))
        assert len({y for y, _ in seen}) == len(seen)
        scenes.append([text for _, text in sorted(seen)])
    return scenes


def test_scenes_are_the_stages_that_changed(session: Session):
    stages = [n for n, stage in enumerate(session.stages) if stage.level == "relay" and stage.kernel < 0]
    texts = [[line[:131] + "…" if len(line) > 132 else line for line in text_of_stage(session, n)] for n in stages]
    changed = [text for before, text in zip([[], *texts[:-1]], texts, strict=True) if text != before]
    assert scenes_of(film_svg(session, Choice())) == changed


def test_a_batch_norm_is_unpacked_and_folded(session: Session):
    imported = next(n for n, stage in enumerate(session.stages) if stage.level == "relay")
    line = next(k for k, text in enumerate(text_of_stage(session, imported)) if "batch_norm" in text)
    name = session.layers.name[layers_of_lines(session, imported)[line][0]]
    first, *scenes = scenes_of(film_svg(session, Choice(layer=name)))
    assert [sum(f" = relay.nn.{op} " in line for line in first) for op in ("conv2d", "batch_norm")] == [1, 1]
    assert sum("relay.sqrt" in line for line in scenes[0]) == 1
    assert not any("batch_norm" in line for scene in scenes for line in scene)
    assert "primitive" not in first[0]


def test_lines_come_out_of_what_they_were_made_of():
    svg = animated(
        "t",
        [
            Scene("before", [Line("a", "a"), Line("norm", "norm"), Line("b", "b")]),
            Scene("after", [Line("b", "b"), Line("x", "x"), Line("y", "y")], {"y": "norm"}, {"norm": "x"}),
        ],
    )
    assert scenes_of(svg) == [["a", "norm", "b"], ["b", "x", "y"]]
    begins = {text: steps for text, steps in _beginnings(svg).items() if text in ("x", "y")}
    rows = sorted({y for steps in _beginnings(svg).values() for y in steps})
    assert begins == {"x": [rows[1]], "y": [rows[1], rows[2]]}
    assert _beginnings(svg)["norm"] == [rows[1]]


def _beginnings(svg: str) -> dict[str, list[int]]:
    """Return the places of each line by its text, in order of time."""
    root = ElementTree.fromstring(svg)
    rules = dict(_KEYFRAMES.findall(root.findtext(f"{_SVG}style") or ""))
    places: dict[str, list[int]] = {}
    for group in (element for element in root if element.get("id", "").startswith("l")):
        text = group.findtext(f".//{_SVG}text") or ""
        steps = _Y.findall(rules.get(group.get("id", ""), group.get("transform", "")))
        places[text] = [int(y) for k, y in enumerate(steps) if k == 0 or y != steps[k - 1]]
    return places


def test_a_schedule_has_a_scene_for_each_frame(session: Session):
    film = session.schedules[0]
    scenes = scenes_of(film_svg(session, Choice(kernel=str(film.kernel))))
    assert len(scenes) == len(film.frames)
    loops: list[str] = []
    for scene, frame in zip(scenes, film.frames, strict=True):
        loops = applied(frame.tir, loops)
        shown = scene[scene.index("") + 1 :]
        assert shown[:44] == [line if len(line) <= 132 else f"{line[:131]}…" for line in loops[:44]]
        assert {film.stages[row].label for row in frame.tree} <= {line.partition(":")[0] for line in scene}


def test_loops_of_a_kernel_are_a_level(session: Session):
    symbol = session.kernels[0].symbol
    assert len(scenes_of(film_svg(session, Choice(kernel=symbol, level="tir")))) > 3


def test_what_is_not_there_is_said():
    session = small_session()
    with pytest.raises(PipelineError, match="--layer: expected a layer: block/conv1"):
        film_svg(session, Choice(layer="nothing"))
    session.stages = [stage for stage in session.stages if stage.level != "llvm"]
    with pytest.raises(PipelineError, match="expected a document with stages of llvm"):
        film_svg(session, Choice(level="llvm"))
