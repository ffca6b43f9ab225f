"""Functions and classes of a Python file with the words of Relax."""

# pyright: basic, reportInvalidTypeForm=false

from typing import Any, TypeVar

import numpy as np

import whence
from whence.script import ir as I
from whence.script import relax as R
from whence.script import tir as T
from whence.syntax.relay.expr import Function

n = TypeVar("n")
SCALE = 3.0


def test_a_class_of_functions_and_kernels_is_a_module():
    @I.ir_module
    class Module:
        @T.prim_func
        def twice(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
            for i in range(4):
                b[i] = a[i] + a[i]

        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            with R.dataflow():
                y = R.call_tir(Module.twice, (x,), out_ty=R.Tensor((4,), "float32"))
                z = R.multiply(y, R.const(SCALE, "float32"))
                R.output(z)
            return z

    module: Any = Module
    assert (np.asarray(whence.compile(module)(np.ones(4, np.float32))) == 6).all()
    lines = {str(op.location) for op in module.module.walk() if op.name == "relay.multiply"}
    assert all("test_relax_live.py" in line and '"z"' in line for line in lines)
    assert lines


def test_a_function_is_a_function_of_relay():
    @R.function
    def rows(x: R.Tensor((n, 4), "float32")):
        y = R.sum(x, axis=[0])
        return y

    function: Any = rows
    assert isinstance(function, Function)
    x = np.ones((3, 4), np.float32)
    got = whence.compile(whence.relay.IRModule.from_expr(function))(x)
    assert (np.asarray(got) == 3).all()
