"""The driver in Python, by TVM's names."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx.numpy_helper
import onnx.parser
import pytest
from tuning_records import winners

import whence as tvm
from whence.driver import tvmc
from whence.executables.restoring import read_artifact
from whence.runtime import load_param_dict
from whence.support.errors import WhenceError
from whence.tuning.records import append

X = np.random.default_rng(0).standard_normal((2, 4), np.float32)
W = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """max(x w, 0), of any batch."""
    model = onnx.parser.parse_model("""
    <ir_version: 8, opset_import: ["": 13]>
    net (float[N, 4] x) => (float[N, 3] y) { [fc] a = MatMul (x, w) [act] y = Relu (a) }""")
    model.graph.initializer.append(onnx.numpy_helper.from_array(W, "w"))
    found = tmp_path_factory.mktemp("tvmc") / "net.onnx"
    found.write_bytes(model.SerializeToString())
    return found


def test_load_compile_run(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = tvmc.load(path, shape_dict={"x": [2, 4]})
    model.summary()
    assert "nn." in capsys.readouterr().out
    package = tvmc.compile(
        model,
        tvm.target.Target("llvm"),
        package_path=tmp_path / "net",
        dump_code="ll,relay",
        pass_context_configs=["tir.disable_vectorize=1"],
        disabled_pass=["FoldScaleAxis"],
        print_pass_times=True,
    )
    assert "relay-" in capsys.readouterr().err
    assert sorted(one.name for one in tmp_path.iterdir()) == ["net.tar", "net.tar.ll", "net.tar.relay"]
    assert package.lib_name == "net.tar"
    assert '"nodes"' in package.graph
    assert [array.size for array in load_param_dict(package.params).values()] == [12]
    result = tvmc.run(package, device="cpu", inputs={"x": X}, repeat=2, number=1, profile=True)
    assert "fused" in capsys.readouterr().out
    np.testing.assert_allclose(result.get_output("output_0"), np.maximum(X @ W, 0), rtol=1e-5)
    np.testing.assert_array_equal(result.get_output("y"), result.outputs["output_0"])
    assert len(result.times.results) == 2
    assert result.format_times() in str(result)
    result.save(tmp_path / "y.npz")
    np.testing.assert_array_equal(np.load(tmp_path / "y.npz")["output_0"], result.outputs["output_0"])


def test_a_package_of_any_batch_goes_with_its_object(path: Path):
    package = tvmc.compile(tvmc.load(path, model_format="onnx", shape_dict="x:[-1,4]"))
    scratch = package.package_path
    assert scratch.is_file()
    found = tvmc.run(tvmc.TVMCPackage(scratch), inputs={"x": X[:1]}, repeat=1, number=1)
    np.testing.assert_allclose(found.outputs["output_0"], np.maximum(X[:1] @ W, 0), rtol=1e-5)
    del package
    assert not scratch.exists()


def test_a_model_is_saved(path: Path, tmp_path: Path):
    tvmc.load(path, shape_dict={"x": [2, 4]}).save(tmp_path / "net.mlir")
    again = tvmc.TVMCModel(model_path=tmp_path / "net.mlir")
    package = tvmc.compile(again, package_path=tmp_path / "net.tar")
    zeros, ones = (
        tvmc.run(package, fill_mode=fill, repeat=1, number=1).outputs["output_0"] for fill in ("zeros", "ones")
    )
    np.testing.assert_array_equal(zeros, np.zeros((2, 3)))
    np.testing.assert_allclose(ones, np.broadcast_to(W.sum(0), (2, 3)), rtol=1e-6)


def test_an_archive_is_the_model_again(path: Path, tmp_path: Path):
    tvmc.load(path, shape_dict={"x": [2, 4]}).save(tmp_path / "net.tar")
    package = tvmc.compile(tmp_path / "net.tar", package_path=tmp_path / "again.tar")
    result = tvmc.run(package, inputs={"x": X}, repeat=1, number=1)
    np.testing.assert_allclose(result.get_output("y"), np.maximum(X @ W, 0), rtol=1e-5, atol=1e-6)
    (indices, scores) = tvmc.result_utils.get_top_results(result, 2)
    expected = np.maximum(X @ W, 0).ravel()
    np.testing.assert_array_equal(expected[indices.astype(int)], np.sort(expected)[::-1][:2])
    np.testing.assert_allclose(scores, np.sort(expected)[::-1][:2], rtol=1e-5)
    assert tvmc.TVMCModel(model_path=tmp_path / "net.tar").mod.astext() == tvmc.load(tmp_path / "net.tar").mod.astext()
    with pytest.raises(WhenceError, match=r"expected a model of TVMCModel\.save, got another archive"):
        tvmc.TVMCModel(model_path=package.package_path)
    (tmp_path / "bad.tar").write_bytes(b"no archive")
    with pytest.raises(WhenceError, match=r"bad\.tar: expected a model of TVMCModel\.save, got "):
        tvmc.TVMCModel(model_path=tmp_path / "bad.tar")


def test_formats_are_told_by_name_and_suffix(path: Path):
    frontends = tvmc.frontends
    assert {"onnx", "tflite", "keras", "pb", "pytorch", "relay"} <= set(frontends.get_frontend_names())
    for name in frontends.get_frontend_names():
        frontend = frontends.get_frontend_by_name(name)
        assert all(frontends.guess_frontend(f"m.{suffix}").name() == name for suffix in frontend.suffixes())
    assert type(frontends.guess_frontend(path)) is frontends.OnnxFrontend
    with pytest.raises(tvmc.TVMCException, match=r"model a\.b: expected a file in \.onnx.*, got \.b"):
        frontends.guess_frontend("a.b")


def test_shapes_of_command_lines():
    parse = tvmc.shape_parser.parse_shape_string
    assert parse("a:0:[1, 2],b:[3]") == {"a:0": [1, 2], "b": [3]}
    assert str(parse("a:[-1,3]")["a"][0]) == str(tvm.tir.Any())
    with pytest.raises(argparse.ArgumentTypeError, match="input shapes: expected text such as"):
        parse("a:1,2")
    with pytest.raises(argparse.ArgumentTypeError, match=r"expected numbers as extents, got '\[n,2\]'"):
        parse("a:[n,2]")


def test_a_package_without_a_suffix_is_found_again(path: Path, tmp_path: Path):
    tvmc.compile(tvmc.load(path, shape_dict={"x": [2, 4]}), package_path=tmp_path / "whatever")
    package = tvmc.TVMCPackage(package_path=tmp_path / "whatever")
    assert package.package_path.name == "whatever.tar"
    result = tvmc.run(package, inputs={"x": X}, repeat=1, number=1)
    np.testing.assert_allclose(result.get_output("output_0"), np.maximum(X @ W, 0), rtol=1e-5, atol=1e-6)


def test_inputs_are_made_by_mode():
    shapes, dtypes = {"x": (2, 3), "y": (4,)}, {"x": "float32", "y": "int32"}
    kept = np.ones((2, 3), np.float32)
    inputs = tvmc.runner.make_inputs_dict(shapes, dtypes, {"x": kept}, "zeros")
    assert inputs["x"] is kept
    np.testing.assert_array_equal(inputs["y"], np.zeros(4, np.int32))
    assert tvmc.runner.generate_tensor_data((2, 3), "uint8", "ones").sum() == 6
    with pytest.raises(WhenceError, match="fill_mode: expected one of random, zeros, ones, ramp, got 'some'"):
        tvmc.runner.generate_tensor_data((2, 3), "uint8", "some")
    with pytest.raises(WhenceError, match="inputs: expected names among x, y, got z"):
        tvmc.runner.make_inputs_dict(shapes, dtypes, {"z": kept})


def test_layouts_are_changed_before_compiling():
    rng = np.random.default_rng(2)
    image, kernel = (rng.standard_normal(shape, np.float32) for shape in ((1, 3, 8, 8), (4, 3, 3, 3)))
    x = tvm.relay.var("x", shape=image.shape)
    mod = tvm.IRModule.from_expr(tvm.relay.Function([x], tvm.relay.nn.conv2d(x, tvm.relay.const(kernel))))
    changed = tvmc.transform.apply_graph_transforms(mod, {"desired_layout": ["NHWC:HWIO"], "desired_layout_ops": None})
    assert 'data_layout="NHWC"' in changed.astext()
    assert 'kernel_layout="HWIO"' in changed.astext()
    assert tvmc.transform.apply_graph_transforms(mod, None) is mod
    before, after = (tvm.compile(each.module).run({"x": image}) for each in (mod, changed))
    for first, second in zip(before.values(), after.values(), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-5)
    with pytest.raises(WhenceError, match="desired_layout: expected one layout, or one for each operator"):
        tvmc.transform.convert_graph_layout(mod, ["NHWC", "NCHW"], ["nn.conv2d"])


def test_a_package_is_made_by_tuning_records(tmp_path: Path):
    data, weight = (np.random.default_rng(1).standard_normal(shape, np.float32) for shape in ((64, 32), (48, 32)))
    x = tvm.relay.var("x", shape=data.shape)
    dense = tvm.relay.nn.dense(x, tvm.relay.const(weight))
    model = tvmc.TVMCModel(tvm.IRModule.from_expr(tvm.relay.Function([x], dense)))
    (record,) = winners(tvm.compile(model.mod))
    append(tmp_path / "log.json", [record])
    package = tvmc.compile(model, package_path=tmp_path / "net.tar", tuning_records=str(tmp_path / "log.json"))
    (applied,) = read_artifact(package.package_path).tuned.values()
    assert applied.decisions == record.decisions
    result = tvmc.run(package, inputs={"x": data}, repeat=1, number=1)
    np.testing.assert_allclose(result.get_output("output_0"), data @ weight.T, rtol=1e-4, atol=1e-5)


_WRONG: list[tuple[str, Callable[[Any], object]]] = [
    ("log.json: expected a file of records of tuning", lambda model: tvmc.compile(model, tuning_records="log.json")),
    ("executor graph or aot", lambda model: tvmc.compile(model, executor="vm")),
    ("dump_code: expected asm", lambda model: tvmc.compile(model, dump_code="ptx")),
    ("disabled_pass: expected names of passes", lambda model: tvmc.compile(model, disabled_pass="Nothing")),
    ("pass_context_configs: expected NAME=VALUE", lambda model: tvmc.compile(model, pass_context_configs=["a"])),
    ("expected a file in .so", lambda model: tvmc.compile(model, package_path="net.tar", output_format="so")),
    ("expected the CPU as device", lambda model: tvmc.run(tvmc.TVMCPackage("net.tar"), device="cuda")),
    ("expected a model that runs here", lambda model: tvmc.run(tvmc.TVMCPackage("net.tar"), hostname="far")),
    ("the format of a .onnx file", lambda model: tvmc.load("net.onnx", model_format="tflite")),
    ("model_format: expected one of", lambda model: tvmc.load("net.pb", model_format="caffe")),
    ("got neither", lambda model: tvmc.TVMCModel()),
    ("a file in .tar or .mlir", lambda model: model.save("net.zip")),
]


@pytest.mark.parametrize(("message", "call"), _WRONG, ids=[message for message, _ in _WRONG])
def test_what_does_not_fit_is_told(message: str, call: Callable[[Any], object], path: Path):
    with pytest.raises(WhenceError, match=message):
        call(tvmc.load(path, shape_dict={"x": [2, 4]}))


def test_halves_by_the_names_of_options():
    rng = np.random.default_rng(4)
    image, kernel, weight = (rng.standard_normal(shape, np.float32) for shape in ((1, 3, 8, 8), (4, 3, 3, 3), (5, 144)))
    x = tvm.relay.var("x", shape=image.shape)
    flat = tvm.relay.nn.batch_flatten(tvm.relay.nn.conv2d(x, tvm.relay.const(kernel)))
    body = tvm.relay.nn.softmax(tvm.relay.nn.dense(flat, tvm.relay.const(weight)))
    mod = tvm.IRModule.from_expr(tvm.relay.Function([x], body))
    options = {"mixed_precision": True, "mixed_precision_ops": ["nn.dense"], "mixed_precision_acc_type": "float32"}
    changed = tvmc.transform.apply_graph_transforms(mod, options)
    lines = changed.astext(show_meta_data=False).splitlines()
    assert [line.rpartition("Tensor")[2].split(", ")[-1][:7] for line in lines if "nn.dense" in line] == ["float16"]
    assert changed["main"].checked_type.ret_type.dtype == "float32"
    half, full = (np.asarray(tvm.compile(each.module)(image)) for each in (changed, mod))
    assert 0 < np.abs(half - full).max() < 1e-1
    packages = [
        tvmc.compile(tvmc.TVMCModel(mod), mixed_precision=True, mixed_precision_calculation_type=dtype, use_vm=True)
        for dtype in ("float16", "bfloat16")
    ]
    for package, bound in zip(packages, (1e-1, 3e-1), strict=True):
        result = tvmc.run(package, inputs={"x": image}, repeat=1, number=1).get_output("output_0")
        assert 0 < np.abs(result - full).max() < bound
    with pytest.raises(WhenceError, match="mixed_precision_calculation_type: expected one of float16, bfloat16, got"):
        tvmc.transform.convert_to_mixed_precision(mod, calculation_type="int8")


def test_pools_are_those_of_the_options(path: Path):
    def pools(size: int) -> Any:
        properties = tvm.PoolInfoProperties(size_hint_bytes=size)
        return tvm.WorkspaceMemoryPools([tvm.WorkspacePoolInfo("sram", ["llvm"], properties)])

    rng = np.random.default_rng(6)
    weights = [tvm.relay.const(rng.standard_normal((64, 64), np.float32) / 8) for _ in range(2)]
    x = tvm.relay.var("x", shape=(4, 64))
    hidden = tvm.relay.nn.softmax(tvm.relay.nn.dense(x, weights[0]))
    model = tvmc.TVMCModel(tvm.IRModule.from_expr(tvm.relay.nn.softmax(tvm.relay.nn.dense(hidden, weights[1]))))
    given = {"x": rng.standard_normal((4, 64), np.float32)}
    free, planned = (
        tvmc.run(tvmc.compile(model, workspace_pools=each), inputs=given, repeat=1, number=1).get_output("output_0")
        for each in (None, pools(1 << 16))
    )
    np.testing.assert_array_equal(free, planned)
    with pytest.raises(WhenceError, match="sram"):
        tvmc.compile(model, workspace_pools=pools(64))


def seen_loops(func: Any, mod: Any, context: Any) -> Any:
    """A pass on kernels that texts of command lines name."""
    del mod, context
    SEEN.append(func)
    return func


SEEN: list[Any] = []


def test_passes_in_texts(monkeypatch: pytest.MonkeyPatch, path: Path):
    parse = tvmc.pass_config.parse_configs
    assert parse(["tir.disable_vectorize=true", "tir.usmp.algorithm=hill_climb", "relay.FuseOps.max_depth=3"]) == {
        "tir.disable_vectorize": True,
        "tir.usmp.algorithm": "hill_climb",
        "relay.FuseOps.max_depth": 3,
    }
    module: Any = type(argparse)("texts_of_passes")
    module.seen = tvm.tir.transform.prim_func_pass(seen_loops, opt_level=0)
    monkeypatch.setitem(sys.modules, "texts_of_passes", module)
    texts = ["tir.add_lower_pass=1,tir.transform.UnrollLoop", "tir.add_lower_pass=1,texts_of_passes.seen"]
    passes: Any = parse(texts)["tir.add_lower_pass"]
    assert [phase for phase, _ in passes] == [1, 1]
    assert passes[1][1] is module.seen
    package = tvmc.compile(tvmc.load(path, shape_dict={"x": [3, 4]}), pass_context_configs=texts)
    assert SEEN
    x = np.random.default_rng(8).standard_normal((3, 4), np.float32)
    result = tvmc.run(package, inputs={"x": x}, repeat=1, number=1)
    np.testing.assert_allclose(result.get_output("y"), np.maximum(x @ W, 0), rtol=1e-5, atol=1e-6)
    for text, message in (
        ("tir.add_lower_pass=tir.transform.UnrollLoop", "expected PHASE,PASS"),
        ("tir.add_lower_pass=1,no.such", "expected a pass, or the path of one to import, got 'no.such'"),
        ("tir.disable_vectorize=2", "expected true or false, got '2'"),
        ("tir.nothing=1", "Invalid config option 'tir.nothing'"),
    ):
        with pytest.raises(WhenceError, match=message):
            parse([text])
    assert tvmc.pass_list.parse_pass_list_str("FoldScaleAxis,FuseOps") == ["FoldScaleAxis", "FuseOps"]
    with pytest.raises(
        argparse.ArgumentTypeError, match="expected names of passes, got Mine, Yours in 'Mine,FuseOps,Y"
    ):
        tvmc.pass_list.parse_pass_list_str("Mine,FuseOps,Yours")
