"""The default schedules, family by family: what they compute, beside onnxruntime, and the form that they have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, helper, numpy_helper, parser
from reference_runtime import onnxruntime_outputs

import whence
from whence.lowering.kernel.record import Kernel

Array = NDArray[Any]
AVX512 = "llvm -mcpu=skylake-avx512"


class Case(NamedTuple):
    """Nodes from X0, X1, .. and the constants W0, W1, .. to Y."""

    nodes: str
    inputs: Sequence[tuple[int, ...]]
    weights: Sequence[tuple[int, ...]] = ()
    dtype: str = "float32"


def reduction(kind: str, shape: tuple[int, ...], axes: Sequence[int], dtype: str = "float32") -> Case:
    listed = ",".join(map(str, axes))
    if kind == "Sum":
        nodes = f"A = Constant<value_ints=[{listed}]>(); Y = ReduceSum<keepdims=0>(X0, A)"
    else:
        nodes = f"Y = Reduce{kind}<keepdims=0, axes=[{listed}]>(X0)"
    return Case(nodes, [shape], (), dtype)


WINDOW = "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]"
REDUCTIONS = [
    *(reduction(kind, shape, axes)
      for k, (shape, axes) in enumerate((
                          ((5, 768), [1]), ((3, 4, 128), [2]), ((1, 4096), [1]), ((7, 1000), [1]), ((9, 49), [1]),
                          ((3, 33), [1]), ((3, 5), [1]), ((2, 3, 4, 16), [2, 3]), ((4, 6, 7, 7), [2, 3]),
                          ((6, 128, 64), [1]), ((4, 9, 33), [1]), ((50, 70), [0]), ((3, 8, 16), [0, 2]),
                          ((64,), [0]), ((17,), [0]), ((5, 16, 48), [0, 1])))
      # Shapes in turn: what is reduced shares a schedule, and sums and extremes what stands for the end of odd rows.
      for kind in (("Sum", "Max"), ("Mean",), ("Max",), ("Sum", "Min"), ("Max",))[k % 5]),
    *(reduction(kind, (6, 96), [1], dtype) for kind in ("Sum", "Max") for dtype in ("float64", "int32", "int64")),
    *(reduction("Sum", (200, 512), [1], dtype) for dtype in ("float32", "float64")),
]  # fmt: skip
NORMALISATIONS = [
    *(Case("Y = Softmax(X0)", [shape], (), dtype) for shape, dtype in (
        ((1, 1000), "float32"), ((3, 4096), "float32"), ((6, 33), "float32"),
        ((5, 7), "float32"), ((4, 1), "float32"), ((70, 300), "float32"), ((2, 20000), "float32"),
        ((6, 64), "float64"), ((5, 33), "float64"), ((40,), "float32"))),
    Case("Y = LogSoftmax(X0)", [(6, 1000)]),
    Case("Y = Softmax<axis=1>(X0)", [(3, 24, 10)]),
    *(Case("Y = Softmax<axis=1>(X0)", [shape]) for shape in ((6, 100, 1, 1), (5, 33, 1), (1, 64, 1, 1))),
    Case("Y = LogSoftmax<axis=2>(X0)", [(3, 1, 40, 1)]),
    Case("S = Softmax(X0); Y = Mul(S, X1)", [(3, 5, 48), (3, 5, 48)]),
    *(Case("Y = LayerNormalization(X0, W0, W1)", [shape], [shape[-1:], shape[-1:]])
      for shape in ((12, 768), (3, 33), (2, 5, 100), (100, 300))),
    Case("N = LayerNormalization(X0, W0, W1); Y = Relu(N)", [(7, 64)], [(64,), (64,)]),
    Case("Y = LayerNormalization<axis=1>(X0, W0, W1)", [(4, 3, 16)], [(3, 16), (3, 16)]),
    Case("Y = LayerNormalization(X0, W0)", [(7, 64)], [(64,)]),
]  # fmt: skip
POOLINGS = [
    *(Case(f"Y = {kind}Pool<{window}>(X0)", [shape])
      for kind in ("Max", "Average")
      for k, window in enumerate((WINDOW, "kernel_shape=[2,2], strides=[2,2]", "kernel_shape=[3,3], pads=[1,1,1,1]",
                                  "kernel_shape=[3,2], strides=[1,3], pads=[0,1,2,0]"))
      for shape in (((1, 4, 28, 28), (2, 3, 13, 19)), ((1, 2, 7, 7), (1, 64, 12, 40)))[k % 2][kind == "Max" :][:1]),
    *(Case(f"Y = Global{kind}Pool(X0)", [shape]) for kind in ("Max", "Average")
      for shape in ((1, 64, 7, 7), (2, 5, 14, 14), (1, 3, 5, 9))),
    *(Case(f"A = Conv<kernel_shape=[1,1]>(X0, W0); B = {kind}Pool<{WINDOW}>(A); Y = Conv<kernel_shape=[1,1]>(B, W1)",
           [(1, 16, 15, 22)], [(32, 16, 1, 1), (16, 32, 1, 1)]) for kind in ("Max", "Average")),
]  # fmt: skip
CONVOLUTIONS = [
    *(Case(f"Y = Conv<group={c}, kernel_shape=[{k},{k}], strides=[{s},{s}], pads=[{k // 2},{k // 2},{k // 2},{k // 2}]>"
           "(X0, W0, W1)", [(n, c, y, x)], [(c, 1, k, k), (c,)])
      for n, c, y, x, k, s in ((1, 32, 14, 14, 3, 1), (2, 32, 15, 17, 3, 2), (1, 48, 7, 7, 5, 1), (1, 24, 9, 30, 3, 1),
                               (1, 16, 112, 112, 3, 1))),
    *(Case(f"Y = Conv<kernel_shape=[{k},{k}], strides=[{s},{s}], pads=[{k // 2},{k // 2},{k // 2},{k // 2}]>"
           "(X0, W0, W1)", [(n, c, y, x)], [(o, c, k, k), (o,)])
      for n, c, o, y, x, k, s in ((1, 16, 32, 14, 14, 3, 1), (2, 3, 64, 30, 30, 7, 2), (1, 32, 48, 7, 9, 1, 1))),
]  # fmt: skip
PRODUCTS = [
    Case("Y = MatMul(X0, W0)", [(m, k)], [(k, n)])
    for m, k, n in ((1, 64, 100), (7, 20, 100), (30, 33, 17), (128, 64, 100), (5, 16, 1000), (13, 8, 254), (32, 48, 34))
]
INJECTIVE = [
    *(Case(f"Y = Transpose<perm=[{perm}]>(X0)", [shape], (), dtype) for shape, perm, dtype in (
        ((48, 64), "1,0", "float32"), ((45, 61), "1,0", "float32"), ((5, 40, 24), "0,2,1", "float32"),
        ((1, 20, 9, 13), "0,2,3,1", "float32"), ((1, 9, 13, 20), "0,3,1,2", "float32"),
        ((7, 8, 32), "1,0,2", "float32"),
        ((1, 7, 7, 48), "0,3,1,2", "float32"), ((1, 14, 14, 18), "0,3,1,2", "float32"),
        ((3, 20, 9, 18), "3,1,0,2", "float32"), ((24, 3, 5, 11), "1,3,0,2", "float32"),
        ((9, 64, 17), "0,2,1", "float32"), ((66, 50), "1,0", "int32"),
        ((40, 33), "1,0", "int64"), ((130, 140), "1,0", "float64"))),
    *(Case(f"Y = Concat<axis={axis}>(X0, X1)", [left, right]) for left, right, axis in (
        ((5, 33), (5, 31), 1), ((5, 768), (5, 100), 1), ((5, 33), (7, 33), 0), ((1, 16, 9, 9), (1, 8, 9, 9), 1),
        ((1, 1, 1), (1, 1, 1), 0))),
    *(Case(f"P = Constant<value_ints=[{pads}]>(); Y = Pad(X0, P)", [shape]) for shape, pads in (
        ((1, 4, 56, 56), "0,0,1,1,0,0,1,1"), ((5, 100), "0,16,0,16"), ((5, 33), "1,3,0,2"), ((130, 200), "1,0,1,7"))),
    *(Case("A = Add(X0, X1); B = Relu(A); Y = Mul(B, X0)", [shape, shape]) for shape in (
        (999, 101), (64, 64), (7,), (33, 3), (1,), (20001,))),
    Case("Y = Add(X0, W0)", [(30, 300)], [(300,)]),
    Case("Y = Add(X0, W0)", [(1, 8, 17, 9)], [(8, 1, 1)]),
]  # fmt: skip
FAMILIES = {
    "reductions": REDUCTIONS,
    "normalisations": NORMALISATIONS,
    "poolings": POOLINGS,
    "convolutions": CONVOLUTIONS,
    "products": PRODUCTS,
    "injective": INJECTIVE,
}


def nodes_of(case: Case, prefix: str) -> list[NodeProto]:
    """The nodes, all names in them begun with a prefix."""
    nodes = [parser.parse_node(node.strip()) for node in case.nodes.split(";")]
    for node in nodes:
        node.input[:] = [prefix + name for name in node.input]
        node.output[:] = [prefix + name for name in node.output]
    return nodes


def model_of(*cases: Case) -> ModelProto:
    """Cases beside each other in one model; of several, names begin with their number."""
    prefixes = [f"c{number}_" if len(cases) > 1 else "" for number in range(len(cases))]
    given = list(zip(prefixes, cases, strict=True))
    kinds = [helper.np_dtype_to_tensor_dtype(np.dtype(case.dtype)) for case in cases]
    draws = [np.random.default_rng(len(case.nodes)) for case in cases]
    graph = helper.make_graph(
        [node for prefix, case in given for node in nodes_of(case, prefix)],
        "cases",
        [
            helper.make_tensor_value_info(f"{prefix}X{i}", kind, shape)
            for (prefix, case), kind in zip(given, kinds, strict=True)
            for i, shape in enumerate(case.inputs)
        ],
        [helper.make_tensor_value_info(f"{prefix}Y", kind, None) for prefix, kind in zip(prefixes, kinds, strict=True)],
        [
            numpy_helper.from_array(draw.standard_normal(shape).astype(case.dtype), f"{prefix}W{i}")
            for (prefix, case), draw in zip(given, draws, strict=True)
            for i, shape in enumerate(case.weights)
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def inputs_of(case: Case) -> list[Array]:
    draw = np.random.default_rng(sum(case.inputs[0]))
    if "int" in case.dtype:
        return [draw.integers(-50, 50, shape).astype(case.dtype) for shape in case.inputs]
    return [draw.standard_normal(shape).astype(case.dtype) for shape in case.inputs]


def text(value: object) -> str:
    if not isinstance(value, Case):
        return str(value)
    return re.sub(r"[\s,]+", "_", f"{value.nodes} {value.inputs} {value.weights} {value.dtype}")


def groups() -> Iterator[Any]:
    """The cases of a family, 8 to a model: compiled and run at once, which is faster."""
    for family, cases in FAMILIES.items():
        for first in range(0, len(cases), 8):
            some = cases[first : first + 8]
            yield pytest.param(some, id=f"{family}-{text(some[0])}_and_{len(some) - 1}_more")


@pytest.mark.parametrize("cases", list(groups()))
def test_agrees_with_onnxruntime(cases: list[Case]):
    model = model_of(*cases)
    arrays = [array for case in cases for array in inputs_of(case)]
    wanted = onnxruntime_outputs(model, dict(zip((value.name for value in model.graph.input), arrays, strict=True)))
    artifact = whence.compile(model).artifact
    for threads in (1, 2):
        result = whence.Executable(artifact, threads)(*arrays)
        results = result if isinstance(result, tuple) else (result,)
        for case, found, expected in zip(cases, results, wanted, strict=True):
            assert isinstance(found, np.ndarray)
            assert (found.shape, found.dtype) == (expected.shape, expected.dtype), text(case)
            np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5, err_msg=text(case))


def kernel_of(case: Case) -> Kernel:
    (kernel,) = whence.compile(model_of(case), threads=1, target=AVX512).artifact.kernels
    assert isinstance(kernel, Kernel)
    return kernel


def instructions(kernel: Kernel, name: str) -> int:
    return len(re.findall(rf"^\s*{name}\b", kernel.assembly, re.MULTILINE))


def test_a_row_is_summed_in_lanes():
    kernel = kernel_of(reduction("Sum", (5, 768), [1]))
    # 8 vectors at once, which one reduction of a vector makes the sum.
    assert len(re.findall(r"schedule\.rfactor", kernel.schedule)) == 1
    assert len(re.findall(r"schedule\.vectorize", kernel.schedule)) == 1
    assert "%product = schedule.arith product(16, %accumulators)" in kernel.schedule
    assert re.search(r'%accumulators = schedule\.knob "accumulators" in .* {decision = 8[,}]', kernel.schedule)
    assert "schedule.split %k0 factor %product" in kernel.schedule
    assert len(re.findall(r"arith\.addf .*: vector<16xf32>", kernel.tir)) == 8
    assert re.findall(r"vector\.reduction .*", kernel.tir) == [
        next(re.finditer(r"vector\.reduction <add>, .* fastmath<reassoc> : vector<16xf32> into f32", kernel.tir))[0]
    ]
    assert not re.findall(r"^ *tir\.for %k0\.inner", kernel.tir, re.MULTILINE)
    loop = re.search(r"tir\.for %k0\.outer in 6 {\n(.*\n){3,6}?.*arith\.addf .*: vector<16xf32>", kernel.tir)
    assert loop is not None


def test_the_end_of_an_odd_row_is_masked():
    kernel = kernel_of(reduction("Sum", (9, 49), [1]))
    assert "loop_partition_hint" in kernel.schedule
    assert len(re.findall(r"tir\.masked_load", kernel.tir)) == 1
    assert len(re.findall(r"tir\.for unrolled %k0\.outer in 3 {", kernel.tir)) == 1


def test_columns_are_reduced_in_vectors():
    kernel = kernel_of(reduction("Sum", (50, 256), [0]))
    assert "rfactor" not in kernel.schedule
    assert re.search(r"tir\.for %k0 in 50 {\n.*tir\.for unrolled .* in 8 {", kernel.tir)
    assert "vector<16xf32>" in kernel.tir


@pytest.mark.parametrize(
    "case",
    [
        Case("Y = Softmax(X0)", [(40, 512)]),
        Case("Y = LayerNormalization(X0, W0, W1)", [(40, 512)], [(512,), (512,)]),
    ],
    ids=text,
)
def test_a_row_stays_in_the_loop_of_rows(case: Case):
    kernel = kernel_of(case)
    (outer,) = re.findall(r"^  tir\.for .*", kernel.tir, re.MULTILINE)
    assert outer == "  tir.for parallel %ax0 in 40 {"
    # Nothing of it needs memory beyond the stack.
    assert kernel.workspace == 0
    assert not re.findall(r"tir\.alloc : !tir\.buffer<[^,>]*>", kernel.tir)
    # No loop has scalars but that of the last two lanes.
    assert not re.findall(r"tir\.load %p0.* -> f32", kernel.tir)


def test_rows_that_no_stack_holds_go_through_memory():
    kernel = kernel_of(Case("Y = Softmax(X0)", [(2, 20000)]))
    assert kernel.workspace > 0


def test_logarithms_of_a_softmax_keep_no_exponentials():
    kernel = kernel_of(Case("Y = LogSoftmax(X0)", [(2, 20000)]))
    assert kernel.workspace == 0
    assert "20000xf32, local" not in kernel.tir
    x = np.random.default_rng(0).standard_normal((6, 20000)).astype(np.float32) * 9
    x[1, 7], x[2], x[3, ::2], x[4, 5] = np.inf, -np.inf, -np.inf, np.nan
    found = np.asarray(whence.compile(model_of(Case("Y = LogSoftmax(X0)", [x.shape])), threads=1)(x))
    with np.errstate(all="ignore"):
        shifted = x.astype(np.float64) - x.astype(np.float64).max(axis=1, keepdims=True)
        wanted = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("image", [(9, 7), (5, 3, 3)])
def test_odd_images_are_normalised_as_they_lie(image: tuple[int, ...]):
    case = Case("Y = InstanceNormalization(X0, W0, W1)", [(2, 6, *image)], [(6,), (6,)])
    # One row each, of one kernel: nothing is copied into another shape.
    assert f"k{'.k'.join(map(str, range(len(image))))}" in kernel_of(case).tir
    (x,) = inputs_of(case)
    x[1, 3] = 7
    x[0, 1].reshape(-1)[2] = np.nan
    model = model_of(case)
    (wanted,) = onnxruntime_outputs(model, {"X0": x})
    np.testing.assert_allclose(whence.compile(model, threads=1)(x), wanted, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("axis", [0, 1])
def test_running_sums_are_written_once(axis: int):
    case = Case(f"A = Constant<value_int={axis}>(); Y = CumSum(X0, A)", [(40, 64)])
    assert not re.findall(r"tir\.alloc : !tir\.buffer<[^,>]*>", kernel_of(case).tir)
    (x,) = inputs_of(case)
    x[3, 5], x[7, 9] = np.inf, np.nan
    np.testing.assert_allclose(whence.compile(model_of(case), threads=1)(x), x.cumsum(axis), rtol=1e-4, atol=1e-4)


def test_windows_inside_the_image_have_no_guard():
    kernel = kernel_of(Case(f"Y = MaxPool<{WINDOW}>(X0)", [(1, 8, 64, 64)]))
    assert "loop_partition_hint" in kernel.schedule
    # Of rows the first one, of the others' tiles the first ones alone reach into the padding.
    inside = kernel.tir[kernel.tir.index("tir.for %ax2 in 31") :]
    assert "] if [" not in inside
    assert inside.count("tir.masked_load") == 1
    # Every other pixel is two loads and a shuffle, at the border of the image, too.
    assert instructions(kernel, "vinsertps") == 0
    assert instructions(kernel, "vgatherqps") == instructions(kernel, "vgatherdps") == 0
    assert instructions(kernel, "vpermt2ps") + instructions(kernel, "vpermi2ps") > 0


def test_padded_rows_of_a_depthwise_convolution_stay_on_the_stack():
    case = Case("Y = Conv<group=16, kernel_shape=[3,3], pads=[1,1,1,1]>(X0, W0)", [(1, 16, 28, 28)], [(16, 1, 3, 3)])
    kernels = whence.compile(model_of(case), threads=1, target=AVX512).artifact.kernels
    (kernel,) = [one for one in kernels if isinstance(one, Kernel) and "depthwise" in one.symbol]
    assert kernel.workspace == 0
    assert "schedule.compute_at %data_pad" in kernel.schedule


def test_a_transposition_goes_by_tiles():
    kernel = kernel_of(Case("Y = Transpose<perm=[1,0]>(X0)", [(256, 256)]))
    assert re.search(r"tir\.for parallel .* in 16 {\n +tir\.for %ax1\.outer in 16 {\n +tir\.for .* in 4 {", kernel.tir)


def test_a_tile_is_transposed_in_registers():
    kernel = kernel_of(Case("Y = Transpose<perm=[1,0]>(X0)", [(64, 64)]))
    assert "stride" not in kernel.tir
    # Four vectors of 16 lanes from 16 rows of 4: 12 to put the rows together, 8 to transpose them.
    assert len(re.findall(r"vector\.shuffle", kernel.tir)) == 20
    assert instructions(kernel, "vinsertps") == 0


def test_rows_that_lie_one_after_the_other_are_one_when_transposed():
    kernel = kernel_of(Case("Y = Transpose<perm=[0,3,1,2]>(X0)", [(1, 28, 28, 32)]))
    assert "(%ax1 in 32, %ax2.ax3 in 784)" in kernel.te
    assert "masked" not in kernel.tir


def test_columns_that_one_panel_of_vectors_holds_lie_whole_vectors_apart():
    # Stored under a mask at 25 elements from one another, they would not stay in registers.
    kernel = kernel_of(Case("Y = MatMul(X0, X1)", [(30, 260, 14), (30, 14, 25)]))
    assert "x32xf32, local>" in kernel.tir


def test_rows_that_are_reduced_together_are_one():
    kernel = kernel_of(reduction("Max", (2, 87, 9, 11), [2, 3]))
    assert "(%ax0.ax1 in 174) max(%k0.k1 in 99)" in kernel.te


def test_parts_of_a_row_have_vectors_of_their_own():
    kernel = kernel_of(Case("Y = Concat<axis=1>(X0, X1)", [(16, 33), (16, 33)]))
    assert "] if [" not in kernel.tir
    assert "masked" not in kernel.tir
    assert len(re.findall(r"tir\.load .* -> vector<16xf32>", kernel.tir)) == 2


def test_short_rows_stay_in_registers_several_at_once():
    kernel = kernel_of(Case("Y = Softmax(X0)", [(64, 128)]))
    assert re.search(r'%rows = schedule\.knob "rows" in .* {decision = 2[,}]', kernel.schedule)
    assert "schedule.split %ax0 factor %rows" in kernel.schedule
    # The only loops are those of rows: nothing of a row is written before its result.
    (outer,) = re.findall(r"^  tir\.for (?!unrolled).*", kernel.tir, re.MULTILINE)
    assert outer == "  tir.for parallel %ax0.outer in 32 {"
    assert not re.findall(r"^   +tir\.for (?!unrolled).*", kernel.tir, re.MULTILINE)


def test_a_group_is_scheduled_by_the_tag_of_an_inlined_stage():
    kernel = kernel_of(Case("S = Softmax(X0); Y = Mul(S, X1)", [(40, 512), (40, 512)]))
    assert kernel.workspace == 0
    assert 'tag = "softmax_output"' in kernel.te


def test_an_odd_panel_of_a_product_stays_in_registers():
    kernel = kernel_of(Case("Y = MatMul(X0, W0)", [(12, 64)], [(64, 60)]))
    assert "storage_align" in kernel.schedule
    loop = re.findall(r"vfmadd\w+\s+(.*)", kernel.assembly)
    assert loop
    assert not [operands for operands in loop if "(%rsp" in operands]


def test_padding_leaves_the_inside_alone():
    kernel = kernel_of(Case("P = Constant<value_ints=[0,1,0,0,1,0]>(); Y = Pad(X0, P)", [(8, 30, 64)]))
    inside = kernel.tir[kernel.tir.index("tir.for %ax1.ax2 in 120 {") :]
    assert "tir.load %p0" in inside
    assert "] if [" not in inside


@pytest.mark.parametrize("rows", [2, 3, 4])
def test_few_rows_are_transposed_by_whole_vectors(rows: int):
    case = Case("Y = Transpose<perm=[1,0]>(X0)", [(rows, 1001)])
    assert " stride " not in kernel_of(case).tir
    model = model_of(case)
    x = np.arange(rows * 1001, dtype=np.float32).reshape(rows, 1001)
    np.testing.assert_array_equal(whence.compile(model, threads=1)(x), x.T)


@pytest.mark.parametrize("mode", ["edge", "reflect"])
def test_the_middle_of_a_row_is_copied_whatever_the_padding(mode: str):
    kernel = kernel_of(Case(f'P = Constant<value_ints=[0,3,0,3]>(); Y = Pad<mode="{mode}">(X0, P)', [(8, 179)]))
    assert "-> vector<16xf32>" in kernel.tir


def test_tiles_are_copied_by_rows():
    kernel = kernel_of(Case("R = Constant<value_ints=[3,2,1]>(); Y = Tile(X0, R)", [(4, 25, 8)]))
    assert "-> vector<16xf32>" in kernel.tir
    assert not re.findall(r"tir\.load .* -> f32", kernel.tir)
