"""What external compilers take: composites, marks, regions without cycles, partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from whence import relay, transform
from whence.dataflow_pattern import is_constant, is_op, wildcard
from whence.dialects.relay import elementwise as e
from whence.dialects.relay import nn
from whence.dialects.relay import rearrange as r
from whence.dialects.relay.annotation import CompilerBeginOp, CompilerEndOp
from whence.dialects.relay.core import CallOp, FuncOp
from whence.dialects.relay.interpret import evaluate_module
from whence.lowering.external import registry
from whence.lowering.external.registry import register_external_codegen
from whence.passes.relay import pattern_table
from whence.passes.relay.pattern_table import Entry, get_pattern_table, register_pattern_table, register_supported
from whence.provenance.span import layer_names
from whence.support.errors import PipelineError

MakeNet = Callable[..., Any]
X = np.random.default_rng(3).standard_normal((2, 3)).astype(np.float32)
TAKEN = ("nn.relu", "add", "nn.dense", "split")


@pytest.fixture(autouse=True)
def compilers(monkeypatch: pytest.MonkeyPatch) -> None:
    """`test` takes relu, add, dense and split, `other` relu and tanh."""
    monkeypatch.setattr(pattern_table, "_supported", {})
    monkeypatch.setattr(pattern_table, "_tables", {})
    for name in TAKEN:
        register_supported("test", name, lambda op: True)
    for name in ("nn.relu", "tanh"):
        register_supported("other", name, lambda op: True)


def make(name: str, *arguments: Any, **options: Any) -> transform.Pass:
    return getattr(transform, name)(*arguments, **options)


def partitioned(module: ModuleOp, *targets: str, **options: Any) -> ModuleOp:
    passes = [make("AnnotateTarget", targets), make("MergeCompilerRegions"), make("PartitionGraph", **options)]
    result = transform.Sequential(passes)(module)
    result.verify()
    inputs = [X] * len(functions(module)["main"].block.args)
    for mine, theirs in zip(evaluate_module(result, inputs), evaluate_module(module, inputs), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    return result


def functions(module: ModuleOp) -> dict[str, FuncOp]:
    return {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}


def names(func: FuncOp) -> list[str]:
    return [op.name.removeprefix("relay.") for op in func.block.ops][:-1]


def shape_of_parts(module: ModuleOp) -> list[list[str]]:
    """What is in `@main`, then what is in each partition."""
    return [names(func) for func in functions(module).values()]


def marks(module: ModuleOp) -> list[str]:
    return [
        f"{op.name.rpartition('_')[2]} {op.compiler.data}"
        if isinstance(op, CompilerBeginOp | CompilerEndOp)
        else op.name
        for op in functions(module)["main"].block.ops
    ][:-1]


def test_composites_are_made_in_the_order_of_the_table(make_net: MakeNet):
    net = make_net(X)
    first = net(e.ReluOp, net(nn.DenseOp, net.inputs[0], net.random(3, 3)))
    module = net.finish(net(nn.DenseOp, first, net.random(4, 3)))
    dense = is_op("nn.dense")(wildcard(), is_constant())

    def wanted(root: Any) -> bool:
        return True

    def refuse(root: Any) -> bool:
        return False

    table: list[Entry] = [("test.dense_relu", is_op("nn.relu")(dense)), ("test.dense", dense, wanted)]
    register_pattern_table("test")(lambda: table)
    assert get_pattern_table("test") == table
    assert get_pattern_table("nobody") is None
    for one in (transform.MergeComposite(table), transform.MergeComposite("test")):
        result = one(module)
        assert list(functions(result)) == ["main", "test_dense", "test_dense_relu"]
        assert names(functions(result)["main"]) == ["call", "call"]
    refused: list[Entry] = [(entry[0], entry[1], refuse) for entry in table]
    assert str(transform.MergeComposite(refused)(module)) == str(module)
    with pytest.raises(PipelineError, match="expected a compiler with a pattern table, got 'nobody'"):
        transform.MergeComposite("nobody")(module)
    with pytest.raises(PipelineError, match=r"pattern table: expected \(name, pattern\) or \(name, pattern, check\)"):
        transform.MergeComposite([("test.dense", 3)])(module)  # pyright: ignore[reportArgumentType]


def test_marks_say_who_takes_an_op(make_net: MakeNet):
    net = make_net(X)
    module = net.finish(net(e.SinOp, net(e.TanhOp, net(e.ReluOp, net.inputs[0]))))
    both = make("AnnotateTarget", ["test", "other"])(module)
    assert marks(both) == [
        *("begin test", "relay.nn.relu", "end test"),
        *("begin other", "relay.tanh", "end other"),
        *("begin default", "relay.sin", "end default"),
    ]
    assert marks(make("AnnotateTarget", ["other", "test"])(module))[0] == "begin other"
    once = make("AnnotateTarget", "test")(module)
    assert marks(once).count("begin default") == 2
    assert marks(make("AnnotateTarget", "other")(once)) == marks(both)
    main = functions(both)["main"]
    assert [layer_names(op.location) for op in list(main.block.ops)[:3]] == [("layer1",)] * 3


def test_a_compiler_may_refuse_an_op(make_net: MakeNet):
    @register_supported("test", "tanh")
    def small(op: Operation) -> bool:
        return layer_names(op.location) == ("layer2",)

    net = make_net(X)
    module = net.finish(net(e.TanhOp, net(e.TanhOp, net(e.TanhOp, net.inputs[0]))))
    assert [mark for mark in marks(make("AnnotateTarget", "test")(module)) if "begin" in mark] == [
        *("begin default", "begin test", "begin default")
    ]


def test_neighbours_become_one_partition(make_net: MakeNet):
    net = make_net(X)
    dense = net(nn.DenseOp, net.inputs[0], net.random(3, 3))
    module = net.finish(net(e.SinOp, net(e.AddOp, net(e.ReluOp, dense), dense)))
    result = partitioned(module, "test")
    assert shape_of_parts(result) == [["call", "sin"], ["constant", "nn.dense", "nn.relu", "add"]]
    func = functions(result)["tvmgen_default_test_main_0"]
    assert func.primitive is not None
    assert func.attributes["Compiler"] == StringAttr("test")
    assert func.attributes["global_symbol"] == StringAttr("tvmgen_default_test_main_0")
    call = next(op for op in functions(result)["main"].block.ops if isinstance(op, CallOp))
    assert layer_names(call.location) == layer_names(func.location) == ("layer3", "layer2", "layer1")
    assert [layer_names(op.location) for op in func.block.ops if op.name != "relay.constant"] == [
        *(("layer1",), ("layer2",), ("layer3",), ("layer3",))
    ]
    apart = partitioned(module, "test", bind_constants=False, mod_name="mine")
    assert shape_of_parts(apart) == [["constant", "call", "sin"], ["nn.dense", "nn.relu", "add"]]
    assert "tvmgen_mine_test_main_0" in functions(apart)


def test_without_merging_each_op_is_a_partition(make_net: MakeNet):
    net = make_net(X)
    module = net.finish(net(e.ReluOp, net(e.ReluOp, net.inputs[0])))
    alone = transform.Sequential([make("AnnotateTarget", "test"), make("PartitionGraph")])(module)
    assert shape_of_parts(alone) == [["call", "call"], ["nn.relu"], ["nn.relu"]]


def test_nobody_takes_anything(make_net: MakeNet):
    net = make_net(X)
    module = net.finish(net(e.SinOp, net.inputs[0]))
    assert str(partitioned(module, "test")) == str(module)


def diamond(net: Any, left: type[Any], right: type[Any]) -> ModuleOp:
    top = net(e.ReluOp, net.inputs[0])
    return net.finish(net(e.AddOp, net(left, top), net(right, top)))


def test_a_way_round_through_somebody_else_keeps_regions_apart(make_net: MakeNet):
    #   O         O      the join reads what sin computes of the top: it is no part of the same region
    #  O X  ->  O + X
    #   O         O
    result = partitioned(diamond(make_net(X), e.ReluOp, e.SinOp), "test")
    assert shape_of_parts(result) == [["call", "sin", "call"], ["nn.relu", "nn.relu"], ["add"]]
    assert len(functions(result)["tvmgen_default_test_main_0"].function_type.outputs) == 2
    assert shape_of_parts(partitioned(diamond(make_net(X), e.ReluOp, e.ReluOp), "test"))[0] == ["call"]


def test_a_way_round_through_another_region_counts(make_net: MakeNet):
    net = make_net(X, X)
    # Of two regions of `test`, a and b, each could take the other's neighbour, but not both.
    a, b = net(e.ReluOp, net.inputs[0]), net(e.ReluOp, net.inputs[1])
    first = net(e.AddOp, a, net(e.SinOp, b))
    second = net(e.AddOp, b, net(e.SinOp, a))
    result = partitioned(net.finish(first, second), "test")
    assert names(functions(result)["main"]).count("sin") == 2
    assert len(functions(result)) == 4


def test_parts_that_lie_apart_are_brought_together(make_net: MakeNet):
    net = make_net(X)
    top = net(e.ReluOp, net.inputs[0])
    side = net(e.SinOp, top)
    result = partitioned(net.finish(net(e.AddOp, top, top), net(e.CosOp, side)), "test")
    assert shape_of_parts(result) == [["call", "sin", "cos"], ["nn.relu", "add"]]


def test_two_compilers_and_several_results(make_net: MakeNet):
    net = make_net(X)
    parts = net.results(r.SplitOp, net.inputs[0], indices_or_sections=(1,), axis=1)
    module = net.finish(net(e.TanhOp, net(e.ReluOp, parts[0])), net(e.SinOp, parts[1]))
    result = partitioned(module, "other", "test")
    assert shape_of_parts(result) == [["call", "call", "sin"], ["split"], ["nn.relu", "tanh"]]
    assert list(functions(result))[1:] == ["tvmgen_default_test_main_0", "tvmgen_default_other_main_1"]


def test_composites_go_to_who_has_their_pattern(make_net: MakeNet):
    net = make_net(X)
    module = net.finish(net(e.ReluOp, net(nn.DenseOp, net(e.SinOp, net.inputs[0]), net.random(3, 3))))
    pattern = is_op("nn.relu")(is_op("nn.dense")(wildcard(), is_constant()))
    merged = transform.MergeComposite([("mine.dense_relu", pattern)])(module)
    assert shape_of_parts(partitioned(merged, "mine"))[0] == ["sin", "call"]
    assert str(partitioned(merged, "test")) == str(merged)


def test_marks_of_ones_own(make_net: MakeNet):
    net = make_net(X)
    begin = net(CompilerBeginOp, net.inputs[0], compiler="mine")
    inside = net(e.TanhOp, net(e.SinOp, begin))
    module = net.finish(net(e.CosOp, net(CompilerEndOp, inside, compiler="mine")))
    result = make("PartitionGraph")(module)
    assert shape_of_parts(result) == [["call", "cos"], ["sin", "tanh"]]
    other = make_net(X)
    marked: Sequence[SSAValue] = [other(CompilerBeginOp, other.inputs[0], compiler=name) for name in ("a", "b")]
    module = other.finish(other(e.AddOp, *marked))
    with pytest.raises(PipelineError, match=r"relay\.add: expected operands marked for one compiler, got"):
        make("PartitionGraph")(module)


def test_a_region_around_what_reads_it_is_refused(make_net: MakeNet):
    net = make_net(X)
    top = net(e.ReluOp, net(CompilerBeginOp, net.inputs[0], compiler="mine"))
    outside = net(e.SinOp, net(CompilerEndOp, top, compiler="mine"))
    joined = net(e.AddOp, top, net(CompilerBeginOp, outside, compiler="mine"))
    module = net.finish(net(CompilerEndOp, joined, compiler="mine"))
    with pytest.raises(PipelineError, match=r"compiler regions: expected regions of which none reads .* got a cycle"):
        make("PartitionGraph")(module)


@pytest.mark.parametrize("seed", range(6))
def test_random_graphs(seed: int, make_net: MakeNet):
    """Whatever the graph: the same numbers, no cycle, and no two neighbours that could have been one."""
    rng = np.random.default_rng(seed)
    net = make_net(X, X)
    values = list(net.inputs)
    for _ in range(60):
        a, b = (values[i] for i in rng.integers(max(0, len(values) - 8), len(values), 2))
        kind: Any = [e.ReluOp, e.AddOp, e.SinOp, e.MaximumOp][rng.integers(4)]
        values.append(net(kind, a, b) if kind in (e.AddOp, e.MaximumOp) else net(kind, a))
    module = net.finish(*values[-4:])
    result = partitioned(module, "test")
    calls = [op for op in functions(result)["main"].block.ops if isinstance(op, CallOp)]
    assert sum(len(names(func)) for func in functions(result).values()) == 60 + len(calls)
    for call in calls:
        for value in call.arguments:
            if isinstance(value.owner, CallOp):
                assert _another_way(value.owner, call)


def _another_way(top: Operation, bottom: Operation) -> bool:
    """Whether `bottom` is computed from `top` through something else, too."""
    seen: set[Operation] = set()
    stack = [value.owner for value in bottom.operands if value.owner is not top]
    while stack:
        op = stack.pop()
        if op is top:
            return True
        if isinstance(op, Operation) and op not in seen:
            seen.add(op)
            stack += [value.owner for value in op.operands]
    return False


PAIR, CHOICE = relay.var("x", shape=(2,)), relay.var("c", "bool")
STATE, NAMED, INNER = relay.var("r"), relay.var("l"), relay.var("y", shape=(2,))
WAVE = relay.tanh(PAIR)
CLOSURE = relay.Function([INNER], relay.tanh(relay.exp(INNER) + PAIR))
IN_REGIONS: dict[str, tuple[relay.Function, list[list[str]]]] = {
    "branches": (
        relay.Function([PAIR, CHOICE], relay.If(CHOICE, relay.exp(relay.exp(PAIR)), relay.nn.relu(PAIR + PAIR))),
        [["add"], ["exp", "exp"]],
    ),
    "what branches read": (
        relay.Function([PAIR, CHOICE], relay.If(CHOICE, relay.exp(WAVE), WAVE + WAVE)),
        [["add"], ["exp"], ["tanh"]],
    ),
    "references": (
        relay.Function(
            [PAIR],
            relay.Let(
                STATE,
                relay.RefCreate(relay.exp(PAIR)),
                relay.Let(
                    relay.var("_"),
                    relay.RefWrite(STATE, relay.tanh(relay.RefRead(STATE))),
                    relay.exp(relay.RefRead(STATE)),
                ),
            ),
        ),
        [["exp"], ["exp"], ["tanh"]],
    ),
    "closures": (
        relay.Function([PAIR], relay.Let(NAMED, CLOSURE, relay.Call(NAMED, [relay.Call(NAMED, [PAIR])]))),
        [["exp", "add", "tanh"]],
    ),
}


@pytest.mark.parametrize("name", IN_REGIONS)
def test_parts_in_regions(name: str, monkeypatch: pytest.MonkeyPatch):
    """What branches, closures and let-blocks hold is for external compilers, too; the machine has them run it."""
    function, wanted = IN_REGIONS[name]
    for operator in ("exp", "add", "tanh"):
        register_supported("inner", operator, lambda op: True)
    runs: list[int] = []

    def build(part: ModuleOp) -> Any:
        def run(*arrays: Any) -> Any:
            runs.append(len(arrays))
            return evaluate_module(part, arrays)

        return run

    monkeypatch.setattr(registry, "_builders", {})
    register_external_codegen("inner", build)
    mod = relay.IRModule.from_expr(function)
    passes = [make("AnnotateTarget", "inner"), make("MergeCompilerRegions"), make("PartitionGraph")]
    cut = transform.Sequential(passes)(mod)
    parts = [list(relay.analysis.list_op_freqs(one)) for key, one in cut.functions.items() if key.name_hint != "main"]
    assert sorted(parts) == sorted(list(dict.fromkeys(part)) for part in wanted)
    given = [np.array([0.5, -1.0], np.float32), True][: len(function.params)]
    found = relay.create_executor("vm", cut).evaluate()(*given)
    np.testing.assert_allclose(found, relay.create_executor("debug", mod).evaluate()(*given), rtol=1e-5)
    assert runs


MARKED = """
fn (%x: Tensor[(2, 3), float32]) {
  %0 = annotation.compiler_begin(%x, compiler="test");
  %1 = split(%0, indices_or_sections=2);
  %2 = annotation.compiler_end((%1, nn.relu(%0)), compiler="test");
  let %r = annotation.compiler_end(ref(%x), compiler="default");
  (add(%2.0.0, %2.0.1), %2.1, ref_read(%r))
}
"""


def test_marks_of_tuples_are_those_of_their_tensors() -> None:
    module = relay.IRModule.from_expr(relay.parse_expr(MARKED)).module
    assert len([op for op in module.walk() if isinstance(op, CompilerEndOp)]) == 3
    expected = evaluate_module(module, [X])
    cut = make("PartitionGraph")(module)
    assert len([op for op in cut.ops if isinstance(op, FuncOp) and "Compiler" in op.attributes]) == 1
    for mine, reference in zip(evaluate_module(cut, [X]), expected, strict=True):
        np.testing.assert_array_equal(mine, reference)
