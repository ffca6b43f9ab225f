"""Files that are no programs, damaged ones and hostile ones: one error each, which names the file and the place."""

from __future__ import annotations

import io
import json
import random
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import whence
from whence.support.errors import FrontendError, WhenceError

PROGRAMS = Path(__file__).parents[2] / "exports" / "pytorch"
Document = dict[str, Any]


def entries(name: str = "counter") -> dict[str, bytes]:
    with zipfile.ZipFile(PROGRAMS / f"{name}.pt2") as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def archive(files: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as new:
        for name, data in files.items():
            new.writestr(name, data)
    return target.getvalue()


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


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(FrontendError, match=r"none\.pt2"):
        whence.load(tmp_path / "none.pt2")


@pytest.mark.parametrize("name", ["../evil", "archive/../../evil", "/etc/evil", "other/evil", "archive/a\\b"])
def test_entries_outside_of_the_archive(name: str):
    files = entries()
    assert repr(name) in refused(archive({**files, name: b""}))


def test_compressed_entries_are_refused_before_they_are_unpacked():
    bomb = {**entries(), "archive/data/weights/weight_0": bytes(1 << 24)}
    assert "stored, not compressed" in refused(archive(bomb, zipfile.ZIP_DEFLATED))


def test_pickles_are_refused(tmp_path: Path):
    data = archive({"net/data.pkl": b"\x80\x02}q\x00.", "net/version": b"3\n"})
    (tmp_path / "net.pt").write_bytes(data)
    with pytest.raises(FrontendError, match=r"net\.pt: expected a program written by torch\.export\.save, got pickled"):
        whence.load(tmp_path / "net.pt")
    weights = "model_weights_config.json"

    def pickled(config: Document) -> None:
        config["config"]["mean"]["use_pickle"] = True

    assert "tensor 'mean': expected raw numbers, got a pickled object" in refused(changed("counter", pickled, weights))


def test_an_older_format_names_the_way_out(tmp_path: Path):
    (tmp_path / "old.pt2").write_bytes(archive({"serialized_exported_program.json": b"{}", "version": b"1"}))
    with pytest.raises(FrontendError, match=r"torch 2\.8"):
        whence.load(tmp_path / "old.pt2")


def test_deep_documents():
    files = entries()
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
        "Symbol('nobody', integer=True)",
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


@pytest.mark.parametrize("seed", range(40))
def test_damage_anywhere_ends_in_one_error_or_none(seed: int):
    """Bytes of the file, or values of the document, replaced at random."""
    rng = random.Random(seed)
    if seed % 2:
        data = bytearray((PROGRAMS / "writes.pt2").read_bytes())
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        damaged = bytes(data)
    else:
        damaged = changed("writes", lambda document: scrambled(document, rng))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            whence.load(damaged, {"x": [5, 4]})
        except WhenceError as error:
            found = str(error)
        else:
            found = ""
    assert "this is a bug of Whence" not in found


def scrambled(document: Document, rng: random.Random) -> None:
    """Replace a few values anywhere in a document by others."""
    for _ in range(rng.randrange(1, 4)):
        place: Any = document["graph_module"]["graph"]
        while True:
            keys: list[Any] = [*place] if isinstance(place, dict) else [*range(len(place))]  # pyright: ignore[reportUnknownArgumentType]
            if not keys:
                break
            key = rng.choice(keys)
            if not isinstance(place[key], dict | list) or rng.random() < 0.1:
                place[key] = rng.choice([None, -1, 0, 1 << 70, "", "x", [], {}, True, 0.5, {"as_int": -1}])
                break
            place = place[key]  # pyright: ignore[reportUnknownVariableType]
