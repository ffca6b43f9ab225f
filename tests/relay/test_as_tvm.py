"""Programs that say `import tvm`, in a process of their own; and the names that they find."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence
from whence import ir, relay, support, te, testing, tir
from whence.ir import diagnostics
from whence.relay.backend import Executor, Runtime
from whence.relay.backend.interpreter import ConstructorValue
from whence.relay.backend.name_transforms import sanitize_name, to_c_constant_style, to_c_function_style
from whence.relay.prelude import Prelude
from whence.relay.testing.nat import count, make_nat_expr, make_nat_value
from whence.runtime.interpreting import container
from whence.runtime.values.registry import list_global_func_names, remove_global_func
from whence.support.errors import FrontendError, PipelineError, WhenceError
from whence.target import Target

NAMES = """
tvm.IRModule tvm.cpu tvm.nd.array tvm.runtime.ndarray.device tvm.runtime.vm.VirtualMachine
tvm.runtime.profiler_vm.VirtualMachineProfiler tvm.runtime.convert
tvm.runtime.container.ADT tvm.runtime.container.String tvm.runtime.Module tvm.runtime.NDArray tvm.convert
tvm.register_func tvm.get_global_func tvm.error.TVMError tvm.error.DiagnosticError tvm._ffi.base.TVMError
tvm._ffi.get_global_func tvm._ffi.registry.list_global_func_names tvm.target.Target tvm.target.target.Target
tvm.ir.structural_equal tvm.ir.assert_structural_equal tvm.ir.structural_hash tvm.ir.make_node tvm.ir.Range
tvm.ir.instrument.pass_instrument tvm.ir.transform.PassContext tvm.ir.op.register_op_attr tvm.ir.base.Node
tvm.transform.module_pass tvm.parser.fromtext tvm.arith.Analyzer tvm.tir.IntImm tvm.tir.Any tvm.tir.ir_builder.create
tvm.te.var tvm.topi.testing.softmax_python tvm.contrib.utils.tempdir tvm.contrib.nvcc.have_fp16
tvm.contrib.graph_executor.GraphModule tvm.driver.tvmc.compile tvm.relay.build tvm.relay.expr.Let
tvm.relay.function.Function tvm.relay.TypeFunctor tvm.relay.transform.transform.InferType tvm.relay.transform.gradient
tvm.relay.backend.Executor tvm.relay.backend.interpreter.RefValue tvm.relay.backend.vm.compile
tvm.relay.backend.executor_factory.GraphExecutorFactoryModule tvm.relay.op.op.get tvm.relay.op.tensor.add
tvm.relay.op.contrib.register.register_pattern_table tvm.relay.op.OpPattern tvm.relay.op.annotation.compiler_begin
tvm.relay.prelude.StaticTensorArrayOps tvm.relay.testing.run_infer_type tvm.relay.testing.count_ops
tvm.relay.analysis.extract_intermdeiate_expr tvm.testing.assert_allclose tvm.testing.parameters tvm.testing.uses_gpu
""".split()
SCRIPT = """
import importlib, sys
from whence.testing import as_tvm
as_tvm()
as_tvm()
import tvm
import tvm.relay.testing
from tvm import relay
from tvm.relay.transform.transform import InferType
from tvm.runtime.vm import VirtualMachine
from tvm.driver.build_module import lower
import whence
assert tvm is whence and relay is whence.relay, tvm
assert relay.__spec__.name == "whence.relay"
for name in sys.argv[1:]:
    value, path = tvm, "tvm"
    for part in name.split(".")[1:]:
        path += "." + part
        value = getattr(value, part) if hasattr(value, part) else importlib.import_module(path)
try:
    import tvm.no_such_module
except ModuleNotFoundError:
    print("done")
"""


def test_tvm_is_whence(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, *NAMES]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.stdout == "done\n", done.stderr


CONFTEST = 'pytest_plugins = ["whence.testing.plugin"]\n'
TESTS = """
import pytest
from whence import testing

class TestSums:
    a, b, total = testing.parameters((1, 2, 3), (4, 5, 9), ids=["small", "large"])
    scale = testing.parameter(1, 10)
    def test_sum(self, target, dev, a, b, total, scale):
        assert (target, dev.device_type, scale * (a + b)) == ("llvm", 1, scale * total)

by_name = testing.parameter(by_dict={"one": 1, "two": 2})
@testing.fixture
def twice(by_name):
    return 2 * by_name
def test_named(twice):
    assert twice in (2, 4)
made = []
@testing.fixture(cache_return_value=True)
def weights(by_name):
    made.append(by_name)
    return [by_name]
@pytest.mark.parametrize("turn", range(2))
def test_cached(weights, by_name, turn):
    assert weights == [by_name]
    weights.append(turn)
def test_made_once():
    assert sorted(made) == [1, 2]
later, same = testing.parameters((1, 1), (2, 2))
def test_later(later, same):
    assert later == same
@testing.requires_cuda
def test_cuda():
    assert False
@testing.requires_llvm()
@testing.uses_gpu
def test_llvm():
    pass
@testing.requires_package("no_such_package")
def test_package():
    assert False
@testing.parametrize_targets("llvm", "cuda")
def test_on(target):
    pass
@testing.known_failing_targets("llvm")
def test_fails(target):
    assert False
@testing.exclude_targets("llvm")
def test_excluded(target):
    assert False
@pytest.mark.parametrize("target", ["mine"])
def test_own(target):
    assert target == "mine"
"""


def test_tests_are_written_as_tvms(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "."]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "16 passed, 3 skipped, 1 xfailed" in done.stdout, done.stdout
    assert testing.enabled_targets() == [("llvm", whence.cpu(0))]
    assert testing.device_enabled("llvm -mcpu=skylake")
    assert not testing.device_enabled("cuda")
    assert testing.device_enabled({"kind": "llvm"})
    with pytest.raises(AttributeError):
        _ = testing.no_such_thing


def test_functions_are_known_by_name() -> None:
    @whence.register_func("test.twice")
    def twice(value: Any) -> Any:
        return value * 2

    try:
        found = whence.get_global_func("test.twice")
        assert found is not None
        assert (found(3), found(True), found(1.5), found("a"), found(np.int64(4))) == (6, 2, 3.0, "aa", 8)
        np.testing.assert_array_equal(found(whence.nd.array([1, 2])), [2, 4])
        with pytest.raises(TypeError, match="Don't know how to handle type"):
            found(np.ones(3))
        by_name: Any = found
        with pytest.raises(TypeError):
            by_name(value=3)
        with pytest.raises(FrontendError, match=r"Global PackedFunc test\.twice is already registered"):
            whence.register_func("test.twice", twice)
        whence.register_func("test.twice", str, override=True)
        assert "test.twice" in list_global_func_names()
        assert whence.get_global_func("test.none", allow_missing=True) is None
        with pytest.raises(ValueError, match=r"Cannot find global function test\.none"):
            whence.get_global_func("test.none")
        with pytest.raises(ValueError, match="expect string function name"):
            whence.register_func(3, twice)
    finally:
        remove_global_func("test.twice")
    with pytest.raises(FrontendError):
        remove_global_func("test.twice")


def test_a_kernel_calls_what_is_registered() -> None:
    @whence.register_func("test.add_one")
    def add_one(given: Any, out: Any) -> None:
        whence.nd.array(given.numpy() + 1).copyto(out)

    try:
        a = te.placeholder((4,), name="a")
        b = te.extern((4,), [a], lambda ins, outs: te.call_packed("test.add_one", ins[0], outs[0]), name="b")
        func = whence.build(te.create_schedule(b.op), [a, b])
        np.testing.assert_array_equal(func(np.arange(4, dtype=np.float32)), [1, 2, 3, 4])
    finally:
        remove_global_func("test.add_one")
    assert add_one


def test_values_become_objects() -> None:
    found = whence.convert([1, 2.5, True, "text", None, {"key": [3]}])
    assert isinstance(found, ir.Array)
    assert [found[0].dtype, found[1].dtype, found[2].dtype, type(found[3])] == [
        *("int32", "float32", "bool"),
        container.String,
    ]
    assert (found[0] == 1) is not None
    assert found[4] is None
    assert found[5]["key"][0].value == 3
    x = relay.var("x")
    assert whence.convert(x) is x
    assert whence.convert(abs)(-3) == 3
    for wrong in ({1.5: 2}, object(), {3}):
        with pytest.raises(ValueError, match=r"convert|container"):
            whence.convert(wrong)


def test_targets_as_tvm_has_them() -> None:
    target = Target("llvm -keys=cpu -num-cores=4")
    assert isinstance(target, Target)
    assert (target.kind.name, target.keys, target.attrs["num-cores"]) == ("llvm", ["cpu"], 4)
    assert target.with_host("llvm") is target
    assert (target.triple, target.features) == (Target("llvm").triple, Target("llvm").features)
    assert Target({"kind": "llvm", "mcpu": "x86-64", "num-cores": 2}).attrs == {"mcpu": "x86-64", "num-cores": 2}
    assert Target.current() is None
    with target:
        assert Target.current() is target
        with Target("llvm -mcpu=x86-64") as inner:
            assert Target.current() is inner
            x = relay.var("x", shape=(3,))
            assert relay.build(relay.IRModule.from_expr(relay.nn.relu(x)), None).target is inner
    with pytest.raises(PipelineError):
        Target.current(allow_none=False)
    with pytest.raises(PipelineError, match="num-cores"):
        Target("llvm -num-cores=many")
    with pytest.raises(PipelineError, match="target host"):
        target.with_host("llvm -mtriple=aarch64-linux-gnu")


def test_executors_and_runtimes_have_kinds() -> None:
    executor = Executor("aot", {"unpacked-api": True})
    assert (str(executor), executor["unpacked-api"], executor.get_attr("link-params")) == ("aot", True, None)
    assert executor == Executor("aot", {"unpacked-api": True}) != Executor("graph")
    assert Runtime.list_registered_runtimes() == ["cpp", "crt"]
    for wrong in (lambda: Executor("vm"), lambda: Runtime("cpp", {"link-params": 1})):
        with pytest.raises(PipelineError):
            wrong()
    x = relay.var("x", shape=(3,))
    lib = relay.build(relay.IRModule.from_expr(relay.nn.relu(x)), "llvm", executor=executor, runtime=Runtime("cpp"))
    assert lib["default"] is not None
    assert to_c_function_style("tvmgen_my_model") == "TVMGenMyModel"
    assert to_c_constant_style("tvmgen_a") == "TVMGEN_A"
    assert sanitize_name("a+b.c") == "a_b_c"
    with pytest.raises(FrontendError):
        to_c_function_style("model")


def test_expressions_take_spans_last_and_types_are_called() -> None:
    span = relay.Span(relay.SourceName("place"), 1, 1, 1, 1)
    x = relay.Var("x", relay.TensorType((2,)), span)
    made: Any = relay
    nodes = [
        x,
        made.Call(relay.op.op.get("negative"), [x], None, None, span),
        relay.Tuple([x], span),
        relay.TupleGetItem(relay.Tuple([x]), 0, span),
        relay.Let(x, relay.const(1.0), x, span),
        made.Function([x], x, None, None, None, span),
        relay.RefCreate(x, span),
    ]
    assert all(node.span is span and node.same_as(node) for node in nodes)
    values = np.ones((2, 3), np.float32)
    constant: Any = relay.Constant(values)
    np.testing.assert_array_equal(constant.data.numpy(), values)
    assert relay.Constant(values).data is constant.data
    mod = Prelude().mod
    a, b = relay.TypeVar("a"), relay.TypeVar("b")
    the_list, cons, nil = mod.get_type("List")
    assert the_list(a) == relay.TypeCall("List", [a])
    assert cons.name_hint == "Cons"
    assert nil.name_hint == "Nil"
    assert mod["length"].checked_type == relay.FuncType([the_list(b)], relay.scalar_type("int32"), [b])
    assert mod["length"].checked_type != relay.FuncType([the_list(b)], relay.scalar_type("int64"), [b])
    assert hash(relay.FuncType([a], a, [a])) == hash(relay.FuncType([b], b, [b]))


def test_attributes_and_arguments_as_tvm_has_them() -> None:
    call: Any = relay.nn.conv2d(relay.var("x"), relay.var("w"), strides=(2, 1))
    assert [one.value for one in call.attrs.strides] == [2, 1]
    assert call.attrs.strides == [2, 1] or call.attrs.strides == (2, 1)
    x = relay.var("x", shape=(), dtype="int32")
    found = relay.create_executor().evaluate(relay.Function([x], x + x))(relay.const(4))
    assert found.numpy() == 8
    span = relay.Span(None, 1, 2, 3, 4)
    assert span.same_as(span)
    assert not span.same_as(relay.Span(None, 1, 2, 3, 4))


def test_natural_numbers() -> None:
    p = Prelude()
    p.mod.import_from_std("nat.rly")
    nat, zero, successor = p.mod.get_type("nat")
    double, add, iterate = (p.mod.get_global_var(f"nat_{name}") for name in ("double", "add", "iterate"))
    run = relay.create_executor("debug", p.mod).evaluate
    assert p.mod[double].checked_type == relay.FuncType([nat()], nat())
    assert count(p, run(add(double(make_nat_expr(p, 2)), successor(zero())))) == 5
    n = relay.Var("n", nat())
    assert count(p, run(iterate(relay.Function([n], successor(n)), make_nat_expr(p, 3))(zero()))) == 3
    value = make_nat_value(p, 4)
    assert isinstance(value, ConstructorValue)
    assert (count(p, value), value.constructor, value.tag) == (4, successor, successor.tag)
    assert count(p, run(relay.Function([n], double(n)))(value)) == 8
    with pytest.raises(FrontendError, match="nat: expected a number of at least 0"):
        make_nat_expr(p, -1)


def test_values_of_programs_have_classes() -> None:
    x = relay.var("x", shape=(2,))
    for kind in ("debug", "vm"):
        found = relay.create_executor(kind).evaluate(relay.Tuple([x, x]), {x: np.ones(2, np.float32)})
        assert isinstance(found, container.ADT)
        assert not isinstance(found, ConstructorValue)
    assert container.ADT(3, [1, 2]).fields == (1, 2)
    assert container.tuple_object([1, 2]) == (1, 2)


def test_passes_keep_variables_and_get_modules() -> None:
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    same = relay.testing.run_opt_pass(x + relay.zeros((2,), "float32"), relay.transform.SimplifyExpr())
    assert same is x
    assert relay.analysis.free_vars(relay.testing.run_infer_type(x + y)) == [x, y]
    seen: list[Any] = []

    @whence.transform.module_pass(opt_level=0)
    def look(mod: Any, context: Any) -> Any:
        seen.append(mod)
        return mod

    mod = relay.IRModule.from_expr(x + y)
    after = whence.transform.Sequential([look, relay.transform.InferType()])(mod)
    assert isinstance(seen[0], relay.IRModule)
    ir.assert_structural_equal(after, mod)
    assert isinstance(look(mod.module), type(mod.module))

    @whence.transform.module_pass(opt_level=0)
    def fail(mod: Any, context: Any) -> Any:
        raise RuntimeError("a reason")

    for kind in (WhenceError, RuntimeError):
        with pytest.raises(kind, match="a reason"):
            fail(mod)


def test_small_parts() -> None:
    x = relay.var("x", shape=(2,))
    with pytest.raises(NotImplementedError):
        relay.ExprFunctor().visit(x)
    function: Any = relay.Function([x], x).with_attr({"Primitive": tir.IntImm("int32", 1), "Compiler": "mine"})
    assert (function.attrs.Primitive, function.attrs.Compiler) == (1, "mine")
    assert relay.function.FunctionWithFields(function, body=x) is function
    assert relay.function.FunctionWithFields(function, attrs={"a": 1}).attrs == {"a": 1}
    assert relay.testing.count_ops(x + x) == 1
    relay.op.register_pattern("test.op", relay.op.OpPattern.OPAQUE)
    assert relay.op.op.Op("test.op").get_attr("TOpPattern") == 8
    conv = relay.nn.conv2d(relay.var("d", shape=(1, 1, 5, 5)), relay.var("w", shape=(1, 1, 3, 3)), padding=(1, 1))
    both = relay.split(relay.nn.relu(conv), 1, axis=0)
    mod = relay.IRModule.from_expr(both[0] + relay.const(1.0))
    first = relay.analysis.extract_intermdeiate_expr(mod, 0)
    ir.assert_structural_equal(first, relay.IRModule.from_expr(conv))
    assert len(relay.analysis.extract_fused_functions(mod)) == 3
    with pytest.raises(FrontendError, match="a number below"):
        relay.analysis.extract_intermdeiate_expr(mod, 9)
    assert ir.make_node("attrs.TestAttrs", name="x") == ir.make_node("attrs.TestAttrs", name="x")
    assert ir.make_node("IntImm", dtype="int32", value=3).value == 3
    with pytest.raises(ValueError, match="make_node"):
        ir.make_node("Nothing")
    assert not ir.structural_equal(x, relay.PatternVar(x))
    assert whence.contrib.nvcc.have_fp16("6.1")
    assert not whence.contrib.nvcc.have_fp16("5.2")
    folder = whence.contrib.utils.tempdir()
    Path(folder.relpath("file")).write_text("text")
    assert folder.listdir() == ["file"]
    folder.remove()
    assert not folder.path.exists()
    assert whence.nd.array([1.0]).device == whence.cpu()
    assert whence.cpu().exist


def test_diagnostics_are_shown_to_who_asks(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(3), float32]) { no_such_operator(%x) }'
    seen: list[Any] = []
    diagnostics.override_renderer(seen.append)
    try:
        with pytest.raises(whence.error.DiagnosticError):
            relay.fromtext(wrong)
    finally:
        diagnostics.override_renderer(None)
    assert "no_such_operator" in seen[0].diagnostics[0].message
    diagnostics.get_renderer().render(seen[0])
    assert "no_such_operator" in capsys.readouterr().err
    with pytest.raises(whence.error.DiagnosticError):
        relay.fromtext(wrong)
    assert len(seen) == 1
    x = relay.var("x", shape=(2,))
    mod = relay.IRModule.from_expr(x + x)
    ir.assert_structural_equal(relay.SpanCheck()(mod), mod)
    assert "SpanCheck: @main: " in capsys.readouterr().err
    assert support.libinfo()["USE_LLVM"] == "ON"


def test_programs_of_the_virtual_machine_are_exported(tmp_path: Path) -> None:
    x = relay.var("x", shape=(2,))
    mod = relay.IRModule.from_expr(relay.Function([x], x + x))
    executable = relay.vm.compile(mod)
    code, lib = executable.save()
    path = lib.export_library(str(tmp_path / "lib.tar"), fcompile=False)
    loaded = whence.runtime.load_module(path)
    machine = whence.runtime.vm.VirtualMachine(whence.runtime.vm.Executable.load_exec(code, loaded), whence.cpu())
    np.testing.assert_array_equal(machine.run(x=np.ones(2, np.float32)), [2, 2])
    np.testing.assert_array_equal(machine.invoke("main", x=np.zeros(2, np.float32)), [0, 0])
    i, down = relay.var("i", shape=(), dtype="int32"), relay.GlobalVar("down")
    body = relay.If(relay.equal(i, relay.const(0)), i, down(i - relay.const(1)))
    loop = relay.IRModule({down: relay.Function([i], body, relay.scalar_type("int32"))})
    j = relay.var("j", shape=(), dtype="int32")
    loop["main"] = relay.Function([j], down(j))
    relay.vm.compile(loop).export_library(str(tmp_path / "other.tar"))
    program = whence.runtime.load_program(str(tmp_path / "other.tar"))
    np.testing.assert_array_equal(np.asarray(program(np.array(3, np.int32))), 0)


def test_numbers_out_of_expressions() -> None:
    n = te.var("n")
    utils = whence.topi.utils
    assert utils.get_const_tuple([tir.IntImm("int32", 3), te.const(2) * 4, 5]) == (3, 8, 5)
    assert utils.get_const_tuple([n])[0] is n
    assert utils.get_const_int(n - n + 2) == 2
    with pytest.raises(WhenceError, match="expected a number"):
        utils.get_const_int(n)
    assert relay.ty.is_dynamic(relay.TupleType([relay.TensorType((relay.Any(), 2))]))
    assert not relay.ty.is_dynamic(relay.TensorType((1, 2)))
    assert relay.expr.pretty_print(relay.const(1)) == "1"
    assert relay.expr.astext(relay.const(1)).endswith("1")


class _Names(relay.TypeVisitor):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def visit_tensor_type(self, tt: Any) -> None:
        self.seen.append(tt.dtype)

    def visit_type_var(self, tv: Any) -> None:
        self.seen.append(tv.name_hint)


def test_types_are_visited() -> None:
    tensor, a = relay.TensorType((2,), "int8"), relay.TypeVar("a")
    types = [
        relay.FuncType([tensor, a], a, [a]),
        relay.TupleType([tensor, relay.RefType(a)]),
        relay.TypeCall("List", [tensor]),
    ]
    for type_, seen in zip(types, (["int8", "a", "a", "a"], ["int8", "a"], ["int8"]), strict=True):
        visitor = _Names()
        visitor.visit(type_)
        assert visitor.seen == seen
        assert relay.TypeMutator().visit(type_) == type_
        with pytest.raises(NotImplementedError):
            relay.TypeFunctor().visit(type_)
    relation = relay.TypeRelation("broadcast", [tensor], 1)
    assert relay.TypeMutator().visit(relation) == relation
    visitor = _Names()
    visitor.visit(relation)
    assert visitor.seen == ["int8"]
    assert (a.kind, relay.TypeVar("s", relay.TypeKind.ShapeVar).kind) == (relay.TypeKind.Type, relay.TypeKind.ShapeVar)
    assert relay.transform.InferTypeLocal(relay.const(1) + relay.const(2)) == relay.scalar_type("int32")
