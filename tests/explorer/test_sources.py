"""The code of kernels at every level, LLVM IR after its passes among them."""

from __future__ import annotations

import pytest

import whence
from whence import relay, te
from whence.explorer.code import SOURCES, kernel_of
from whence.lowering.llvm_to_native.assembly import compact, without_inherited_lines
from whence.lowering.llvm_to_native.target import Target, binding
from whence.support.errors import FrontendError, PipelineError


def generated(text: str) -> str:
    """The assembly that LLVM generates of IR as it is."""
    module = binding().parse_assembly(text)
    return compact(without_inherited_lines(str(Target.native().machine().emit_assembly(module))))


def test_code_is_generated_of_the_optimised_text(compiled: whence.Executable):
    again = whence.compile(compiled.artifact.snapshots[0].module)
    for executable in (compiled, again):  # the second has its kernels from the cache
        for index, name in enumerate(executable.kernels):
            kernel = kernel_of(executable.artifact, executable.artifact.calls[index].kernel)
            text = executable.get_source(name, "opt.ll")
            assert text != kernel.llvm
            assert generated(text) == kernel.assembly
            assert "!DILocation(line: " in text


def test_every_level_has_its_text(compiled: whence.Executable):
    kernel = kernel_of(compiled.artifact, 0)
    texts = [compiled.get_source(0, fmt) for fmt in SOURCES]
    assert texts[:4] == [kernel.te, kernel.schedule, kernel.tir, kernel.llvm]
    assert texts[5] == kernel.assembly
    assert compiled.get_source(kernel.symbol) == kernel.llvm
    with pytest.raises(PipelineError, match=r"expected a format among te, .*, opt.ll, s, c, got 'ptx'"):
        compiled.get_source(0, "ptx")
    with pytest.raises(FrontendError, match="unknown kernel 'no'"):
        compiled.get_source("no")


def test_a_kernel_of_others_has_none():
    x = relay.var("x", shape=(4,))
    module = relay.IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))
    executable = whence.compile(module, target="onnxruntime, llvm")
    with pytest.raises(PipelineError, match=r"expected a kernel of ours, got tvmgen_.*, which onnxruntime runs"):
        executable.get_source(0)


def test_a_function_has_its_optimised_text():
    a = te.placeholder((40,), name="a")
    b = te.compute((40,), lambda i: a[i] * 2.0, name="b")
    function = whence.build(te.create_schedule(b.op), [a, b], name="double")
    assert generated(function.get_source("opt.ll")) == function.assembly
