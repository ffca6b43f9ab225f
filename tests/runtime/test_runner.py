"""From a fused relay module and hand-written kernels to numbers: assembly, main program, linking, running."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import cast

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects import llvm
from xdsl.dialects.builtin import LocationAttr, ModuleOp, TensorType, UnknownLoc, f32
from xdsl.ir import Operation, SSAValue

from whence.dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from whence.dialects.relay.elementwise import AddOp, ReluOp
from whence.lowering.cache import KernelCache
from whence.lowering.llvm_to_native.compile import compile_text
from whence.lowering.llvm_to_native.emit import emit_module
from whence.lowering.llvm_to_native.target import Target
from whence.lowering.llvm_to_native.thread_pool import thread_pool
from whence.planning import main_program as main_module
from whence.planning.artifact import Artifact, Snapshot
from whence.planning.assemble import assemble
from whence.planning.build import compile_main
from whence.planning.loading import load
from whence.planning.main_program import main_program
from whence.provenance.ledger import Ledger
from whence.provenance.span import fuse, layer_location, layer_names
from whence.runtime.program.executor import Runner
from whence.runtime.program.inputs import accepted
from whence.runtime.program.program import Call, Slot
from whence.runtime.program.threads import ThreadPool
from whence.runtime.values.tensors import Tensor, TensorSpec
from whence.support.dtypes import Array
from whence.support.errors import FrontendError, PipelineError

N = 10_007
FLOAT = np.dtype(np.float32)
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class TextKernel:
    symbol: str
    object: bytes
    workspace: int = 0
    sizes: int = 0
    sites: tuple[tuple[str, tuple[int, ...]], ...] = ()
    tiles: bool = False


def elementwise(symbol: str, inputs: int, formula: str, *, parallel: bool, workspace: bool = False) -> TextKernel:
    """out[i] = formula of %a0, %a1, ... into %r, over N floats; with a workspace, by way of it."""
    pointers = [f"%p{k}" for k in range(inputs)]
    loads = "\n".join(
        f"""  %s{k} = getelementptr ptr, ptr %ctx, i64 {k}
  %b{k} = load ptr, ptr %s{k}"""
        for k in range(inputs + 1)
    )
    values = "\n".join(
        f"""  %e{k} = getelementptr float, ptr %b{k}, i64 %i
  %a{k} = load float, ptr %e{k}, align 4"""
        for k in range(inputs)
    )
    stores = "\n".join(
        f"""  %s{k} = getelementptr ptr, ptr %ctx, i64 {k}
  store ptr {pointer}, ptr %s{k}"""
        for k, pointer in enumerate([*pointers, "%ws" if workspace else "%out"])
    )
    run = f"@whence_parallel_for(ptr %pool, ptr @body, ptr %ctx, i64 {N})"
    copy = f"  call void @llvm.memcpy.p0.p0.i64(ptr %out, ptr %ws, i64 {4 * N}, i1 false)" if workspace else ""
    text = f"""
declare void @whence_parallel_for(ptr, ptr, ptr, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare float @llvm.maximum.f32(float, float)
define internal void @body(ptr %ctx, i64 %begin, i64 %end) {{
entry:
{loads}
  br label %loop
loop:
  %i = phi i64 [%begin, %entry], [%next, %loop]
{values}
  %r = {formula}
  %to = getelementptr float, ptr %b{inputs}, i64 %i
  store float %r, ptr %to, align 4
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}}
define void @{symbol}({", ".join(f"ptr {p}" for p in [*pointers, "%out", "%ws", "%pool"])}) {{
  %ctx = alloca [{inputs + 1} x ptr]
{stores}
  call void {run if parallel else f"@body(ptr %ctx, i64 0, i64 {N})"}
{copy}
  ret void
}}
"""
    return TextKernel(symbol, compile_text(text, Target.native()).object, 4 * N if workspace else 0)


KERNELS = (
    elementwise("k_add", 2, "fadd float %a0, %a1", parallel=True),
    elementwise("k_relu", 1, "call float @llvm.maximum.f32(float %a0, float 0.0)", parallel=False),
    elementwise("k_twice", 1, "fadd float %a0, %a0", parallel=True, workspace=True),
)
LEAVES = [layer_location(name, "m.onnx", index) for index, name in enumerate(("add", "relu", "twice", "sum", "last"))]
TYPE = TensorType(f32, [N])


def native(module: ModuleOp) -> bytes:
    return compile_text(emit_module(module), Target.native()).object


def relay_module(weights: Array) -> ModuleOp:
    """t = x + w; r = relu(t); d = 2r; s = d + r; returns s, r, x, w, s, and nothing of an unused call."""
    module = ModuleOp([])

    def primitive(name: str, inputs: int, leaves: Sequence[LocationAttr]) -> None:
        function = FuncOp(name, [TYPE] * inputs, [TYPE], primitive=True, location=fuse(leaves))
        arguments = function.block.args
        value = AddOp(arguments[0], arguments[-1]) if inputs == 2 else ReluOp(arguments[0])
        value.location = leaves[0]
        function.block.add_ops([value, ReturnOp(value)])
        module.body.block.add_op(function)

    for name, inputs, leaf in (("f_add", 2, 0), ("f_relu", 1, 1), ("f_twice", 1, 2), ("f_sum", 2, 3), ("f_last", 1, 4)):
        primitive(name, inputs, [LEAVES[leaf]])
    main = FuncOp("main", [TYPE], [TYPE] * 5)
    (x,) = main.block.args
    x.name_hint = "x"

    def call(callee: str, leaf: int, *arguments: SSAValue) -> SSAValue:
        op = CallOp(callee, arguments, [TYPE])
        op.location = LEAVES[leaf]
        main.block.add_op(op)
        return op.outputs[0]

    constant = ConstantOp.of(weights, module, "w")
    main.block.add_op(constant)
    w = constant.result
    r = call("f_relu", 1, call("f_add", 0, x, w))
    call("f_last", 4, x)
    s = call("f_sum", 3, call("f_twice", 2, r), r)
    last = ReturnOp(s, r, x, w, s)
    last.location = LEAVES[3]
    main.block.add_op(last)
    module.body.block.add_op(main)
    return module


KERNEL_OF = {"f_add": 0, "f_relu": 1, "f_twice": 2, "f_sum": 0, "f_last": 1}


def random(seed: int = 0) -> Floats:
    return np.random.default_rng(seed).standard_normal(N).astype(np.float32)


def wanted(x: Floats, w: Floats) -> list[Floats]:
    r = np.maximum(x + w, 0)
    return [3 * r, r, x, w, 3 * r]


def build(weights: Array) -> Artifact:
    module = relay_module(weights)
    program = assemble(module, KERNELS, KERNEL_OF)
    main = main_program(program)
    main.verify()
    snapshots = (Snapshot("fused", module),)
    return Artifact(
        **vars(program),
        kernels=KERNELS,
        main=native(main),
        target=Target.native(),
        ledger=Ledger(),
        snapshots=snapshots,
    )


@pytest.fixture(scope="module")
def artifact() -> Artifact:
    return build(random(99))


@pytest.fixture(scope="module")
def runner(artifact: Artifact) -> Runner:
    return load(artifact)


@pytest.fixture(params=[1, 2, 3])
def pool(request: pytest.FixtureRequest) -> ThreadPool:
    return thread_pool(cast(int, request.param))


def test_outputs_are_right(runner: Runner, pool: ThreadPool):
    """Also outputs that are inputs, constants, or returned twice."""
    for seed in range(5):
        x = random(seed)
        outputs = runner.run([x], pool)
        assert len(outputs) == 5
        for found, expected in zip(outputs, wanted(x, random(99)), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-6)
            assert not found.ctypes.data % 64
            assert not np.shares_memory(found, x)


def test_every_run_has_arrays_of_its_own(runner: Runner):
    pool = thread_pool(1)
    first = runner.run([random(1)], pool)
    kept = [array.copy() for array in first]
    runner.run([random(2)], pool)
    for found, expected in zip(first, kept, strict=True):
        np.testing.assert_array_equal(found, expected)


def _misaligned(x: Floats) -> Floats:
    raw = np.zeros(x.nbytes + 65, np.uint8)
    view = raw[(1 - raw.ctypes.data) % 64 :][: x.nbytes].view(np.float32)
    view[:] = x
    assert view.ctypes.data % 4
    return view


def _read_only(x: Floats) -> Floats:
    x.flags.writeable = False
    return x


VARIANTS: dict[str, Callable[[Floats], object]] = {
    "read-only": _read_only,
    "subclass": lambda x: x.view(np.recarray),
    "strided": lambda x: np.repeat(x, 2)[::2],
    "align4": lambda x: np.concatenate([x, x])[1:][: x.size],
    "broadcast": lambda x: np.broadcast_to(np.float32(0.5), x.shape),
    "misaligned": _misaligned,
    "list": lambda x: x.tolist(),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_inputs_of_all_kinds(runner: Runner, pool: ThreadPool, variant: str):
    x = VARIANTS[variant](random(3))
    outputs = runner.run({"x": x}, pool)
    np.testing.assert_allclose(outputs[0], wanted(np.asarray(x, np.float32), random(99))[0], rtol=1e-6)


def test_inputs_in_mappings_of_all_kinds(runner: Runner):
    """Also one that makes up what it does not hold: a missing input is missing, and the mapping stays as it is."""
    x, pool = random(3), thread_pool(1)
    for inputs in ({"x": x}, MappingProxyType({"x": x}), defaultdict(random, {"x": x}), [x], (x,)):
        np.testing.assert_allclose(runner.run(inputs, pool)[0], wanted(x, random(99))[0], rtol=1e-6)
    other = defaultdict(random, {"y": x})
    for inputs in ({"y": x}, other):
        with pytest.raises(
            FrontendError, match=r"^inputs: missing float32\[10007\] 'x'; unknown input 'y'; the inputs are x$"
        ):
            runner.run(inputs, pool)
    assert list(other) == ["y"]


def test_read_only_and_broadcast_parameters():
    weights = np.broadcast_to(np.float32(-0.25), (N,))
    artifact = build(weights)
    assert artifact.params[0].flags.c_contiguous
    assert not artifact.params[0].ctypes.data % 64
    x = random(4)
    outputs = load(artifact).run([x], thread_pool(2))
    for found, expected in zip(outputs, wanted(x, np.array(weights)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_runs_in_several_python_threads(runner: Runner):
    pool, failures = thread_pool(2), list[str]()

    def work(seed: int) -> None:
        x = random(seed)
        expected = wanted(x, random(99))[0]
        for _ in range(50):
            if not np.allclose(runner.run([x], pool)[0], expected, rtol=1e-6):
                failures.append(f"seed {seed}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_walk_sees_every_call_with_its_tensors(runner: Runner, pool: ThreadPool):
    x = random(5)
    seen: list[tuple[str, tuple[str, ...], Tensor]] = []

    def visit(call: Call, seconds: float, outputs: list[Tensor]) -> None:
        assert seconds > 0
        seen.append((call.name, call.layers, outputs[0].copy()))

    outputs = runner.walk([x], pool, visit)
    expected = wanted(x, random(99))
    for found, one in zip(outputs, expected, strict=True):
        np.testing.assert_allclose(found, one, rtol=1e-6)
    assert [(name, layers) for name, layers, _ in seen] == [
        ("f_add", ("add",)),
        ("f_relu", ("relu",)),
        ("f_last", ("last",)),
        ("f_twice", ("twice",)),
        ("f_sum", ("sum",)),
    ]
    r = expected[1]
    for (_, _, found), one in zip(seen, (x + random(99), r, np.maximum(x, 0), 2 * r, 3 * r), strict=True):
        np.testing.assert_allclose(found, one, rtol=1e-6)


def test_profile(runner: Runner, pool: ThreadPool):
    seconds = runner.profile([random()], pool, repeat=3)
    assert seconds.shape == (3, 5)
    assert (seconds > 0).all()


def test_assembly(artifact: Artifact):
    program = artifact.program
    assert artifact.inputs == (TensorSpec("x", (N,), FLOAT),)
    assert [spec.name for spec in artifact.outputs] == ["output0", "output1", "output2", "output3", "output4"]
    add, relu, _, twice, total = program.calls
    assert add.inputs == (Slot("io", 0), Slot("param", 0))
    assert relu.outputs == twice.inputs == total.inputs[1:] == (Slot("io", 2),)
    assert total.outputs == (Slot("io", 1),)
    assert twice.workspace is not None
    assert add.workspace is None
    assert add.kernel == total.kernel == 0
    assert [layer_names(artifact.calls[k].layers[0]) for k in (0, 4)] == [("add",), ("sum",)]
    assert [(copy.source, copy.target) for copy in program.copies] == [
        (Slot("io", 0), Slot("io", 3)),
        (Slot("param", 0), Slot("io", 4)),
        (Slot("io", 1), Slot("io", 5)),
    ]


def test_names_come_from_the_caller_first():
    program = assemble(relay_module(random()), KERNELS, KERNEL_OF, ["data:0"], ["prob", "mask"])
    assert [spec.name for spec in program.inputs] == ["data:0"]
    assert [spec.name for spec in program.outputs] == ["prob", "mask", "output2", "output3", "output4"]


def test_snapshots_print_with_locations(artifact: Artifact):
    (snapshot,) = artifact.snapshots
    assert 'loc("twice"("m.onnx":2:0))' in snapshot.text
    assert snapshot.text is snapshot.text


def test_a_main_that_is_not_fused_is_an_error():
    module = relay_module(random())
    main = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    op = ReluOp(main.block.args[0])
    op.location = LEAVES[1]
    main.block.insert_op_before(op, main.return_op)
    with pytest.raises(PipelineError, match=r"expected constants and calls in @main, got relay.nn.relu \(layer 'relu'"):
        assemble(module, KERNELS, KERNEL_OF)
    op.detach()
    with pytest.raises(PipelineError, match="expected a kernel for @f_twice"):
        assemble(module, KERNELS, {"f_add": 0, "f_relu": 1, "f_last": 1})


def test_ops_of_the_main_program_have_the_locations_of_their_calls(artifact: Artifact):
    module = main_program(artifact)
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, llvm.FuncOp)}
    assert list(functions) == ["k_add", "k_relu", "k_twice", "whence_main"]
    assert layer_names(functions["k_add"].location) == ("add", "sum")
    assert layer_names(functions["whence_main"].location) == ("add", "relu", "last", "twice", "sum")
    for op in module.walk():
        assert isinstance(op, ModuleOp) or not isinstance(op.location, UnknownLoc), op
    calls = [op for op in functions["whence_main"].body.block.ops if isinstance(op, llvm.CallOp)]
    assert [layer_names(op.location) for op in calls] == [("add",), ("relu",), ("last",), ("twice",), ("sum",)]
    for call in calls:
        for operand in call.operands:
            if isinstance(owner := operand.owner, Operation):
                assert owner.location is call.location


@pytest.mark.parametrize("most", [2000, 3])
def test_a_program_with_tiles_asks_before_all_calls(most: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(main_module, "CALLS_PER_FUNCTION", most)
    kernels = (*KERNELS[:2], replace(KERNELS[2], tiles=True))
    module = main_program(assemble(relay_module(random(99)), kernels, KERNEL_OF))
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, llvm.FuncOp)}
    calls = [op for op in functions["whence_main"].body.block.ops if isinstance(op, llvm.CallOp)]
    callees = [call.callee.root_reference.data for call in calls if call.callee is not None]
    assert callees[0] == "whence_need_tiles"
    assert callees.count("whence_need_tiles") == 1
    assert layer_names(calls[0].location) == layer_names(functions["whence_need_tiles"].location) == ("twice",)


def test_a_program_of_calls_alone_is_what_llvm_makes_of_it():
    """It is not optimised; its code is that of calls of which LLVM has to find out that they may be last."""
    module = relay_module(random(99))
    main = module.body.block.last_op
    assert isinstance(main, FuncOp)
    last = main.block.last_op
    assert isinstance(last, ReturnOp)
    last.operands = last.operands[:1]
    program = main_program(assemble(module, KERNELS, KERNEL_OF))
    target = Target.native()
    made = compile_main(program, target, KernelCache(enabled=False)).assembly
    for op in program.walk():
        op.properties.pop("TailCallKind", None)
    wanted = compile_text(emit_module(program, target=target), target).assembly
    assert [row for row in made.splitlines() if ".loc" not in row] == wanted.splitlines()


def test_a_long_program_is_cut_into_parts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(main_module, "CALLS_PER_FUNCTION", 3)
    artifact = build(random(99))
    module = main_program(artifact)
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, llvm.FuncOp)}
    assert list(functions)[-4:] == ["whence_main_0", "whence_main_1", "whence_main_2", "whence_main"]
    assert layer_names(functions["whence_main_0"].location) == ("add", "relu", "last")
    for op in module.walk():
        assert isinstance(op, ModuleOp) or not isinstance(op.location, UnknownLoc), op
    x = random(6)
    for found, expected in zip(load(artifact).run([x], thread_pool(1)), wanted(x, random(99)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_program_without_calls():
    module = ModuleOp([])
    main = FuncOp("main", [TYPE], [TYPE])
    main.block.add_op(ReturnOp(main.block.args[0]))
    module.body.block.add_op(main)
    program = assemble(module, (), {})
    main = native(main_program(program))
    runner = load(Artifact(**vars(program), kernels=(), main=main, target=Target.native(), ledger=Ledger()))
    np.testing.assert_array_equal(runner.run([random()], thread_pool(1))[0], random())


SPECS = (TensorSpec("ids", (1, 4), np.dtype(np.int64)), TensorSpec("mask", (2,), FLOAT))


def test_all_problems_of_the_inputs_are_said_at_once():
    with pytest.raises(FrontendError) as caught:
        accepted(SPECS, {"ids": np.zeros((4, 1), np.int32), "extra": 1})
    assert str(caught.value) == (
        "inputs: missing float32[2] 'mask'; unknown input 'extra'; the inputs are ids, mask; "
        "expected int64[1, 4] 'ids', got int32[4, 1]"
    )
    with pytest.raises(FrontendError, match=r"expected float32\[2\] 'mask', got a str that is no such array"):
        accepted(SPECS, {"ids": np.zeros((1, 4), np.int64), "mask": "no"})
    with pytest.raises(FrontendError, match=r"expected float32\[2\] 'mask', got float32\[3\]"):
        accepted(SPECS, {"ids": [[1, 2, 3, 4]], "mask": [1.0, 2.0, 3.0]})


def test_a_wrong_number_of_inputs(runner: Runner):
    with pytest.raises(FrontendError, match=r"expected 1 \(float32\[10007\] 'x'\), got 2"):
        runner.run([random(), random()], thread_pool(1))
