"""Models whose sizes or steps only a call decides, against onnxruntime."""

from __future__ import annotations

import threading
from importlib import import_module
from typing import Any, cast

import numpy as np
import onnx
import onnx.parser
import pytest
from numpy.typing import NDArray

import whence
from whence.executables.dynamic import DynamicExecutable
from whence.provenance.ledger import Ledger
from whence.runtime.interpreting.shape_patterns import Pattern
from whence.support.errors import FrontendError, FrontendWarning, PipelineError

Array = NDArray[Any]
ort: Any = import_module("onnxruntime")
RNG = np.random.default_rng(3)


def parsed(text: str, opset: int = 18) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> {text}')


def expected(model: onnx.ModelProto, inputs: dict[str, Any]) -> list[Any]:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return cast("list[Any]", session.run(None, inputs))


def agree(executable: whence.Executable, model: onnx.ModelProto, inputs: dict[str, Any]) -> None:
    found = executable.run(inputs)
    wanted = expected(model, inputs)
    for (name, mine), theirs in zip(found.items(), wanted, strict=True):
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype), name
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def compiled(model: onnx.ModelProto, **options: Any) -> DynamicExecutable:
    executable = whence.compile(model, audit=True, tier="static", **options)
    assert isinstance(executable, DynamicExecutable)
    return executable


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


OPEN = """graph (float[N, M] x, float[M] w) => (float[N, K] y) {
    [extent] s = Shape (x)
    [first] zero = Constant <value_int = 0> ()
    [rows] n = Gather (s, zero)
    [one] minus = Constant <value_ints = [-1]> ()
    [axes] axis = Constant <value_ints = [0]> ()
    [row] r = Unsqueeze (n, axis)
    [wanted] shape = Concat <axis = 0> (r, minus)
    [scaled] m = Mul (x, w)
    [relu] p = Relu (m)
    [flat] y = Reshape (p, shape)
}"""


def test_open_extents_are_specialised_for_as_they_are_met():
    model = parsed(OPEN)
    executable = compiled(model)
    assert [str(spec) for spec in executable.inputs] == ["float32[N, M] 'x'", "float32[M] 'w'"]
    for n, m in ((3, 5), (1, 8), (3, 5)):
        agree(executable, model, {"x": floats(n, m), "w": floats(m)})
    assert len(executable.specializations) == 2
    # No arithmetic of shapes is left.
    assert len(executable.kernels) == 1
    assert executable.report().splitlines()[0] == "2 of at most 64 specialisations"
    assert "float32[1, 8] 'x'" in executable.report()
    assert executable.coverage()["relay"] == 1.0
    assert "relu" in str(executable.where("relu"))


def test_shapes_that_are_given_are_no_longer_open():
    executable = whence.compile(parsed(OPEN), input_shapes="x:[2,4] w:[4]")
    assert not isinstance(executable, DynamicExecutable)
    half = compiled(parsed(OPEN), input_shapes={"w": (4,)})
    assert [str(spec) for spec in half.inputs] == ["float32[N, 4] 'x'", "float32[4] 'w'"]
    with pytest.raises(FrontendError, match=r"expected float32\[N, 4\] 'x', got float32\[2, 3\]"):
        half(floats(2, 3), floats(4))


def test_the_least_recently_used_specialisation_goes_first():
    model = parsed("graph (float[N] x) => (float[N] y) { y = Relu (x) }")
    executable = compiled(model)
    executable._interpreter.limit = 2  # pyright: ignore[reportPrivateUsage]
    for n in (1, 2, 1, 3):
        executable(floats(n))
    kept = {part.inputs[0].shape for part in executable.specializations}
    assert kept == {(1,), (3,)}


IF = """graph (bool c, float[2, 3] x) => (float[2, 3] y) {
    [before] a = Neg (x)
    [choice] b = If (c) <
        then_branch = yes () => (float[2, 3] t) { [up] t = Exp (a) },
        else_branch = no () => (float[2, 3] e) { [first] d = Abs (a) [second] e = Add (d, x) }
    >
    [after] y = Mul (b, x)
}"""


@pytest.mark.parametrize("condition", [True, False])
def test_a_condition_is_decided_by_the_call(condition: bool):
    model = parsed(IF)
    executable = compiled(model)
    agree(executable, model, {"c": np.asarray(condition), "x": floats(2, 3)})
    inner = {"choice/up"} if condition else {"choice/first", "choice/second"}
    ran = {layer for part in executable.last for layer in part.layers}
    assert {layer for layer in ran if "/" in layer and "." not in layer} == inner
    assert {"choice/up", "choice/first", "choice/second", "before", "after"} < set(executable.layers)
    assert "choice/" in str(executable.why(executable.kernels[1]))


def test_a_known_condition_is_its_branch():
    text = IF.replace("bool c, ", "").replace("[before]", "[known] c = Constant <value = bool {1}> () [before]")
    model = parsed(text)
    executable = whence.compile(model, audit=True)
    assert not isinstance(executable, DynamicExecutable)
    agree(executable, model, {"x": floats(2, 3)})
    assert "choice/up" in executable.layers
    assert "choice/up" in str(executable.where("choice/up"))


LOOP = """graph (int64 n, float[4] x) => (float[4] total, float[T, 4] steps) {
    [going] on = Constant <value = bool {1}> ()
    [sum] total, steps = Loop (n, on, x) <
        body = step (int64 i, bool cond, float[4] state) => (bool next, float[4] after, float[4] kept) {
            [cast] f = Cast <to = 1> (i)
            [grow] after = Add (state, f)
            [limit] most = Constant <value = float {20}> ()
            [largest] top = ReduceMax <keepdims = 0> (after)
            [test] next = Less (top, most)
            [keep] kept = Mul (after, x)
        }
    >
}"""


@pytest.mark.parametrize("trips", [0, 1, 3, 50])
def test_a_loop_carries_values_and_stacks_what_is_left(trips: int):
    model = parsed(LOOP)
    agree(compiled(model), model, {"n": np.asarray(trips), "x": floats(4)})


SCAN = """graph (float[2] start, float[T, 2] rows) => (float[2] final, float[T, 2] sums) {
    [running] final, sums = Scan (start, rows) <
        num_scan_inputs = 1, scan_output_directions = [1],
        body = step (float[2] state, float[2] row) => (float[2] after, float[2] out) {
            [add] after = Add (state, row)
            [copy] out = Identity (after)
        }
    >
}"""


def test_a_scan_runs_over_slices():
    model = parsed(SCAN)
    executable = compiled(model)
    for rows in (5, 2):
        agree(executable, model, {"start": floats(2), "rows": floats(rows, 2)})
    # The body has one shape: it is compiled once.
    assert len(executable.specializations) == 1


def test_a_value_that_a_shape_needs_is_known_when_it_is_there():
    model = parsed("""graph (float[6] x, int64[2] shape) => (float[A, B] y, float[C] z) {
        [before] a = Exp (x)
        [twice] s = Add (shape, shape)
        [half] two = Constant <value_ints = [2]> ()
        [back] t = Div (s, two)
        [to] y = Reshape (a, t)
        [flat] minus = Constant <value_ints = [-1]> ()
        [after] z = Reshape (y, minus)
    }""")
    executable = compiled(model)
    for shape in ((2, 3), (6, 1)):
        agree(executable, model, {"x": floats(6), "shape": np.array(shape)})


def test_functions_are_their_nodes():
    model = onnx.parser.parse_model("""
        <ir_version: 9, opset_import: ["": 18, "own": 1]>
        graph (float[3] x) => (float[3] y) { [outer] y = own.Twice <k = 2.5> (x) }
        <domain: "own", opset_import: ["": 18]>
        Twice <k> (a) => (b) {
            [factor] c = Constant <value_float: float = @k> ()
            [product] b = Mul (a, c)
        }
    """)
    executable = whence.compile(model, audit=True)
    x = floats(3)
    np.testing.assert_allclose(executable(x), x * np.float32(2.5))
    assert [layer for layer in executable.layers if "." not in layer] == ["outer/factor", "outer/product"]


def test_sequences_are_taken_apart():
    model = parsed("""graph (float[6, 2] x, int64 at) => (float[2, 2] y, float[A, 2] z) {
        [size] two = Constant <value_int = 2> ()
        [parts] s = SplitToSequence <axis = 0> (x, two)
        [more] t = SequenceInsert (s, x)
        [part] y = SequenceAt (s, at)
        [all] z = ConcatFromSequence <axis = 0> (t)
    }""")
    executable = compiled(model)
    for at in (0, -1):
        agree(executable, model, {"x": floats(6, 2), "at": np.asarray(at)})


def test_nodes_out_of_order_are_sorted_with_a_warning():
    model = parsed("graph (float[2] x) => (float[2] y) { [a] h = Neg (x) [b] y = Exp (h) }")
    nodes = list(model.graph.node)
    model.graph.ClearField("node")
    model.graph.node.extend(reversed(nodes))
    with pytest.warns(FrontendWarning, match="expected nodes in topological order"):
        executable = whence.compile(model)
    x = floats(2)
    np.testing.assert_allclose(executable(x), np.exp(-x), rtol=1e-6)
    assert executable.layers == ("a", "b")


def test_several_threads_share_what_is_compiled():
    model = parsed(LOOP)
    executable = compiled(model)
    x = floats(4)
    wanted = expected(model, {"n": np.asarray(5), "x": x})[0]
    found: list[Array] = []
    threads = [threading.Thread(target=lambda: found.append(executable(np.asarray(5), x)[0])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for one in found:
        np.testing.assert_allclose(one, wanted, rtol=1e-6)


def test_bad_calls_say_what_is_wrong():
    executable = compiled(parsed(IF))
    with pytest.raises(PipelineError, match="expected a call before questions about its code"):
        _ = executable.artifact
    with pytest.raises(FrontendError, match=r"missing bool\[\] 'c'; unknown input 'd'"):
        executable.run({"d": 1, "x": floats(2, 3)})
    with pytest.raises(FrontendError, match=r"expected float32\[2, 3\] 'x', got int32\[2, 3\]"):
        executable(np.asarray(True), np.zeros((2, 3), np.int32))
    with pytest.raises(FrontendError, match=r"inputs: expected 2 \(bool\[\] 'c', float32\[2, 3\] 'x'\), got 1"):
        executable(np.asarray(True))


def test_what_vanished_at_import_is_in_the_ledger_of_its_stretch():
    model = parsed(OPEN)
    executable = compiled(model)
    executable(floats(3, 5), floats(5))
    ledger = executable.artifact.ledger
    assert isinstance(ledger, Ledger)
    gone = {entry.removed for entry in ledger.entries if entry.reason == "evaluated at import"}
    assert ("onnx.Shape",) in gone


# Stretches between what values decide, for all sizes that they meet.


def opened(model: onnx.ModelProto, **options: Any) -> DynamicExecutable:
    executable = whence.compile(model, audit=True, **options)
    assert isinstance(executable, DynamicExecutable)
    return executable


CACHE = """graph (int64 n, float[1, p, 4] past, float[1, 1, 4] q) => (float[1, r, 4] all, float[1, 1, 4] last) {
    [going] on = Constant <value = bool {1}> ()
    [decode] all, last = Loop (n, on, past, q) <
        body = step (int64 i, bool cond, float[1, c, 4] kv, float[1, 1, 4] x)
            => (bool next, float[1, d, 4] more, float[1, 1, 4] out) {
            [keep] next = Identity (cond)
            [grow] more = Concat <axis = 1> (kv, x)
            [turn] t = Transpose <perm = [0, 2, 1]> (more)
            [scores] s = MatMul (x, t)
            [odds] a = Softmax <axis = -1> (s)
            [mix] out = MatMul (a, more)
        }
    >
}"""


@pytest.mark.parametrize(("tier", "programs"), [("auto", 1), ("static", 3)])
def test_a_cache_that_grows_is_compiled_for_all_lengths(tier: Any, programs: int):
    model = parsed(CACHE)
    executable = opened(model, tier=tier, opt_level=0)
    steps = 100 if tier == "auto" else 3
    agree(executable, model, {"n": np.asarray(steps), "past": floats(1, 3, 4), "q": floats(1, 1, 4)})
    # One for all lengths.
    assert len(executable.specializations) == programs
    if tier == "auto":
        assert "float32[1, kv_1, 4] 'kv'" in executable.report()
        assert executable.coverage()["relay"] == 1.0
        assert "decode/odds" in str(executable.where("decode/odds"))


CHOSEN = """graph (float[n, 8] x, float least, float[8, 2] w) => (float[k, 2] y, float[m, 4] z, int64[2] s)
    <int64[1] one = {1}, int64[2] four = {-1, 4}> {
    [top] m = ReduceMax <keepdims = 0> (x, one)
    [above] p = Greater (m, least)
    [which] i = NonZero (p)
    [turn] t = Transpose (i)
    [rows] g = GatherND (x, t)
    [dense] d = MatMul (g, w)
    [act] y = Relu (d)
    [twice] b = Concat <axis = 0> (y, d)
    [fold] z = Reshape (b, four)
    [shape] s = Shape (z)
}"""


def test_rows_that_values_choose_are_one_program():
    model = parsed(CHOSEN)
    executable = opened(model)
    x, w = floats(30, 8), floats(8, 2)
    for least in (1.0, 1.2, 0.8, -9.0, 9.0, 1.5):
        agree(executable, model, {"x": x, "least": np.asarray(least, np.float32), "w": w})
    # What finds the rows, and what is done with them.
    assert len(executable.specializations) == 2


def test_an_if_whose_branches_differ_in_rank_has_a_program_for_each_answer():
    model = parsed("""graph (float[n, m] x) => (float[k] y)
        <int64[1] four = {4}, int64[1] one = {1}, int64[1] last = {-1}> {
        m = Shape <start = 1> (x)
        quarters = Div (m, four)
        fits = Equal (quarters, one)
        t = If (fits) <
            then_branch = short () => (a) { a = ReduceSum <keepdims = 0> (x, one) },
            else_branch = long () => (b) { b = Neg (x) }
        >
        y = Reshape (t, last)
    }""")
    executable = opened(model)
    for n, m, programs in ((2, 5, 1), (3, 4, 1), (1, 7, 1), (2, 8, 2), (5, 300, 2), (2, 3, 3), (2, 0, 3), (4, 6, 3)):
        agree(executable, model, {"x": floats(n, m)})
        assert len(executable.specializations) == programs


def test_what_was_exported_for_a_batch_of_one_is_one_program_for_its_other_sizes():
    model = parsed("""graph (float[b, n, 4] x, float[1, n, 4] p) => (float[1, m, 4] y) <int64[3] rows = {1, -1, 4}> {
        t = Reshape (x, rows)
        y = Add (t, p)
    }""")
    executable = opened(model)
    for n in (3, 7, 1, 0):
        agree(executable, model, {"x": floats(1, n, 4), "p": floats(1, n, 4)})
        assert len(executable.specializations) == 1


def test_what_comes_of_a_branch_is_compiled_once():
    model = parsed("""graph (bool c, float[n, m] x, float[n, 1] w) => (float[a, b] y) {
        t = If (c) <
            then_branch = yes () => (p) { p = Exp (x) },
            else_branch = no () => (q) { q = Neg (x) }
        >
        y = Mul (t, w)
    }""")
    executable = opened(model)
    for n, m in ((1, 1), (2, 5), (4, 1), (0, 3), (1, 7)):
        agree(executable, model, {"c": np.asarray(True), "x": floats(n, m), "w": floats(n, 1)})
        assert len(executable.specializations) == 2
    assert executable.coverage()["relay"] == 1.0


KNOWN = """graph (int64 n, float[1, p, 4] x, float[64, 4] table) => (float[1, r, 4] all) {
    [going] on = Constant <value = bool {1}> ()
    [decode] all = Loop (n, on, x) <
        body = step (int64 i, bool cond, float[1, c, 4] kv) => (bool next, float[1, d, 4] more)
            <int64[1] zero = {0}, int64[1] one = {1}, int64[1] last = {-1}> {
            [keep] next = Identity (cond)
            [length] l = Shape <start = 1, end = 2> (kv)
            [places] t = Slice (table, zero, l, zero)
            [place] added = Add (kv, t)
            [final] f = Slice (added, last, l, one)
            [grow] more = Concat <axis = 1> (added, f)
        }
    >
}"""


def test_values_that_follow_from_sizes_are_sizes_of_what_comes_next():
    model = parsed(KNOWN)
    executable = opened(model, opt_level=0)
    for n, p in ((20, 1), (9, 5)):
        agree(executable, model, {"n": np.asarray(n), "x": floats(1, p, 4), "table": floats(64, 4)})
    # The stretch ends before the second Slice, whose end is read by then.
    assert len(executable.specializations) <= 4


def test_what_takes_no_sizes_is_specialised():
    model = parsed("""graph (float[n] x, int64[1] k) => (float[a] y, float[a] z)
        <int64[1] zero = {0}, int64[1] end = {99}> {
        [every] t = Slice (x, zero, end, zero, k)
        [exp] y = Exp (t)
        [neg] z = Neg (t)
    }""")
    executable = opened(model, opt_level=0)
    x = floats(9)
    agree(executable, model, {"x": x, "k": np.array([2])})
    with pytest.warns(FrontendWarning, match="from layer 'every' on the model is compiled anew for other values: whe"):
        agree(executable, model, {"x": x, "k": np.array([5])})
    agree(executable, model, {"x": x, "k": np.array([4])})
    # Each step has a program of its own, for every length.
    assert len(executable.specializations) == 3
    agree(executable, model, {"x": floats(12), "k": np.array([5])})
    assert len(executable.specializations) == 3


def test_sizes_that_change_together_are_one_unknown():
    rng = np.random.default_rng(0)

    def fits(met: list[Array], extents: Array) -> bool:
        return Pattern.of([row.tolist() for row in met]).fits(extents.tolist())

    past, batch = rng.integers(1, 50, (2, 3))
    rows = [np.array([b, p, p + 1, 8]) for b, p in zip(batch, past, strict=True)]
    assert Pattern.of([row.tolist() for row in rows]).unknowns == 2
    assert fits(rows, np.array([7, 90, 91, 8]))
    assert not fits(rows, np.array([7, 90, 92, 8]))
    assert not fits(rows, np.array([7, 90, 91, 9]))
    # One more case tells those apart that were the same by chance.
    assert fits([*rows, np.array([7, 90, 92, 8])], np.array([7, 11, 5, 8]))


def test_who_is_compiled_for_anew_at_each_size_hears_why():
    model = parsed("""graph (float[n] x, int64[1] k) => (float[a] y) <int64[1] zero = {0}, int64[1] end = {99}> {
        [root] r = Abs (x)
        [every] t = Slice (r, zero, end, zero, k)
        [exp] y = Exp (t)
    }""")
    executable = opened(model, opt_level=0)
    agree(executable, model, {"x": floats(9), "k": np.array([2])})
    wanted = r"from layer 'every' on .* anew for other sizes of dimension 0 of float32\[n\] 'x': whether .* depends"
    with pytest.warns(FrontendWarning, match=wanted) as caught:
        agree(executable, model, {"x": floats(12), "k": np.array([5])})
    assert len(caught) == 1
    assert executable.report().count("; not for all sizes: whether ") == 2
    # Once is enough.
    agree(executable, model, {"x": floats(7), "k": np.array([3])})
