"""Relax texts: read, run, printed and read back."""

# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from relax_programs import PRINTED, WRITTEN, RelaxProgram
from zoo import SMALL

import whence
from whence import relay
from whence.support.errors import FrontendError, TextError
from whence.syntax.relay.equal import structural_equal

FOLDER = Path(__file__).with_name("printed")


def run(module: Any, inputs: list[Any]) -> list[Any]:
    """Return the results of a module's main."""
    result = whence.compile(module, threads=1)(*inputs)
    return [np.asarray(part) for part in (result if isinstance(result, tuple | list) else [result])]


def check(module: Any, program: RelaxProgram) -> None:
    """Compare a module with numpy, and with what its text is read as."""
    inputs = program.inputs()
    expected = program.reference(*inputs)
    wanted_results = list(cast("tuple[Any, ...]", expected)) if isinstance(expected, tuple) else [expected]
    got = run(module, inputs)
    for value, wanted in zip(got, wanted_results, strict=True):
        assert value.shape == np.shape(wanted)
        np.testing.assert_allclose(value, wanted, rtol=2e-4, atol=2e-5)
    for version in ("0.27", "0.19"):
        text = module.script(version, show_meta=True)
        back = whence.script.from_source(text)
        assert structural_equal(module.typed(), back.typed()), text
        assert back.script(version, show_meta=True) == text


@pytest.mark.parametrize("name", PRINTED)
def test_programs_that_tvm_printed_run_as_numpy_says(name: str):
    module = whence.script.from_source((FOLDER / f"{name}.txt").read_text(), file=f"{name}.py")
    check(module, PRINTED[name])


@pytest.mark.parametrize("name", WRITTEN)
def test_programs_that_somebody_wrote_run_as_numpy_says(name: str):
    check(whence.script.from_source(WRITTEN[name].module()), WRITTEN[name])


ALIKE = [
    "mobilenet_v3",
    "unet",
    "bert",
    "gpt2_step",
    "conformer",
    "style",
    "diffusion",
    "lstm",
    "mamba",
    "bert_dynamic",
]
"""Two networks of each kind: with attention, with images, with kernels of their own, of sizes that a call decides."""


@pytest.mark.parametrize("name", ALIKE)
def test_networks_of_the_zoo_come_back_equal(name: str):
    model, _ = SMALL[name]()
    module, _ = relay.frontend.from_onnx(model)
    text = module.script(show_meta=True)
    back = whence.script.from_source(text)
    assert structural_equal(module.typed(), back.typed())
    layers = {str(op.location) for op in module.module.walk() if op.name.startswith("relay.nn.")}
    assert layers
    assert layers == {str(op.location) for op in back.module.walk() if op.name.startswith("relay.nn.")}


BROKEN = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 4), "float32"), y: R.Tensor(("n", 4), "float32")) -> R.Tensor((2, 4), "float32"):
        with R.dataflow():
            a = R.add(x, z)
            b: R.Tensor((2, 5), "float32") = R.exp(x)
            c = R.reluu(x)
            d = R.print(x)
            e = R.nn.softmax(x, axes=1)
            f = R.reshape(x, R.shape([3, 3]))
            g = R.zeros(R.shape([m, 4]), "float32")
            h = R.add(b, a)
            R.output(h)
        i = R.add(c, c)
        return h
"""


def test_mistakes_are_told_together_at_their_places():
    with pytest.raises(TextError) as caught:
        whence.script.from_source(BROKEN, file="net.py")
    lines = [line for line in str(caught.value).splitlines() if line.startswith("net.py")]
    assert [line.split(" ", 1)[0] for line in lines] == [
        f"net.py:{place}:" for place in ("7:26", "8:16", "9:17", "10:17", "11:17", "12:17", "13:34")
    ]
    told = ["z", "(2, 4)", "R.reluu", "dataflow block", "axes", "reshape", "m"]
    assert all(part in line for part, line in zip(told, lines, strict=True)), lines


def test_a_size_that_nothing_binds_is_refused():
    text = """
@R.function
def main(x: R.Tensor((2, 4), "float32")):
    m = T.int64()
    return R.zeros(R.shape([m, 4]), "float32")
"""
    with pytest.raises(TextError, match=r"5:29: expected a size that a parameter or R.match_cast binds, got m"):
        whence.script.from_source(text)


def test_kernels_stand_beside_functions():
    text = """
@I.ir_module
class Module:
    @T.prim_func
    def twice(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")):
        for i in range(4):
            b[i] = a[i] + a[i]

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return R.add(x, x)
"""
    module = whence.script.from_source(text)
    assert sorted([*module.program.functions, *module.kernels]) == ["main", "twice"]
    again = whence.script.from_source(module.script())
    assert again.script() == module.script()


def test_an_edited_binding_is_not_what_its_comment_says():
    x, b = relay.var("x", shape=(1, 3, 4, 4)), relay.var("b", shape=(3,))
    module = relay.IRModule.from_expr(relay.Function([x, b], relay.nn.bias_add(x, b)))
    text = module.script()
    assert "# relay.nn.bias_add(x, b)" in text
    assert structural_equal(whence.script.from_source(text).typed(), module.typed())
    edited = whence.script.from_source(text.replace("R.add(x", "R.subtract(x")).typed()
    ones = np.ones((1, 3, 4, 4), np.float32)
    (got,) = run(relay.IRModule.of(edited), [ones, np.ones(3, np.float32)])
    assert (got == 0).all()


def test_what_relax_cannot_say_is_refused_by_name():
    x = relay.var("x", shape=(4,))
    read = relay.RefRead(relay.RefCreate(x))
    with pytest.raises(FrontendError, match="expected operators, calls, tuples, lets and branches, got Ref"):
        relay.IRModule.from_expr(relay.Function([x], read)).script()
    y = relay.var("y", shape=("n",))
    with pytest.raises(FrontendError, match="Relax: log1p: expected an operator"):
        relay.IRModule.from_expr(relay.Function([y], relay.log1p(y))).script()


def test_operators_that_relax_lacks_are_calls_of_their_own_kernels():
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    body = relay.nn.relu(relay.log1p(relay.nn.lrn(relay.reshape(relay.hypot(x, y), (1, 2, 3, 1)), size=3)))
    module = relay.IRModule.from_expr(relay.Function([x, y], body))
    text = module.script()
    assert "R.call_tir(cls.log1p, (lv2,), out_ty=R.Tensor((1, 2, 3, 1)" in text
    back = whence.script.from_source(text)
    again = whence.script.from_source(back.script())
    assert again.script() == back.script()
    inputs = [np.random.default_rng(0).random((2, 3)).astype(np.float32) for _ in range(2)]
    np.testing.assert_allclose(run(back, inputs)[0], run(module, inputs)[0], rtol=1e-6)


KERNEL = """
@I.ir_module
class Module:
    @T.prim_func
    def rows(a: T.handle, b: T.handle):
        m = T.int64()
        A = T.match_buffer(a, (m, 4), "float32")
        B = T.match_buffer(b, (m, 4), "float32")
        for i, j in T.grid(m, 4):
            B[i, j] = A[i, j] * T.float32(3)

    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.rows, (x,), out_ty=R.Tensor((n, 4), dtype="float32"))
            lv1 = R.add(lv, x)
            R.output(lv1)
        return lv1
"""


def test_kernels_are_called_and_their_types_are_checked():
    module = whence.script.from_source(KERNEL)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert (run(module, [x])[0] == 4 * x).all()
    assert whence.script.from_source(module.script()).script() == module.script()
    stated = (
        r"16:18: call_tir: expected out_ty float32\[n, 4\] .* 'rows' \(layer 'rows', .* line 5\), got float32\[n, 5\]"
    )
    with pytest.raises(TextError, match=stated):
        whence.script.from_source(KERNEL.replace("out_ty=R.Tensor((n, 4)", "out_ty=R.Tensor((n, 5)"), file="net.py")
    with pytest.raises(TextError, match="expected a function of the module, got row"):
        whence.script.from_source(KERNEL.replace("cls.rows", "cls.row"))


FILL = """
@I.ir_module
class Module:
    @T.prim_func
    def fill(a: T.handle, b: T.handle):
        m = T.int64()
        k = T.int64()
        A = T.match_buffer(a, (m,), "float32")
        B = T.match_buffer(b, (m, k), "float32")
        for i, j in T.grid(m, k):
            B[i, j] = A[i]

    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n", 3), "float32"):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.fill, (x,), out_ty=R.Tensor((n, 3), dtype="float32"), tir_vars=R.shape([3]))
            R.output(lv)
        return lv
"""


@pytest.mark.parametrize("sizes", ["", "R.shape([3])", "(3,)", "[n, 3]", "R.shape([n, 3])"])
@pytest.mark.parametrize("by_parameter", [False, True])
def test_sizes_of_a_kernel_that_no_argument_tells_are_those_of_results_or_given(sizes: str, by_parameter: bool):
    text = FILL.replace(", tir_vars=R.shape([3])", f", tir_vars={sizes}" if sizes else "")
    if by_parameter:
        # All sizes of a kernel are given in its order, parameters first.
        text = text.replace("[n, 3]", "[3, n]")
        text = text.replace("b: T.handle)", "b: T.handle, k: T.int64)").replace("        k = T.int64()\n", "")
    module = whence.script.from_source(text)
    x = np.arange(5, dtype=np.float32)
    for version in ("0.27", "0.19"):
        text = module.script(version)
        assert "tir_vars" not in text
        back = whence.script.from_source(text)
        assert back.script(version) == text
        np.testing.assert_array_equal(run(back, [x])[0], np.repeat(x[:, None], 3, axis=1))


def test_sizes_that_neither_arguments_nor_results_tell_are_given():
    text = FILL.replace("        k = T.int64()\n", "        k = T.int64()\n        h = T.int64()\n")
    text = text.replace("(m, k)", "(m, k + h)", 1)
    more = "B[i, j] = A[i]\n        for i, j in T.grid(m, h):\n            B[i, j + k] = -A[i]"
    text = text.replace("B[i, j] = A[i]", more)
    module = whence.script.from_source(text.replace("R.shape([3])", "R.shape([1, 2])"))
    x = np.arange(5, dtype=np.float32)
    wanted = np.stack([x, -x, -x], axis=1)
    np.testing.assert_array_equal(run(module, [x])[0], wanted)
    for version in ("0.27", "0.19"):
        text = module.script(version)
        assert ", tir_vars=R.shape([1, 2])" in text
        back = whence.script.from_source(text)
        assert back.script(version) == text
        np.testing.assert_array_equal(run(back, [x])[0], wanted)
    with pytest.raises(TextError, match="expected operands with extents that tell k, h for kernel 'fill'"):
        whence.script.from_source(text.replace(", tir_vars=R.shape([1, 2])", ""))


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ("'a'", "17:18: expected sizes as tir_vars, got 'a'"),
        ("[x]", "17:18: expected sizes as tir_vars"),
        ("[4]", r"17:18: call_tir: expected out_ty float32\[n, 4\]"),
        ("[3, 3, 3]", r"17:18: call_tir: expected operands with extents that tell k for kernel 'fill'"),
    ],
)
def test_other_sizes_of_a_kernel_are_refused(sizes: str, told: str):
    with pytest.raises(TextError, match=told):
        whence.script.from_source(FILL.replace("R.shape([3])", sizes))


def test_results_without_extents_tell_no_sizes():
    text = FILL.replace('R.Tensor((n, 3), dtype="float32"), tir_vars=R.shape([3])', 'R.Tensor(dtype="float32", ndim=2)')
    with pytest.raises(TextError, match="17:18: call_tir: expected operands with extents that tell k"):
        whence.script.from_source(text)


def test_an_unknown_operator_is_told_with_the_mistakes_of_its_arguments():
    text = "@R.function\ndef main(x: R.Tensor((4,), 'float32')):\n    return R.addd(x, R.add(y, z))\n"
    with pytest.raises(TextError) as caught:
        whence.script.from_source(text, file="net.py")
    lines = [line for line in str(caught.value).splitlines() if line.startswith("net.py")]
    assert lines == [
        "net.py:3:12: expected an operator that there is, got R.addd (did you mean add?)",
        "net.py:3:28: expected a name that is defined, got y",
        "net.py:3:31: expected a name that is defined, got z",
    ]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("R.print(x)", "there are no prints"),
        ("R.assert_op(x)", "there are no assertions at run time"),
        ("R.call_packed('f', x)", "there are no functions from outside"),
        ("R.call_pure_packed('f', x)", "there are no functions from outside"),
        ("R.call_inplace_packed('f', x, inplace_indices=0)", "there are no functions from outside"),
        ("R.call_builtin_with_ctx('f', (x,))", "there are no functions of TVM's virtual machine"),
        ("R.invoke_pure_closure(x, ())", "there are no closures as objects"),
    ],
)
@pytest.mark.parametrize("bound", [True, False])
def test_what_is_no_operator_is_refused_by_one_sentence(call: str, told: str, bound: bool):
    text = f"@R.function\ndef main(x: R.Tensor((4,), 'float32')):\n    {'y = ' if bound else ''}{call}\n    return x\n"
    with pytest.raises(TextError) as caught:
        whence.script.from_source(text, file="net.py")
    first, *rest = str(caught.value).splitlines()
    assert first.startswith(f"net.py:3:{9 if bound else 5}: expected an operator, got R.")
    assert told in first
    assert not any(line.startswith("net.py") for line in rest)


CAST = """
@R.function
def main(x: R.Tensor((n, 4), "float32"), y: R.Tensor((m, 4), "float32")):
    z = R.match_cast(x, R.Tensor((k, 4), "float32"))
    w = R.match_cast(y, R.Tensor((k, 4), "float32"))
    return R.add(z, w)
"""


def test_a_size_that_a_cast_binds_is_checked_under_its_name():
    text = "n = TypeVar('n')\nm = TypeVar('m')\nk = TypeVar('k')\n" + CAST
    module = relay.IRModule.from_expr(whence.script.from_source(text))
    x = np.ones((3, 4), np.float32)
    assert (run(module, [x, x])[0] == 2).all()
    with pytest.raises(FrontendError, match=r"m - n .*layer 'w'"):
        run(module, [x, x[:2]])
    assert structural_equal(whence.script.from_source(module.script()).typed(), module.typed())


@pytest.mark.parametrize(
    "change", [('"n")\n', '"n]")\n'), ("axis=1", "axis=-'1'"), ("x: R", "x: -R"), ("(n, 4)", "('min', 4)")]
)
def test_damaged_texts_have_errors_of_their_own(change: tuple[str, str]):
    text = PRINTED["mlp"].module()
    assert change[0] in text
    with pytest.raises(TextError, match="expected"):
        whence.script.from_source(text.replace(*change))
