"""TEDD: the JSON between, the three drawings, and what becomes of them with and without Graphviz."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast, get_args

import pytest

import whence
from whence.explorer.schedule import dot, tedd
from whence.explorer.schedule.dot import wrapped
from whence.explorer.schedule.tedd_json import KIND_TYPES, ScheduleEntry, dump_json
from whence.te.schedule.itervar import Kind
from whence.te.schedule.schedule import Schedule

Golden = Callable[[str, str], None]
View = Callable[..., str | None]
VIEWS: tuple[View, ...] = (tedd.viz_schedule_tree, tedd.viz_itervar_relationship_graph, tedd.viz_dataflow_graph)


def _edges(text: str | None) -> set[str]:
    return set(re.findall(r"^\s*(\w\S* -> [^\[\s]+)", text or "", re.MULTILINE))


def test_json(gemm: Schedule, golden: Golden) -> None:
    document = dump_json(gemm)
    golden("gemm.json", json.dumps(document, indent=1) + "\n")
    a, b, c = document["stages"]
    assert (a["name"], b["name"], c["name"]) == ("A", "B", "C")
    assert (a["compute"], a["all_itervars"], a["output_tensors"][0]["shape"]) == (None, [], [1024, 1024])
    assert c["input_tensors"] == [[0, 0], [1, 0]]
    leaves = {entry["index"]: entry["name"] for entry in c["all_itervars"] if entry["index"] >= 0}
    assert [leaves[i] for i in range(6)] == ["m.outer", "k.outer", "n.outer", "m.inner", "k.inner", "n.inner"]
    assert [entry["index"] for entry in c["all_itervars"][:3]] == [-1, -1, -1]


def test_every_kind_has_a_type() -> None:
    assert set(KIND_TYPES) == set(get_args(Kind))


@pytest.mark.parametrize(
    ("view", "name"),
    [
        (tedd.viz_schedule_tree, "gemm_tree.dot"),
        (tedd.viz_itervar_relationship_graph, "gemm_itervars.dot"),
        (tedd.viz_dataflow_graph, "gemm_dataflow.dot"),
    ],
)
def test_drawings_of_gemm(gemm: Schedule, golden: Golden, view: View, name: str) -> None:
    golden(name, view(gemm, output_dot_string=True) or "")


def test_schedule_tree_of_gemm(gemm: Schedule) -> None:
    """The rows in loop order with the colours of their types."""
    text = tedd.viz_schedule_tree(gemm, output_dot_string=True) or ""
    assert text.startswith('digraph "Schedule Tree" {\n\trankdir=BT\n\tsubgraph cluster_legend {\n\t\tlabel=Legend\n')
    assert "Stage_0 [label=<" in text
    rows = re.findall(r'BGCOLOR="(#\w+)" PORT="(\w+)">(\d+)</TD><TD>(.*?)<br/>range\(min=0, ext=(\d+)\)', text)
    assert rows == [
        ("#F5B7B1", "IterVar_2_3", "0", "m.outer(kParallelized)", "32"),
        ("#FAD7A0", "IterVar_2_7", "1", "k.outer(kCommReduce)", "128"),
        ("#FFFFFF", "IterVar_2_5", "2", "n.outer(kDataPar)", "32"),
        ("#FFFFFF", "IterVar_2_4", "3", "m.inner(kDataPar)", "32"),
        ("#FAD7A0", "IterVar_2_8", "4", "k.inner(kCommReduce)", "8"),
        ("#AED6F1", "IterVar_2_6", "5", "n.inner(kVectorized)", "32"),
    ]
    assert "C[m, n] += A[m, k] * B[k, n]</TD>" in text
    assert _edges(text) == {"Stage_0 -> ROOT", "Stage_1 -> ROOT", "Stage_2 -> ROOT"}
    assert text.endswith("\tROOT [label=ROOT margin=0 shape=oval]\n}\n")


def test_attached_and_inlined_stages(softmax: Schedule) -> None:
    norm = softmax["norm"]
    softmax["exp"].compute_inline()
    softmax["expsum"].compute_at(norm, norm.axes[1])
    softmax["maxelem"].compute_at(norm, norm.axes[0])
    softmax["expsum"].set_scope("local")
    text = tedd.viz_schedule_tree(softmax, output_dot_string=True) or ""
    assert 'Stage_1 -> Stage_4:IterVar_4_0 [color="#922B21"]' in text
    assert 'Stage_2 -> ROOT [color="#000000"]' in text
    assert 'Stage_3 -> Stage_4:IterVar_4_1 [color="#76448A"]' in text
    assert "expsum<br/>Scope: local" in text
    assert re.search(r"Stage_2 .*i\(kDataPar\)<br/>range\(N/A\).*j\(kDataPar\)<br/>range\(N/A\)", text)
    assert re.search(r"Stage_3 .*i\(kDataPar\)<br/>range\(min=i, ext=1\).*k\(kCommReduce\)<br/>.*ext=100", text)


def test_an_attachment_beyond_the_palette_is_black(softmax: Schedule) -> None:
    norm, axis = softmax["norm"], softmax["norm"].axes[1]
    for _ in range(7):
        _, axis = norm.split(axis, max(1, cast(int, axis.extent) // 2))
    softmax["expsum"].compute_at(norm, axis)
    document = dump_json(softmax)
    at = document["stages"][3]["attaching_to"]
    assert at is not None
    assert document["stages"][4]["all_itervars"][at[1]]["index"] == 8
    assert f'Stage_3 -> Stage_4:IterVar_4_{at[1]} [color="#000000"]' in tedd.schedule_tree(document)


def test_itervar_relationship_graph(softmax: Schedule) -> None:
    maxelem, norm = softmax["maxelem"], softmax["norm"]
    maxelem.split(maxelem.axes[0], 4)
    norm.fuse(*norm.axes)
    norm.fuse()
    text = tedd.viz_itervar_relationship_graph(softmax, output_dot_string=True) or ""
    assert text.startswith('digraph "IterVar Relationship Graph" {\n\trankdir=TB\n\tsubgraph cluster_legend {')
    assert {f"cluster_Stage_{i}" for i in range(5)} <= set(re.findall(r"subgraph (\w+)", text))
    assert 'Stage_0 [label="" style=invis]' in text
    assert _edges(text) == {
        "IterVar_1_0:itervar -> Split_Relation_1_0:Input",
        "Split_Relation_1_0:Outer -> IterVar_1_2:itervar",
        "Split_Relation_1_0:Inner -> IterVar_1_3:itervar",
        "IterVar_4_0:itervar -> Fuse_Relation_4_0:Outer",
        "IterVar_4_1:itervar -> Fuse_Relation_4_0:Inner",
        "Fuse_Relation_4_0:Fused -> IterVar_4_2:itervar",
        "Singleton_Relation_4_1:Iter -> IterVar_4_3:itervar",
    }
    assert re.search(r"IterVar_1_0 .*>-1</TD><TD>i\(kDataPar\)", text)
    assert re.search(r"IterVar_4_3 .*>0</TD><TD>singleton\(kDataPar\)<br/>range\(min=0, ext=1\)", text)


def test_dataflow_graph_of_softmax(softmax: Schedule) -> None:
    text = tedd.viz_dataflow_graph(softmax, output_dot_string=True) or ""
    assert text.startswith('digraph "Dataflow Graph" {\n\trankdir=LR\n')
    assert 'Tensor_1_0 [label="[8]\\nfloat32" margin=0 shape=oval]' in text
    assert _edges(text) == {
        *(f"Stage_{i}:O_0 -> Tensor_{i}_0" for i in range(5)),
        "Tensor_0_0 -> Stage_1:I_0",
        "Tensor_0_0 -> Stage_2:I_0",
        "Tensor_1_0 -> Stage_2:I_1",
        "Tensor_2_0 -> Stage_3:I_0",
        "Tensor_2_0 -> Stage_4:I_0",
        "Tensor_3_0 -> Stage_4:I_1",
    }


def test_a_stage_of_two_results(argmax: Schedule) -> None:
    document = dump_json(argmax)
    assert [stage["name"] for stage in document["stages"]] == ["x", "argmax", "index", "value"]
    tensors = document["stages"][1]["output_tensors"]
    assert [(tensor["value_index"], tensor["data_type"]) for tensor in tensors] == [(0, "int32"), (1, "float32")]
    assert _edges(tedd.dataflow_graph(document)) >= {
        "Stage_1:O_0 -> Tensor_1_0",
        "Stage_1:O_1 -> Tensor_1_1",
        "Tensor_1_0 -> Stage_2:I_0",
        "Tensor_1_1 -> Stage_3:I_0",
    }


def test_a_cache_stands_before_its_copy(gemm: Schedule) -> None:
    schedule = gemm.snapshot(0)
    schedule.cache_write(schedule["C"], "local")
    document = dump_json(schedule)
    assert [stage["name"] for stage in document["stages"]] == ["A", "B", "C.local", "C"]
    assert [stage["properties"]["scope"] for stage in document["stages"]] == ["global", "global", "local", "global"]
    assert document["stages"][3]["input_tensors"] == [[2, 0]]


def test_bound_and_tensorized_loops(gemm: Schedule) -> None:
    """Threads and intrinsics are drawn where a document has them."""
    document: ScheduleEntry = dump_json(gemm)
    entry = next(e for e in document["stages"][2]["all_itervars"] if e["name"] == "n.inner")
    entry["itervar_type"] = 8
    entry["properties"]["thread"], entry["properties"]["intrin"] = "threadIdx.x", "vadd<8>"
    text = tedd.schedule_tree(document)
    assert 'BGCOLOR="#A9DFBF" PORT="IterVar_2_6">5</TD><TD>n.inner(kTensorized)<br/>range(min=0, ext=32)' in text
    assert '<br/><font color="#2980B9">(threadIdx.x)</font><br/>(tensor_intrin:vadd&lt;8&gt;)</TD>' in text


def test_ranges_that_cannot_be_inferred(softmax: Schedule) -> None:
    softmax["exp"].compute_at(softmax["expsum"], softmax["expsum"].axes[0])
    with pytest.warns(UserWarning, match="Ranges are not available, because InferBound fails with") as caught:
        text = tedd.viz_schedule_tree(softmax, output_dot_string=True) or ""
    assert caught[0].filename == __file__
    assert "range(min" not in text
    assert "Stage_2 -> Stage_3:IterVar_3_0" in text


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("short", "short"),
        ("x" * 30, "x" * 30),
        ("x" * 35, "x" * 30 + "<br/>" + "x" * 5),
        ("C[m, n] += A[m, k] * B[k, n] + 1", "C[m, n] += A[m, k] * B[k, n]<br/>+ 1"),
        ("ax0.ax1.fused.ax2.fused.ax3.fused(kDataPar)", "ax0.ax1.fused.ax2.fused.ax3.<br/>fused(kDataPar)"),
        ("a < b && c", "a &lt; b &amp;&amp; c"),
    ],
)
def test_wrapped(text: str, lines: str) -> None:
    assert wrapped(text) == lines


def test_nothing_is_returned_unless_asked_for(gemm: Schedule, capsys: pytest.CaptureFixture[str]) -> None:
    for view in VIEWS:
        assert view(gemm) is None
        assert (view(gemm, False, "", True) or "").startswith("digraph ")
    assert capsys.readouterr().out == ""


def test_dot_file(gemm: Schedule, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "gemm.dot"
    text = tedd.viz_schedule_tree(gemm, dot_file_path=str(path), output_dot_string=True)
    assert path.read_text() == text
    assert capsys.readouterr().out == ""


def test_a_path_that_cannot_be_written(gemm: Schedule, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none" / "gemm.dot"
    assert tedd.viz_dataflow_graph(gemm, dot_file_path=str(path)) is None
    assert capsys.readouterr().out == f"Cannot open file: {path}\n"


def _installed(monkeypatch: pytest.MonkeyPatch, program: str | None) -> None:
    """Graphviz is found there, or not at all."""

    def which(_: str) -> str | None:
        return program

    monkeypatch.setattr(shutil, "which", which)


def test_without_graphviz(
    gemm: Schedule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _installed(monkeypatch, None)
    assert tedd.viz_schedule_tree(gemm, show_svg=True) is None
    assert capsys.readouterr().out == dot.NOT_INSTALLED + "\n"
    assert dot.NOT_INSTALLED.startswith("Graphviz is not installed: ")
    tedd.viz_schedule_tree(gemm, dot_file_path=str(tmp_path / "gemm.png"))
    assert capsys.readouterr().out == dot.NOT_INSTALLED + "\n"
    assert not list(tmp_path.iterdir())


def test_with_graphviz(
    gemm: Schedule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a stand-in for the program, which need not be installed."""
    seen: list[list[str]] = []

    def run(command: list[str], input: bytes, **_: object) -> subprocess.CompletedProcess[bytes]:
        seen.append(command)
        return subprocess.CompletedProcess(command, 0, b"<svg>" + input[:7] + b"</svg>", b"")

    _installed(monkeypatch, "/bin/dot")
    monkeypatch.setattr(subprocess, "run", run)
    svg = tedd.viz_schedule_tree(gemm, show_svg=True)
    assert isinstance(svg, tedd.Drawing)
    assert svg._repr_svg_() == svg == "<svg>digraph</svg>"  # pyright: ignore[reportPrivateUsage]
    text = tedd.viz_schedule_tree(gemm, show_svg=True, output_dot_string=True) or ""
    assert text.startswith("digraph ")
    assert capsys.readouterr().out == "<svg>digraph</svg>\n"
    path = tmp_path / "gemm.png"
    tedd.viz_schedule_tree(gemm, dot_file_path=str(path))
    assert path.read_bytes() == b"<svg>digraph</svg>"
    assert seen == [["/bin/dot", "-Tsvg"], ["/bin/dot", "-Tsvg"], ["/bin/dot", "-Tpng"]]


# Between two rfactors of softmax's maximum the first part is computed where its reader is not yet.
@pytest.mark.filterwarnings("ignore:Ranges are not available")
def test_snapshots_of_a_network_draw(kernels: list[Schedule]) -> None:
    for schedule in kernels:
        record = schedule.schedule_record
        assert len(record) == len(schedule.primitive_record)
        for snapshot in (*record[::5], record[-1]):
            count = len(dump_json(snapshot)["stages"])
            tree, itervars, flow = (view(snapshot, output_dot_string=True) or "" for view in VIEWS)
            assert len(re.findall(r"^\tStage_\d+ -> ", tree, re.MULTILINE)) == count
            assert itervars.count("subgraph cluster_Stage_") == count
            assert len(re.findall(r"^\tStage_\d+ \[", flow, re.MULTILINE)) == count
            for text in (tree, itervars, flow):
                assert text.count("{") == text.count("}")
                assert not re.search(r"[^&\w]<(?!/?(TABLE|TR|TD|br|font)\b|<TABLE)", text)


def test_it_is_public_and_loaded_when_used() -> None:
    script = (
        "import sys, whence; assert not [m for m in sys.modules if m.endswith('.tedd')]; from whence import tedd; "
        "print(callable(tedd.viz_schedule_tree), tedd is whence.tedd)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]
    assert whence.tedd.viz_dataflow_graph is tedd.viz_dataflow_graph
