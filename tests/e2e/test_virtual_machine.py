"""Programs of the language: the virtual machine against the interpreter in numpy, and against Python by hand."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import language_programs as programs
import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

import whence
from whence import relay
from whence.executables.virtual_machine import VirtualExecutable
from whence.relay.executors import create_executor
from whence.relay.vm import VirtualMachine
from whence.runtime.interpreting.flow import Adt
from whence.support.errors import FrontendError, PipelineError

Array = NDArray[Any]
RNG = np.random.default_rng(11)


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def ints(*values: int) -> list[Array]:
    return [np.asarray(value, np.int32) for value in values]


def listed(items: Sequence[Any]) -> Adt:
    found = Adt(1, "Nil")
    for item in reversed(items):
        found = Adt(0, "Cons", (item, found))
    return found


def items(adt: Adt) -> list[Any]:
    found: list[Any] = []
    while adt.name == "Cons":
        found.append(adt[0])
        adt = adt[1]
    return found


def compiled(text: str, folder: Path, **options: Any) -> VirtualExecutable:
    executable = whence.compile(programs.module_of(text, folder), audit=True, **options)
    assert isinstance(executable, VirtualExecutable)
    return executable


def same(found: Any, wanted: Any) -> None:
    """The same value: tuples and data types field by field, floats but for rounding."""
    if isinstance(wanted, tuple):
        fields = cast("tuple[Any, ...]", wanted)
        assert len(found) == len(fields)
        for one, other in zip(found, fields, strict=True):
            same(one, other)
    elif isinstance(wanted, Adt):
        assert (found.tag, found.name) == (wanted.tag, wanted.name)
        same(found.fields, wanted.fields)
    else:
        assert (found.dtype, found.shape) == (np.asarray(wanted).dtype, np.shape(wanted))
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def everywhere(text: str, folder: Path, arguments: Sequence[Any], wanted: Any) -> None:
    """What `wanted` says is what both executors give."""
    module = programs.module_of(text, folder)
    same(create_executor("debug", module).evaluate()(*arguments), wanted)
    same(create_executor("vm", module).evaluate()(*arguments), wanted)


def test_mutual_recursion(tmp_path: Path):
    factorial, odd = np.asarray(5040, np.int32), np.asarray(True)
    everywhere(programs.ARITHMETIC, tmp_path, ints(7), (factorial, odd))


def test_lists_and_functions_as_arguments(tmp_path: Path):
    xs, k = [4, 9, 2, -3], 5
    scaled = [k * x for x in xs]
    alternating = scaled[0] - (scaled[1] - (scaled[2] - scaled[3]))
    wanted = listed(ints(*scaled)), *ints(alternating, sum(scaled))
    everywhere(programs.LISTS, tmp_path, [listed(ints(*xs)), *ints(k)], wanted)


def test_tree_recursion(tmp_path: Path):
    def folded(tree: Adt) -> Array:
        if tree.name == "Leaf":
            return np.ones(4, np.float32)
        return np.float32(0.5) * (folded(tree[0]) + folded(tree[2])) + tree[1]

    def grown(depth: int) -> Adt:
        return Adt(1, "Leaf") if depth <= 0 else Adt(0, "Node", (grown(depth - 1), floats(4), grown(depth - 3)))

    tree = grown(6)
    everywhere(programs.TREE, tmp_path, [tree], folded(tree))


def test_closures_are_arguments_and_results(tmp_path: Path):
    executable = compiled(programs.CLOSURES, tmp_path)
    found, both = executable(3, 4)
    assert int(found) == 3 + 7 * (3 + 7 * 4)
    # What a program gave can be called, and given back.
    assert int(both(10)) == 3 + 7 * 10
    assert int(executable.invoke("compose", both, both)(*ints(1))) == 3 + 7 * (3 + 7)
    module = programs.module_of(programs.CLOSURES, tmp_path)
    again, one = create_executor("debug", module).evaluate()(3, 4)
    assert (int(again), int(one(10))) == (int(found), 73)
    # But not to another program.
    with pytest.raises(FrontendError, match="expected a function of the program for 'f', got a Function"):
        executable.invoke("compose", one, both)


def test_references_keep_their_order(tmp_path: Path):
    wanted = *ints(5, 5 + 2 + 5), tuple(ints(5, 7))
    everywhere(programs.COUNTER, tmp_path, ints(5), wanted)


@pytest.mark.parametrize(
    ("xs", "first", "k", "wanted"),
    [
        ([1, 2], [3], 10, (3 + 2) * 10),
        ([8], [], 3, 8 - 3),
        ([], [1, 2, 3], 6, 6),
        ([5, 6, 7], [], 0, 5),
    ],
)
def test_patterns_nest(xs: list[int], first: list[int], k: int, wanted: int, tmp_path: Path):
    given = [listed(ints(*xs)), (listed(ints(*first)), *ints(k))]
    everywhere(programs.PATTERNS, tmp_path, given, np.asarray(wanted, np.int32))


@pytest.mark.parametrize("kind", ["vm", "debug"])
def test_no_clause_fits(kind: str, tmp_path: Path):
    run = create_executor(kind, programs.module_of(programs.PATTERNS, tmp_path)).evaluate()
    with pytest.raises(FrontendError) as error:
        run(listed(ints(1, 2, 3, 4)), (listed([]), 0))
    text = "relay.match: expected a value that a clause fits, got Cons(array(1, dtype=int32), Cons(..)) ("
    assert str(error.value) == f"{text}{tmp_path}/net.mlir:21:5)"


def test_a_loop_with_state(tmp_path: Path):
    x, limit = floats(4), np.asarray(60, np.float32)
    state, count = x, 0
    while np.sum(np.exp(state)) < limit:
        state, count = state * np.float32(1.25), count + 1
    assert count > 2
    everywhere(programs.WHILE, tmp_path, [x, limit], (state, *ints(count)))


def test_state_that_grows(tmp_path: Path):
    x = floats(2, 2)
    state = x
    for _ in range(3):
        state = np.concatenate([state, state.sum(0, keepdims=True)])
    everywhere(programs.GROWING, tmp_path, [x, *ints(3)], state)
    executable = compiled(programs.GROWING, tmp_path)
    assert [str(spec) for spec in executable.inputs] == ["float32[?, 2] 'x'", "int32[] 'n'"]
    with pytest.raises(FrontendError, match=r"inputs: expected float32\[\?, 2\] 'x', got float32\[2, 3\]"):
        executable(floats(2, 3), 1)


def test_shapes_that_values_decide(tmp_path: Path):
    x, mask = floats(3, 4), np.array([1, 0, 0, 1, 1, 0], np.bool_)
    executable = compiled(programs.DECIDED, tmp_path)
    for n in (1, 2):
        kept = -np.exp(x[:n])
        wanted = kept, np.arange(n, dtype=np.float32), np.array([[0], [3], [4]]), kept.reshape(2, -1)
        same(executable(x, n, mask), wanted)
    debug = create_executor("debug", programs.module_of(programs.DECIDED, tmp_path)).evaluate()
    same(debug(x, 2, mask), wanted)
    # One run before what values decide, one behind it; a reshape of a shape that is a constant is in it.
    assert len(executable.last) == 2
    assert f"{tmp_path}/net.mlir:16:3" in executable.last[1].layers
    with pytest.raises(FrontendError, match=r"relay.reshape: expected .*net.mlir:16:3"):
        compiled(programs.DECIDED.replace("[2, -1]", "[3, -1]"), tmp_path)(x, 1, mask)


def test_an_lstm_over_a_list(tmp_path: Path):
    def sigmoid(v: Array) -> Array:
        return 1 / (1 + np.exp(-v))

    w, b, h, c = floats(16, 8), floats(16), floats(1, 4), floats(1, 4)
    xs = [floats(1, 4) for _ in range(3)]
    given = [w, b, h, c, listed(xs)]
    for x in xs:
        i, f, o, u = np.split(np.concatenate([x, h], 1) @ w.T + b, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(u)
        h = sigmoid(o) * np.tanh(c)
    everywhere(programs.LSTM, tmp_path, given, (h, c))


def test_local_functions_that_read_each_other_and_let_blocks(tmp_path: Path):
    x = floats(4)
    wanted = (2 * np.exp(x), np.exp(x)), np.asarray(True)
    everywhere(programs.LOCAL, tmp_path, [*ints(9), x], wanted)
    # Operators around a call that does not read them are one run, through tuples and let-blocks.
    executable = compiled(programs.LOCAL, tmp_path)
    executable(9, x)
    assert max(len(part.outputs) for part in executable.last) == 2


def test_calls_in_tail_position_do_not_wait(tmp_path: Path):
    executable = compiled(programs.REVERSE, tmp_path)
    xs = ints(*range(21_000))
    assert [int(x) for x in items(executable(listed(xs)))] == list(range(20_999, -1, -1))
    assert len(items(executable.invoke("copy", listed(xs[:10_000])))) == 10_000
    evaluator = create_executor("debug", programs.module_of(programs.REVERSE, tmp_path))
    assert len(items(evaluator.evaluate()(listed(xs[:1_200])))) == 1_200
    assert len(items(evaluator.evaluate("copy")(listed(xs[:1_200])))) == 1_200


def test_calls_that_wait_have_a_limit(tmp_path: Path):
    with whence.PassContext(config={"relay.vm.max_depth": 30}):
        executable = compiled(programs.REVERSE, tmp_path)
    assert len(items(executable.invoke("copy", listed(ints(*range(30)))))) == 30
    assert len(items(executable(listed(ints(*range(60)))))) == 60
    with pytest.raises(FrontendError) as error:
        executable.invoke("copy", listed(ints(*range(31))))
    text = "call of 'copy': expected at most 30 calls that wait for another (relay.vm.max_depth), got more"
    assert str(error.value) == f"{text} ({tmp_path}/net.mlir:25:5)"


def test_what_the_executable_tells(tmp_path: Path):
    executable = compiled(programs.GROWING, tmp_path)
    with pytest.raises(PipelineError, match="expected a call before questions"):
        executable.part()
    executable(floats(1, 2), 2)
    executable(floats(1, 2), 1)
    # The sum of all shapes, the condition and the counter.
    lines = executable.report().splitlines()
    assert lines[0] == "2 specialisations, of a run of operators at most 64"
    assert len(lines) == 3
    sum_, concatenate = (f"{tmp_path}/net.mlir:{line}:5" for line in (8, 9))
    assert {sum_, concatenate} <= set(executable.layers)
    assert "relay" in str(executable.where(concatenate))
    assert sum_ in str(executable.why(next(name for name in executable.kernels if "sum" in name)))
    assert executable.coverage()["relay"] == 1.0
    choice = f"{tmp_path}/net.mlir:5:3"
    assert str(executable.where(choice)).endswith(": relay.if, done by the virtual machine")


def test_a_tensor_that_grows_is_compiled_for_all_lengths(tmp_path: Path):
    executable = compiled(programs.GROWING, tmp_path)
    wanted = x = floats(1, 2)
    for _ in range(20):
        wanted = np.concatenate([wanted, wanted.sum(0, keepdims=True)])
    np.testing.assert_allclose(executable(x, 20), wanted, rtol=1e-5)
    shapes = [str(spec) for part in executable.specializations for spec in part.inputs if spec.name == "x"]
    assert shapes == ["float32[x_0, 2] 'x'"]
    assert executable.coverage()["relay"] == 1.0


def test_open_extents_that_broadcast_take_a_program_for_each_way(tmp_path: Path):
    executable = compiled(programs.BROADCAST, tmp_path)
    ways = (((3, 3), 1), ((5, 5), 1), ((1, 4), 2), ((1, 6), 2), ((4, 1), 3), ((6, 1), 3), ((0, 0), 3))
    for (n, m), made in ways:
        x, y = floats(n, 2), floats(m, 2)
        np.testing.assert_allclose(executable(x, y), x + y)
        assert len(executable.specializations) == made


def test_the_least_recently_used_shape_goes_first(tmp_path: Path):
    executable = compiled(programs.GROWING, tmp_path, tier="static")
    executable.program.machine.limit = 2
    for rows in (1, 2, 1, 3):
        executable(floats(rows, 2), 1)
    shapes = {spec.shape for part in executable.specializations for spec in part.inputs if spec.name == "x"}
    assert shapes == {(1, 2), (3, 2)}


@pytest.mark.parametrize("kind", ["graph", "aot"])
def test_static_programs_are_one_native_call(kind: str, tmp_path: Path):
    text = """
    relay.func @main(%x: $V, %y: $V) -> ($V, $V) {
      %a = relay.let pure {
        %e = relay.exp %x : ($V) -> $V
        %t = relay.tuple %e, %y : tuple<$V, $V>
        relay.yield %t : tuple<$V, $V>
      }
      %p = relay.tuple_get_item %a[1] : tuple<$V, $V>
      %q = relay.tuple_get_item %a[0] : tuple<$V, $V>
      %s = relay.add %p, %q : ($V, $V) -> $V
      relay.return %s, %q : $V, $V
    }
    """
    x, y = floats(4), floats(4)
    module = programs.module_of(text, tmp_path)
    same(create_executor(kind, module).evaluate()(x, y=y), (np.exp(x) + y, np.exp(x)))
    run = create_executor(kind, module, params={"y": y}).evaluate()
    same(run(x), (np.exp(x) + y, np.exp(x)))
    same(run(x=x), (np.exp(x) + y, np.exp(x)))
    with pytest.raises(PipelineError, match="@main: expected arguments x, got 2 and none by name"):
        run(x, y)
    with pytest.raises(PipelineError, match=r"param 'y': expected tensor<4xf32>, got tensor<3xf32>"):
        create_executor(kind, module, params={"y": y[:3]})
    with pytest.raises(PipelineError, match=r"params: expected arguments of @main \(x, y\), got 'z'"):
        create_executor(kind, module, params={"z": y})


@pytest.mark.parametrize(
    ("text", "what"),
    [(programs.ARITHMETIC, "relay.if"), (programs.WHILE, "relay.fn"), (programs.TREE, "relay.match")],
)
def test_control_flow_is_for_the_virtual_machine(text: str, what: str, tmp_path: Path):
    with pytest.raises(PipelineError) as error:
        create_executor("graph", programs.module_of(text, tmp_path))
    assert f'(executor "vm" runs all), got {what} ({tmp_path}/net.mlir:' in str(error.value)


@pytest.mark.parametrize("kind", ["debug", "vm", "graph"])
def test_expressions_are_evaluated(kind: str):
    executor = relay.create_executor(kind)
    x = relay.var("x", shape=(4,))
    found = executor.evaluate(relay.Function([x], relay.nn.relu(x + x)))(np.arange(-2, 2, dtype=np.float32))
    same(found, np.array([0, 0, 0, 2], np.float32))
    same(executor.evaluate(relay.const(2.0) + relay.const(3.0)), np.asarray(5, np.float32))


def test_the_names_of_tvm(tmp_path: Path):
    machine = VirtualMachine(relay.vm.compile(programs.module_of(programs.ARITHMETIC, tmp_path)), "cpu(0)")
    same(machine.invoke("factorial", 5), np.asarray(120, np.int32))
    machine.set_input("main", *ints(4))
    machine.invoke_stateful("main")
    same(tuple(machine.get_outputs()), (np.asarray(24, np.int32), np.asarray(False)))
    x = relay.var("x", shape=(4,))
    module = relay.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    static = relay.vm.compile(module, params={"x": np.zeros(4, np.float32)})
    same(VirtualMachine(static).run(), np.ones(4, np.float32))


def test_threads_share_what_is_compiled(tmp_path: Path):
    executable = compiled(programs.GROWING, tmp_path)
    x = floats(1, 2)
    wanted = [executable(x, n) for n in range(4)]
    found: list[Any] = [None] * 8

    def work(at: int) -> None:
        for _ in range(20):
            found[at] = executable(x, at % 4)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for at, one in enumerate(found):
        np.testing.assert_array_equal(one, wanted[at % 4])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            programs.LISTS.replace("@sum(%t) : ($L)", "@sum(%h) : ($I)"),
            "relay.call: expected arguments .*, got tensor<i32>",
        ),
        (programs.LISTS.replace("@sum(%t)", "@total(%t)"), "relay.call: expected a relay.func named @total, got none"),
        (
            """
            relay.func @main(%x: $I) -> (($I, $I) -> $I) {
              %f = relay.global @g : ($I, $I) -> $I
              relay.return %f : ($I, $I) -> $I
            }
            relay.func @g(%x: $I) -> ($I) {
              relay.return %x : $I
            }
            """,
            "relay.global: expected a function of 1 arguments, got",
        ),
    ],
)
def test_programs_that_cannot_run(text: str, expected: str, tmp_path: Path):
    with pytest.raises(FrontendError, match=rf"{expected}.*\({tmp_path}/net.mlir:\d+:\d+\)"):
        compiled(text, tmp_path)


def test_arguments_that_do_not_fit(tmp_path: Path):
    module: ModuleOp = programs.module_of(programs.LISTS, tmp_path)
    run = create_executor("vm", module).evaluate()
    with pytest.raises(FrontendError, match="expected a value of data type List for 'xs', got a list"):
        run([1, 2], 3)
    with pytest.raises(FrontendError, match=r"expected a value of data type List for 'xs', got Cons\(..\)"):
        run(Adt(0, "Cons", (1,)), 3)
    with pytest.raises(FrontendError, match=r"expected int32\[\] 'xs', got float32\[4\]"):
        run(listed([floats(4)]), 3)
    with pytest.raises(PipelineError, match="expected a kind among aot, debug, graph, vm, got 'tree'"):
        create_executor("tree", module)


def test_types_that_nobody_uses_leave_a_program_static():
    text = '#[version = "0.0.5"]\ntype Pair { Pair(int32, int32), }\ndef @main(%x: Tensor[(3,), float32]) { exp(%x) }'
    executable = whence.compile(relay.fromtext(text))
    assert not isinstance(executable, VirtualExecutable)
    np.testing.assert_allclose(executable(np.zeros(3, np.float32)), np.ones(3))
