"""Models as files: what is loaded gives what was compiled, without a compiler, and knows where it came from."""

from __future__ import annotations

import platform
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

import whence
from whence import relay, tedd
from whence.executables.executable import Executable
from whence.executables.restoring import read_artifact, read_library
from whence.explorer.coverage import coverage
from whence.explorer.layers import layers_of
from whence.explorer.overview import overview
from whence.explorer.results import results
from whence.explorer.why import why
from whence.relay.build_module import GraphExecutorFactoryModule
from whence.runtime import load_module, save_param_dict
from whence.runtime.program import cpus
from whence.support.errors import PipelineError
from whence.support.files import scratch_folder

Array = NDArray[Any]
Lib = GraphExecutorFactoryModule
KINDS = ("tar", "so", "o")


def close(found: dict[str, Array], reference: dict[str, Array]) -> None:
    assert found.keys() == reference.keys()
    for name, array in found.items():
        np.testing.assert_allclose(array, reference[name], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_model_runs_as_a_whole_and_as_a_graph(
    kind: str, files: dict[str, Path], image: Array, reference: dict[str, Array]
):
    module = load_module(files[kind])
    close(module.run({"x": image}), reference)
    graph = module["default"](whence.cpu())
    graph.run(x=image)
    close({name: graph.get_output(k).numpy() for k, name in enumerate(reference)}, reference)


def test_what_the_graph_knows_is_in_the_file(lib: Lib, files: dict[str, Path]):
    for path in files.values():
        module = load_module(path)
        assert module.get_graph_json() == lib.get_graph_json()
        assert module.origins == lib.origins
        assert {name: array.tobytes() for name, array in module.get_params().items()} == {
            name: array.tobytes() for name, array in lib.get_params().items()
        }


_DEPLOYED = """
import sys
BARRED = {"xdsl", "llvmlite", "onnx", "lark", "tflite"}
class Bar:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BARRED:
            raise ImportError(f"{name} is barred")
sys.meta_path.insert(0, Bar())
import numpy as np
from whence.runtime import load_module
for path in sys.argv[2:]:
    module = load_module(path)
    x = np.load(sys.argv[1])
    print(*module(x)[0].ravel().tolist())
print(*{name.split(".")[1] for name in sys.modules if name.startswith("whence.")})
"""


def test_a_process_without_the_compiler_runs_it(
    files: dict[str, Path], image: Array, reference: dict[str, Array], tmp_path: Path
):
    np.save(tmp_path / "x.npy", image)
    words = [sys.executable, "-c", _DEPLOYED, tmp_path / "x.npy", *files.values()]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *rows, modules = done.stdout.splitlines()
    for row in rows:
        np.testing.assert_allclose([float(word) for word in row.split()], reference["y"][0], rtol=1e-4, atol=1e-4)
    assert len(rows) == len(files)
    assert set(modules.split()) == {"runtime", "support"}


def test_parameters_are_where_the_file_is(files: dict[str, Path]):
    module = load_module(files["tar"])
    (largest,) = sorted(module.get_params().values(), key=lambda array: -array.nbytes)[:1]
    address = largest.ctypes.data
    mapped = [line.split() for line in Path("/proc/self/maps").read_text().splitlines() if "net.tar" in line]
    ranges = [[int(end, 16) for end in line[0].split("-")] for line in mapped]
    assert any(start <= address < end for start, end in ranges)
    assert not largest.flags.writeable


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_answers_as_the_compilation_did(kind: str, lib: Lib, files: dict[str, Path], image: Array):
    artifact, original = read_artifact(files[kind]), lib.artifact
    # Numbers of ops are those of a process; what follows from them is the same.
    plain = [[entry[:7] for entry in ledger.entries] for ledger in (artifact.ledger, original.ledger)]
    assert plain[0] == plain[1]
    assert results(artifact) == results(original) != {}
    assert [call.layers for call in artifact.calls] == [call.layers for call in original.calls]
    assert artifact.kernels == original.kernels
    assert layers_of(artifact) == layers_of(original)
    assert str(overview(artifact)) == str(overview(original))
    assert coverage(artifact) == coverage(original)
    assert str(why(artifact, 0)) == str(why(original, 0))
    for mine, theirs in zip(Executable(artifact)(image), lib.executable(image), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_parameters_may_be_shipped_apart(lib: Lib, image: Array, reference: dict[str, Array], tmp_path: Path):
    bare = Path(lib.remove_params().export_library(tmp_path / "bare.tar"))
    module = load_module(bare)
    assert not module.get_params()
    with pytest.raises(PipelineError, match="expected a model with its parameters, got one exported without"):
        module(image)
    with pytest.raises(PipelineError, match="expected a model with its parameters"):
        Executable(read_artifact(bare))(image)
    graph = module["default"](whence.cpu())
    graph.load_params(save_param_dict(lib.get_params()))
    graph.run(x=image)
    np.testing.assert_allclose(graph.get_output(0).numpy(), reference["y"], rtol=1e-4, atol=1e-4)


def test_equal_models_give_equal_archives(lib: Lib, files: dict[str, Path], tmp_path: Path):
    again = Path(lib.export_library(tmp_path / "again.tar"))
    assert again.read_bytes() == files["tar"].read_bytes()
    with tarfile.open(again) as archive:
        names = archive.getnames()
    assert {"whence.h", "whence_main.o", "whence_pool.o", "whence_interface.o", "whence_package.o"} < set(names)
    assert {f"{kernel.symbol}.o" for kernel in lib.artifact.kernels} < set(names)


def test_a_compiler_of_ones_own_links_the_library(lib: Lib, image: Array, reference: dict[str, Array], tmp_path: Path):
    seen: list[str] = []

    def fcompile(path: str, objects: list[str], options: list[str]) -> None:
        seen.extend([*options, *(Path(one).name for one in objects)])
        subprocess.run(["cc", "-shared", "-o", path, *objects, "-lm"], check=True)

    path = lib.export_library(tmp_path / "own.so", fcompile, options=["-O2"])
    assert seen[0] == "-O2"
    assert "whence_main.o" in seen
    close(load_module(path).run({"x": image}), reference)


def test_the_schedule_of_a_node(lib: Lib):
    nodes = [node for node, one in enumerate(lib.graph.nodes) if not one.is_argument and one.function != "__nop"]
    for node in nodes:
        schedule = lib.build_module.get_node_schedule(node)
        assert len(schedule.schedule_record) == len(schedule.primitive_record)
    conv = next(node for node in nodes if "conv2d" in lib.graph.nodes[node].name)
    record = lib.get_node_schedule(conv).schedule_record
    first, last = (tedd.viz_schedule_tree(one.normalize(), output_dot_string=True) for one in (record[0], record[-1]))
    assert "(kVectorized)" in str(last)
    assert "(kVectorized)" not in str(first)


def test_nodes_without_a_schedule_are_told(lib: Lib):
    numbers = {node.name: number for number, node in enumerate(lib.graph.nodes)}
    with pytest.raises(PipelineError, match=r"expected a node that calls a kernel, got node \d+, 'x', an input of the"):
        lib.get_node_schedule(numbers["x"])
    with pytest.raises(PipelineError, match=r"got node \d+, 'p0', a parameter of the graph"):
        lib.get_node_schedule(numbers["p0"])
    with pytest.raises(PipelineError, match=f"expected the number of a node, 0 to {len(numbers) - 1}, got 99"):
        lib.get_node_schedule(99)


def test_a_view_has_no_schedule():
    x = relay.var("x", shape=(1, 4), dtype="float32")
    function = relay.Function([x], relay.reshape(relay.exp(x), (4,)))
    with whence.PassContext(opt_level=0):
        lib = relay.build(relay.IRModule.from_expr(function), "llvm")
    node = next(number for number, one in enumerate(lib.graph.nodes) if one.function == "__nop")
    with pytest.raises(PipelineError, match="'reshape_nop', which is 'tvmgen_default_fused_exp' seen with another"):
        lib.get_node_schedule(node)


@pytest.mark.parametrize(
    ("target", "complaint"),
    [
        ("llvm -mtriple=aarch64-linux-gnu", "expected code for x86_64, got some for aarch64"),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64 -mattr=+amx-fp8,+avxvnni", "got some that needs avxvnni"),
        # What its CPU is known to have; tiles would be needed by code with tiles alone.
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids", "needs avx512vnni, avx512fp16, avx512f$"),
    ],
)
def test_code_for_other_machines_is_exported_and_not_loaded(
    target: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(cpus, "cpu_features", lambda: frozenset(["pni", "avx", "avx2", "fma"]))
    x = relay.var("x", shape=(4,), dtype="float32")
    with whence.PassContext(opt_level=0):
        lib = relay.build(relay.IRModule.from_expr(relay.Function([x], relay.nn.relu(x))), target)
    path = lib.export_library(tmp_path / "other.tar")
    with pytest.raises(PipelineError, match=complaint):
        load_module(path)
    assert len(read_artifact(path).calls) == 1


def test_code_for_another_machine_is_linked_by_a_compiler_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    x = relay.var("x", shape=(4,), dtype="float32")
    with whence.PassContext(opt_level=0):
        mod = relay.IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))
        lib = relay.build(mod, "llvm -mtriple=aarch64-unknown-linux-gnu")
        windows = relay.build(mod, "llvm -mtriple=x86_64-pc-windows-msvc")
    with pytest.raises(
        PipelineError, match=r"links a \.so file for aarch64 \(CC names it, or aarch64-linux-gnu-gcc is"
    ):
        lib.export_library(tmp_path / "net.so")
    (cross := tmp_path / "aarch64-linux-gnu-gcc").write_text("#!/bin/sh\necho 'ld: cannot find crt1.o' >&2; exit 1\n")
    cross.chmod(0o755)
    with pytest.raises(PipelineError, match=r"aarch64-linux-gnu-gcc: ld: cannot find crt1\.o$"):
        lib.export_library(tmp_path / "net.so")
    with pytest.raises(PipelineError, match="for x86_64, aarch64 or riscv64, got code for x86_64-pc-win"):
        windows.export_library(tmp_path / "net.tar")
    assert list(tmp_path.iterdir()) == [cross]


def test_a_file_gives_what_was_built(lib: Lib, files: dict[str, Path], image: Array):
    again = read_library(files["tar"])
    node = next(number for number, one in enumerate(lib.graph.nodes) if not one.is_argument)
    found, expected = again.build_module.get_node_schedule(node), lib.get_node_schedule(node)
    assert [str(one) for one in found.primitive_record] == [str(one) for one in expected.primitive_record]
    module = again["default"](whence.cpu())
    module.run(x=image)
    np.testing.assert_array_equal(module.get_output(0), lib.executable(image)[0])
    with pytest.raises(
        PipelineError, match=r"expected the module that whence\.executables\.restoring\.read_library reads"
    ):
        load_module(files["tar"]).get_node_schedule(node)
    with pytest.raises(PipelineError, match=r"expected the number of a node, 0 to .*, got True"):
        lib.get_node_schedule(True)


def test_the_snippet_of_the_explorers_proposal(model: onnx.ModelProto, tmp_path: Path):
    """As it is printed there, but for the frontend."""
    tvm = whence
    mod, params = relay.frontend.from_onnx(model, {"x": (1, 3, 32, 32)})

    # invoke build process
    with tvm.transform.PassContext(opt_level=3):
        lib = relay.build(mod, "llvm", params=params)

    # (new API) get schedule from a node in the graph
    conv = next(k for k, node in enumerate(lib.graph.nodes) if "conv2d" in node.name)
    sch = lib.build_module.get_node_schedule(conv)
    # (new API) get schedule record (snapshots of schedule)
    schs = sch.schedule_record

    # the second to last schedule
    tedd.viz_schedule_tree(schs[-2].normalize(), dot_file_path=str(tmp_path / "ori.dot"))
    # the last schedule with all the optimization strategies
    tedd.viz_schedule_tree(schs[-1].normalize(), dot_file_path=str(tmp_path / "cmp.dot"))
    ori, cmp = ((tmp_path / name).read_text() for name in ("ori.dot", "cmp.dot"))
    assert ori.startswith("digraph")
    assert cmp.startswith("digraph")


def test_what_needs_this_process_is_not_exported(model: onnx.ModelProto, tmp_path: Path):
    path = tmp_path / "x.tar"
    with pytest.raises(PipelineError, match=r"expected kernels of machine code, got .* which onnxruntime runs \(layer"):
        whence.compile(model, target="onnxruntime, llvm").export_library(path)
    uneven = onnx.ModelProto()
    uneven.CopyFrom(model)
    for value in (uneven.graph.input[0], uneven.graph.output[1]):
        # A prime, so that no tile divides it: what the last tile stores past the end is a place to check.
        value.type.tensor_type.shape.dim[3].dim_value = 37
    with whence.PassContext(config={"tir.instrument_bound_checkers": True}):
        checked = whence.compile(uneven)
    with pytest.raises(PipelineError, match="expected a model without bound checkers, got one that reports to this"):
        checked.export_library(path)
    assert not path.exists()


def test_the_folder_of_a_link_that_was_killed_goes_with_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    code = "import os; from whence.support.files import scratch_folder as f; s = f('mine-'); s.__enter__(); os._exit(1)"
    subprocess.run([sys.executable, "-c", code], check=False)
    (left,) = tmp_path.iterdir()
    with scratch_folder("other-"), scratch_folder("mine-") as first:
        assert not left.exists()
        with scratch_folder("mine-") as second:
            assert first != second
            assert first.is_dir()
    assert not list(tmp_path.iterdir())
