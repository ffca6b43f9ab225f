"""Files that are no programs, damaged ones and hostile ones: one error each, which names the file and the place."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from damaged_pt2 import KINDS, MARK, NAMES, PROGRAMS, archive, entries, outcome

import whence
from whence.frontends.torch.archive import Archive
from whence.support.errors import FrontendError

Document = dict[str, Any]


def changed(name: str, change: Callable[[Document], object], document: str = "model.json") -> bytes:
    files = entries(name)
    key = next(key for key in files if key.endswith(f"/{document}"))
    parsed = json.loads(files[key])
    change(parsed)
    return archive({**files, key: json.dumps(parsed).encode()})


def refused(data: bytes) -> str:
    with pytest.raises(FrontendError) as raised:
        whence.load(data)
    text = str(raised.value)
    assert "<memory>" in text
    assert "\n" not in text
    return text


def test_a_file_that_is_no_archive():
    damaged = (PROGRAMS / "cnn.pt2").read_bytes()[:-40]
    assert "expected a .pt2 archive (a zip file)" in refused(damaged)


def test_an_argument_that_no_row_asks_for_is_refused_by_its_name():
    def rounding(document: Document) -> None:
        nodes = document["graph_module"]["graph"]["nodes"]
        node = next(node for node in nodes if "conv2d" in node["target"])
        node["inputs"].append({"name": "rounding", "arg": {"as_string": "up"}, "kind": 1})

    with pytest.raises(FrontendError) as raised:
        whence.compile(changed("cnn", rounding), input_shapes={"image": [2, 3, 16, 16]})
    assert "aten.conv2d.default: expected no argument 'rounding', which is not supported, got 'up'" in str(raised.value)


def test_an_argument_that_changes_no_result_is_taken():
    def padded(document: Document) -> None:
        nodes = document["graph_module"]["graph"]["nodes"]
        node = next(node for node in nodes if "aten.embedding" in node["target"])
        node["inputs"].append({"name": "padding_idx", "arg": {"as_int": 1}, "kind": 1})

    whence.load(changed("transformer", padded))


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(FrontendError, match=r"none\.pt2"):
        whence.load(tmp_path / "none.pt2")


@pytest.mark.parametrize("name", ["../evil", "archive/../../evil", "/etc/evil", "other/evil", "archive/a\\b"])
def test_entries_outside_of_the_archive(name: str):
    files = entries("counter")
    assert repr(name) in refused(archive({**files, name: b""}))


def test_compressed_entries_are_refused_before_they_are_unpacked():
    bomb = {**entries("counter"), "archive/data/weights/weight_0": bytes(1 << 24)}
    assert "stored, not compressed" in refused(archive(bomb, zipfile.ZIP_DEFLATED))


def test_pickles_are_refused(tmp_path: Path):
    data = archive({"net/data.pkl": b"\x80\x02}q\x00.", "net/version": b"3\n"})
    (tmp_path / "net.pt").write_bytes(data)
    with pytest.raises(
        FrontendError, match=r"net\.pt: expected a model, got objects pickled by torch\.save, which are not"
    ):
        whence.load(tmp_path / "net.pt")
    weights = "model_weights_config.json"

    def pickled(config: Document) -> None:
        config["config"]["mean"]["use_pickle"] = True

    assert "tensor 'mean': expected raw numbers, got a pickled object" in refused(changed("counter", pickled, weights))


def test_weights_are_read_where_they_lie_in_the_file():
    data = (PROGRAMS / "counter.pt2").read_bytes()
    file = Archive(data, "counter.pt2")
    assert file.view("data/weights/weight_0").obj is data
    assert bytes(file.view("data/weights/weight_0")) == entries("counter")["archive/data/weights/weight_0"]


def test_an_entry_is_the_one_that_the_directory_names():
    data = (PROGRAMS / "counter.pt2").read_bytes()
    at = data.index(b"archive/data/weights/weight_0")
    moved = data[:at] + b"archive/data/weights/weight_9" + data[at + 29 :]
    assert "readable entry 'data/weights/weight_0', got another one in its place" in refused(moved)
    flipped = bytearray(data)
    flipped[at + 29 + int.from_bytes(data[at - 2 : at], "little")] ^= 1
    assert "got one whose checksum is wrong" in refused(bytes(flipped))


def test_an_older_format_names_the_way_out(tmp_path: Path):
    (tmp_path / "old.pt2").write_bytes(archive({"serialized_exported_program.json": b"{}", "version": b"1"}))
    with pytest.raises(FrontendError, match=r"torch 2\.8"):
        whence.load(tmp_path / "old.pt2")


def test_deep_documents():
    files = entries("counter")
    key = next(key for key in files if key.endswith("/model.json"))
    assert "nests too deeply" in refused(archive({**files, key: b"[" * 200_000 + b"]" * 200_000}))


def weight(name: str, field: str, value: object) -> Callable[[Document], None]:
    def change(config: Document) -> None:
        config["config"][name]["tensor_meta"][field] = value

    return change


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("storage_offset", {"as_int": 1 << 40}),
        ("storage_offset", {"as_int": -1}),
        ("sizes", [{"as_int": 1 << 40}]),
        ("strides", [{"as_int": 100}]),
        ("dtype", 10),
        ("layout", 1),
    ],
)
def test_weights_outside_of_their_storage(field: str, value: object):
    text = refused(changed("counter", weight("mean", field, value), "model_weights_config.json"))
    assert "'mean'" in text


def first(document: Any) -> Any:
    return document["graph_module"]["graph"]["nodes"][0]


CHANGES: list[tuple[Callable[[Any], object], str]] = [
    (lambda d: first(d)["inputs"][0].update(arg={"as_tensor": {"name": "nobody"}}), "graph.nodes[0]"),
    (lambda d: first(d)["inputs"][0].update(arg={"as_tensor": {"name": "sub"}}), "a node before gives"),
    (lambda d: first(d).update(outputs=[{"as_tensor": {"name": "x"}}]), "names of values that differ"),
    (lambda d: first(d)["inputs"][0].update(arg={"as_magic": 1}), "a known kind of argument"),
    (lambda d: first(d)["inputs"][0].update(arg={"as_int": 1, "as_float": 2.0}), "one member of a union"),
    (lambda d: d["schema_version"].update(major=9), "schema 9"),
    (lambda d: d.pop("graph_module"), "a field 'graph_module'"),
    (lambda d: d["graph_module"]["signature"]["input_specs"].pop(), "inputs"),
    (lambda d: d["graph_module"]["graph"].update(nodes={}), "a list"),
]


@pytest.mark.parametrize(("change", "expected"), CHANGES)
def test_places_in_the_document_are_named(change: Callable[[Document], object], expected: str):
    assert expected in refused(changed("counter", change))


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "Symbol('s0').__class__",
        "Pow(Integer(9), Integer(99999999))",
        "FloorDiv(Integer(1), Integer(0))",
        "Add(" * 500 + "Integer(1)" + ")" * 500,
        "1 if True else 2",
    ],
)
def test_sizes_are_parsed_and_never_run(text: str):
    def change(document: Document) -> None:
        values = document["graph_module"]["graph"]["tensor_values"]
        values["x"]["sizes"][0] = {"as_expr": {"expr_str": text, "hint": None}}

    refused(changed("counter", change))


def test_unknown_operators_are_named_at_once_with_layers_lines_and_counts():
    with pytest.raises(FrontendError) as raised:
        whence.load(PROGRAMS / "unknown.pt2")
    text = str(raised.value)
    assert "aten.igamma.default (1 layer: igamma at networks.py:" in text
    assert "aten.special_bessel_j0.default (2 layers: special_bessel_j0 at networks.py:" in text
    assert "special_bessel_j0_1 at networks.py:" in text


def test_shapes_that_contradict_the_program():
    path = PROGRAMS / "cnn.pt2"
    for shape, expected in (([2, 4, 16, 16], "agrees with the model's"), ([100, 3, 16, 16], "image_0 from 0 to 64")):
        with pytest.raises(FrontendError, match=expected):
            whence.load(path, {"image": shape})
    with pytest.raises(FrontendError, match="weren't found in the graph"):
        whence.load(path, {"picture": [1]})


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_damage_anywhere_ends_in_one_error_or_none(kind: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Of each kind of damage one file of each program; `python tests/support/damaged_pt2.py` makes 2,000, and runs
    what they become."""
    monkeypatch.chdir(tmp_path)
    for seed in range(kind * len(NAMES), (kind + 1) * len(NAMES)):
        assert not outcome(seed, run=False).startswith("WRONG"), seed
    assert not (tmp_path / MARK).exists()
