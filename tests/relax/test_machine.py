"""The virtual machine by Relax's names: ways to call, results by function, programs of files, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence
from whence import relax, te
from whence.runtime import load_module
from whence.script import relax as R
from whence.support.errors import FrontendError, PipelineError


def normal(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def two_functions() -> Any:
    """`main`, a difference of open length, and `both`, a tuple of it and a product."""
    bb, n = relax.BlockBuilder(), te.var("n")
    for name in ("main", "both"):
        x, y = (relax.Var(label, R.Tensor((n, 4), "float32")) for label in "xy")
        with bb.function(name, [x, y]):
            difference = bb.emit(relax.op.subtract(x, y))
            product = bb.emit(relax.op.multiply(x, y))
            bb.emit_func_output(difference if name == "main" else relax.Tuple([difference, product]))
    return bb.get()


def test_results_belong_to_the_function_that_was_invoked():
    vm = relax.VirtualMachine(relax.build(two_functions()), whence.cpu())
    x, y = normal(3, 4), normal(3, 4, seed=1)
    with pytest.raises(PipelineError, match="get_outputs: expected invoke_stateful of main before it, got none"):
        vm.get_outputs("main")
    with pytest.raises(PipelineError, match="invoke_stateful: expected set_input of main before it, got none"):
        vm.invoke_stateful("main")
    vm.set_input("main", x, y=y)
    vm.set_input("both", y=x, x=y)
    vm.invoke_stateful("main")
    vm.invoke_stateful("both")
    vm["main"](y, x)
    np.testing.assert_array_equal(np.asarray(vm.get_outputs("main")), x - y)
    difference, product = vm.get_outputs("both")
    np.testing.assert_array_equal(np.asarray(difference), y - x)
    np.testing.assert_array_equal(np.asarray(product), x * y)
    vm.set_input("main", y, x)
    with pytest.raises(PipelineError, match="get_outputs: expected invoke_stateful of main"):
        vm.get_outputs("main")


@pytest.mark.parametrize(
    ("args", "named", "got"),
    [
        (1, (), "1 arguments"),
        (3, (), "3 arguments"),
        (0, ("x",), "0 arguments, x"),
        (1, ("z",), "1 arguments, z"),
        (2, ("y",), "2 arguments, y"),
    ],
)
def test_arguments_that_do_not_fit_are_named_when_they_are_set(args: int, named: tuple[str, ...], got: str):
    vm = relax.VirtualMachine(relax.build(two_functions()))
    with pytest.raises(PipelineError, match=f"set_input: expected x, y of main, got {got}$"):
        vm.set_input("main", *[normal(3, 4)] * args, **dict.fromkeys(named, normal(3, 4)))


def test_arguments_of_other_types_are_named_when_it_is_called():
    vm = relax.VirtualMachine(relax.build(two_functions()))
    for call, error in (
        ((normal(2, 5), normal(2, 4)), r"expected float32\[n, 4\] 'x', got float32\[2, 5\]"),
        ((normal(2, 4), normal(3, 4)), r"'y': expected n = 2 for n = 2, got 3"),
        ((normal(2, 4), "text"), "'y', got a str"),
        ((normal(2, 4),), "expected 2 .*'x'.*'y'.*, got 1"),
    ):
        with pytest.raises(FrontendError, match=error):
            vm["main"](*call)


def test_saved_calls_have_names_of_their_own():
    vm = relax.VirtualMachine(relax.build(two_functions()))
    x, y = normal(3, 4), normal(3, 4, seed=1)
    vm.save_function("main", "saved", x, y)
    np.testing.assert_array_equal(np.asarray(vm["saved"]()), x - y)
    vm.save_function("main", "silent", x, y, include_return=False)
    assert vm["silent"]() is None
    assert vm.time_evaluator("saved", number=1)().mean > 0
    with pytest.raises(PipelineError, match="save_function: expected a name that no function has, got both"):
        vm.save_function("main", "both", x, y)


def test_the_program_of_a_file_is_the_function_main(tmp_path: Path):
    path = tmp_path / "net.so"
    relax.build(two_functions()).export_library(path)
    vm = relax.VirtualMachine(load_module(path), whence.cpu())
    x, y = normal(3, 4), normal(3, 4, seed=1)
    np.testing.assert_array_equal(np.asarray(vm["main"](x, y)), x - y)
    vm.set_input("main", y=x, x=y)
    vm.invoke_stateful("main")
    np.testing.assert_array_equal(np.asarray(vm.get_outputs("main")), y - x)
    with pytest.raises(PipelineError, match="expected main, the function that was compiled, got both"):
        vm["both"]
    with pytest.raises(PipelineError, match=r"profile: expected what relax\.build returns"):
        vm.profile("main", x, y)


def test_tensors_of_other_libraries_are_read_through_dlpack():
    class Foreign:
        """An array that only DLPack knows."""

        def __init__(self, array: Any):
            self._array = array

        def __dlpack__(self, **named: Any) -> Any:
            return self._array.__dlpack__(**named)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self._array.__dlpack_device__()

    vm = relax.VirtualMachine(relax.build(two_functions()))
    x, y = normal(3, 4), normal(3, 4, seed=1)
    np.testing.assert_array_equal(np.asarray(vm["main"](Foreign(x), whence.nd.array(y))), x - y)


def test_only_executables_are_machines():
    values: list[Any] = [two_functions(), None, "net.so"]
    for value in values:
        with pytest.raises(PipelineError, match=r"expected what relax\.build or load_module returns, got"):
            relax.VirtualMachine(value)
    with pytest.raises(PipelineError, match="expected the CPU as device, got cuda"):
        relax.VirtualMachine(relax.build(two_functions()), "cuda")


def test_variables_of_te_are_sizes_of_types_whatever_was_imported_before():
    """The reader of such extents was there only after an operator had been used: the size was an unknown one."""
    script = (
        "from whence import relax, tir\n"
        "x = relax.Var('x', relax.TensorType((tir.Var('n', 'int64'), 4), 'float32'))\n"
        "assert str(x.ty) == 'Tensor[(n, 4), float32]', x.ty"
    )

    subprocess.run([sys.executable, "-c", script], check=True)


def test_words_of_types_are_types_where_they_are_used_as_values():
    n = te.var("n")
    assert str(relax.Var("x", R.Tensor((n, 16), "float16")).ty) == "Tensor[(n, 16), float16]"
    assert str(R.Tuple(R.Tensor((2,)), R.Tensor(ndim=1, dtype="int8"))) == "(Tensor[(2), float32], Tensor[(?), int8])"
    assert relax.Var("x", R.Tensor((2,))).name == "x"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("DataflowBlock", "graphs and lets"),
        ("ShapeType", "a shape is no argument"),
        ("ExternFunc", "call_dps_packed"),
        ("ExecBuilder", "compiled"),
        ("vm_build", "relax.build"),
        ("PyExprMutator", r"relay\.ExprMutator"),
    ],
)
def test_names_without_a_meaning_say_why(name: str, reason: str):
    with pytest.raises(AttributeError, match=reason):
        getattr(relax, name)
