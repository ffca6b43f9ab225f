"""Passes as objects: what TVM's users expect of pass managers and instruments, on modules of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType, UnitAttr, f32
from xdsl.ir import Operation

from whence import transform
from whence.dialects.relay import elementwise as e
from whence.dialects.relay.core import ConstantOp, FuncOp
from whence.dialects.relay.interpret import evaluate_module
from whence.instrument import PassInstrument, PassTimingInstrument, PrintAfterAll, PrintBeforeAll, pass_instrument
from whence.provenance.ledger import Ledger, recording
from whence.provenance.lost import is_lost
from whence.provenance.span import layer_names, leaves
from whence.support.context import PassContext
from whence.support.errors import PipelineError

MakeNet = Callable[..., Any]
NAMED = ("FoldConstant", "EliminateCommonSubexpr", "DeadCodeElimination", "SimplifyInference", "FuseOps", "InferType")


@pytest.fixture
def module(make_net: MakeNet) -> ModuleOp:
    """(x + (1 - 3)) * (x + -2), of which two parts are equal once folded."""
    net = make_net(np.ones((2, 3), np.float32))
    two = net(e.SubtractOp, np.ones((2, 3), np.float32), np.full((2, 3), 3, np.float32))
    left = net(e.AddOp, net.inputs[0], two)
    right = net(e.AddOp, net.inputs[0], two)
    return net.finish(net(e.MultiplyOp, left, right))


def operators(module: ModuleOp) -> list[str]:
    return [op.name.removeprefix("relay.") for op in module.walk() if op.name not in ("relay.func", "builtin.module")]


def value(module: ModuleOp) -> Any:
    return evaluate_module(module, [np.arange(6, dtype=np.float32).reshape(2, 3)])[0]


def make(name: str) -> transform.Pass:
    return getattr(transform, name)()


def test_a_pass_leaves_its_input_as_it_is(module: ModuleOp):
    text = str(module)
    folded = make("FoldConstant")(module)
    assert str(module) == text
    assert "subtract" in operators(module)
    assert "subtract" not in operators(folded)
    np.testing.assert_array_equal(value(folded), value(module))


@pytest.mark.parametrize("name", NAMED)
def test_passes_have_tvms_names_and_the_registrys_levels(name: str):
    one = make(name)
    assert one.info.name == name
    assert f"pass: {name} at the optimization level {one.info.opt_level}" in repr(one)
    assert name in dir(transform)


def test_options_are_keyword_arguments(module: ModuleOp):
    alone = transform.FuseOps(max_depth=1)(module)
    fused = transform.FuseOps(max_depth=8)(module)
    assert operators(alone).count("call") > operators(fused).count("call") == 1
    assert operators(transform.FuseOps(0)(module)) == operators(alone)
    with pytest.raises(PipelineError, match=r"DeadCodeElimination: expected options among .*, got depth"):
        transform.DeadCodeElimination(depth=1)
    with pytest.raises(
        PipelineError, match=r"DeadCodeElimination: expected options among inline_once, .*, got 3 values"
    ):
        transform.DeadCodeElimination(1, 2, 3)
    with pytest.raises(PipelineError, match="AnnotateTarget: expected all of its options, got none"):
        transform.AnnotateTarget()
    with pytest.raises(AttributeError, match="no attribute 'FuseAll'"):
        make("FuseAll")


def test_a_call_runs_a_pass_of_any_level_and_sequential_chooses(module: ModuleOp):
    cse = make("EliminateCommonSubexpr")
    both = transform.Sequential([cse])
    with PassContext(opt_level=0):
        assert operators(cse(module)).count("add") == 1
        assert operators(both(module)).count("add") == 2
    with PassContext(opt_level=3):
        assert operators(both(module)).count("add") == 1
    for disabled in ("EliminateCommonSubexpr", "relay-eliminate-common-subexpr"):
        with PassContext(disabled_pass=[disabled]):
            assert operators(both(module)).count("add") == 2
    for required in ("EliminateCommonSubexpr", "relay-eliminate-common-subexpr"):
        with PassContext(opt_level=0, required_pass=[required]):
            assert operators(both(module)).count("add") == 1


def test_a_sequential_runs_what_its_passes_require_and_nests(module: ModuleOp):
    seen: list[str] = []

    @transform.module_pass(opt_level=1, required=["FoldConstant"])
    def look(mod: ModuleOp, ctx: PassContext) -> ModuleOp:
        seen.append(" ".join(operators(mod)))
        return mod

    inner = transform.Sequential([look], name="inner")
    outer = transform.Sequential([inner, make("EliminateCommonSubexpr")], opt_level=1)
    assert (inner.info.name, outer.info.name, outer.info.opt_level) == ("inner", "sequential", 1)
    result = outer(module)
    assert "subtract" not in seen[0]
    assert operators(result).count("add") == 1
    look(module)
    assert "subtract" in seen[1]
    assert operators(transform.Sequential([])(module)) == operators(module)


def test_requirements_that_nobody_can_meet():
    @transform.module_pass(opt_level=0, required=["FoldEverything"])
    def lost(mod: ModuleOp, ctx: PassContext) -> ModuleOp:
        return mod

    with pytest.raises(PipelineError, match="pass lost: Cannot use FoldEverything to create the pass"):
        transform.Sequential([lost])(ModuleOp([]))


def test_a_module_pass_of_a_function(module: ModuleOp):
    def direct(mod: ModuleOp, ctx: PassContext) -> ModuleOp:
        assert ctx is PassContext.current()
        next(op for op in mod.ops if isinstance(op, FuncOp)).sym_name = StringAttr("other")
        return mod

    one = transform.module_pass(direct, opt_level=2)
    assert isinstance(one, transform.ModulePass)
    assert (one.info.name, one.info.opt_level) == ("direct", 2)
    assert "@other" in str(one(module))
    assert "@other" not in str(module)
    named = transform.module_pass(opt_level=0, name="called")(direct)
    assert named.info.name == "called"
    with pytest.raises(PipelineError, match="Please provide opt_level"):
        transform.module_pass(direct)
    with pytest.raises(PipelineError, match="Required is expected to be the type of list/tuple"):
        transform.module_pass(direct, opt_level=0, required=cast(Any, "FoldConstant"))


def test_a_module_pass_of_a_class_may_give_a_module_that_others_keep(module: ModuleOp, make_net: MakeNet):
    net = make_net(np.ones((1, 4), np.float32))
    other = net.finish(net(e.ReluOp, net.inputs[0]))

    @transform.module_pass(opt_level=1)
    class Swap:
        def __init__(self, new: ModuleOp, replace: bool):
            self.new, self.replace = new, replace

        def transform_module(self, mod: ModuleOp, ctx: PassContext) -> ModuleOp:
            return self.new if self.replace else mod

    assert Swap(other, True).info.name == "Swap"
    assert Swap(other, True)(module) is other
    assert str(Swap(other, False)(module)) == str(module)
    assert Swap(other, False).replace is False
    text = str(other)
    transform.Sequential([Swap(other, True), make("FuseOps")])(module)
    assert str(other) == text
    with pytest.raises(PipelineError, match="expected it to have transform_module"):
        transform.module_pass(PassContext, opt_level=1)


def test_a_function_pass_skips_functions_that_are_closed(module: ModuleOp):
    main = next(op for op in module.ops if isinstance(op, FuncOp))
    for name in ("compiled", "skipped", "kernel"):
        copy = main.clone()
        copy.sym_name = StringAttr(name)
        module.body.block.add_op(copy)
        if name == "compiled":
            copy.attributes["Compiler"] = StringAttr("test")
        elif name == "skipped":
            copy.attributes["SkipOptimization"] = UnitAttr()
        else:
            copy.primitive = UnitAttr()
    seen: list[str] = []
    replacement = main.clone()
    replacement.sym_name = StringAttr("elsewhere")

    @transform.function_pass(opt_level=1)
    class Replace:
        def transform_function(self, func: FuncOp, mod: ModuleOp, ctx: PassContext) -> FuncOp:
            seen.append(func.sym_name.data)
            return replacement

    result = Replace()(module)
    assert seen == ["main"]
    assert [op.sym_name.data for op in result.ops if isinstance(op, FuncOp)] == [
        "main",
        *("compiled", "skipped", "kernel"),
    ]
    folded = make("FoldConstant")(module)
    subtractions = {
        func.sym_name.data: any(isinstance(op, e.SubtractOp) for op in func.block.ops)
        for func in folded.ops
        if isinstance(func, FuncOp)
    }
    assert subtractions == {"main": False, "compiled": True, "skipped": True, "kernel": True}

    @transform.function_pass(opt_level=1)
    def wrong(func: FuncOp, mod: ModuleOp, ctx: PassContext) -> Any:
        return None

    with pytest.raises(PipelineError, match=r"pass wrong: expected it to return a relay\.func for @main, got NoneType"):
        wrong(module)


def test_the_ledger_is_kept_and_losses_are_marked(module: ModuleOp):
    ledger = Ledger()
    with recording(ledger, "test"):
        make("FoldConstant")(module)
    assert {entry.pass_name for entry in ledger.entries} == {"relay-fold-constant"}

    @transform.module_pass(opt_level=0)
    def careless(mod: ModuleOp, ctx: PassContext) -> ModuleOp:
        main = next(op for op in mod.ops if isinstance(op, FuncOp))
        last = main.return_op
        new = e.ReluOp(last.values[0])
        main.block.insert_op_before(new, last)
        last.operands[0] = new.result
        return mod

    def lost(op: Operation) -> bool:
        return any(map(is_lost, leaves(op.location)))

    result = careless(module)
    assert [(op.name, layer_names(op.location)) for op in result.walk() if lost(op)] == [
        ("relay.nn.relu", ("lost by pass careless",))
    ]


def test_types_follow_from_a_parameter(module: ModuleOp):
    main = next(op for op in module.ops if isinstance(op, FuncOp))
    net = main.block
    wide = net.insert_arg(TensorType(f32, [5, 2, 3]), 0)
    wide.location = main.location
    net.args[1].replace_all_uses_with(wide)
    net.erase_arg(net.args[1])
    inferred = make("InferType")(module)
    inferred.verify()
    func = next(op for op in inferred.ops if isinstance(op, FuncOp))
    assert func.function_type.outputs.data == (TensorType(f32, [5, 2, 3]),)
    assert not any(op.location == inferred.location for op in func.block.ops if not isinstance(op, ConstantOp))


def test_print_ir_shows_the_module_in_place(module: ModuleOp, capfd: pytest.CaptureFixture[str]):
    result = transform.Sequential([make("FoldConstant"), transform.PrintIR("here"), make("FuseOps")])(module)
    shown = capfd.readouterr().err
    assert shown.startswith("PrintIR(here):\n")
    assert "relay.multiply" in shown
    assert "subtract" not in shown
    assert "call" not in shown
    assert "call" in operators(result)


def test_printing_around_all_passes(module: ModuleOp, capfd: pytest.CaptureFixture[str]):
    with PassContext(instruments=[PrintBeforeAll(), PrintAfterAll()]):
        make("FoldConstant")(module)
    before, _, after = capfd.readouterr().out.partition("After Running Pass:")
    assert "pass name: FoldConstant, opt_level: 2, required passes: []" in before
    assert "subtract" in before
    assert "subtract" not in after


def test_the_times_of_passes(module: ModuleOp):
    times = PassTimingInstrument()
    PassContext.current().override_instruments([times])
    transform.Sequential([make("InferType"), transform.Sequential([make("FoldConstant")], name="inner")])(module)
    lines = times.render().splitlines()
    assert [line.split(":")[0] for line in lines] == ["sequential", "\tInferType", "\tinner", "\t\tFoldConstant"]
    assert lines[0].endswith("(100.00%; 100.00%)")
    PassContext.current().override_instruments(None)
    make("InferType")(module)
    assert times.render() == ""


@pytest.mark.parametrize("way", ["decorator", "subclass"])
def test_instruments_may_be_decorated_classes(way: str, module: ModuleOp):
    class Base:
        def __init__(self) -> None:
            self.events: list[str] = []

        def enter_pass_ctx(self) -> None:
            self.events.append("enter")

        def exit_pass_ctx(self) -> None:
            self.events.append("exit")

        def run_before_pass(self, mod: object, info: Any) -> None:
            self.events.append(f"before {info.name}")

        def run_after_pass(self, mod: object, info: Any) -> None:
            self.events.append(f"after {info.name}")

    kind: Any = pass_instrument(Base) if way == "decorator" else type("Sub", (Base, PassInstrument), {})
    one = kind()
    with PassContext(instruments=[one]):
        make("InferType")(module)
    assert one.events == ["enter", "before InferType", "after InferType", "exit"]


@pass_instrument
class Noting:
    def __init__(self, name: str, events: list[str], fails: str = ""):
        self.name, self.events, self.fails = name, events, fails

    def note(self, what: str) -> None:
        self.events.append(f"{self.name} {what}")
        if what == self.fails:
            raise RuntimeError("Just a dummy error")

    def enter_pass_ctx(self) -> None:
        self.note("enter")

    def exit_pass_ctx(self) -> None:
        self.note("exit")

    def should_run(self, mod: object, info: object) -> bool:
        self.note("should run")
        return True

    def run_before_pass(self, mod: object, info: object) -> None:
        self.note("before")

    def run_after_pass(self, mod: object, info: object) -> None:
        self.note("after")


@pytest.mark.parametrize(
    ("fails", "expected"),
    [
        ("enter", "1 enter, 2 enter, 1 exit"),
        ("should run", "{entered}, 1 should run, 2 should run, {exited}"),
        ("before", "{entered}, {asked}, 1 before, 2 before, {exited}"),
        ("after", "{entered}, {asked}, 1 before, 2 before, 3 before, 1 after, 2 after, {exited}"),
        ("exit", "{entered}, {asked}, 1 before, 2 before, 3 before, 1 after, 2 after, 3 after, 1 exit, 2 exit"),
    ],
)
def test_what_happens_when_an_instrument_fails(fails: str, expected: str, module: ModuleOp):
    events: list[str] = []
    make_one: Any = Noting
    context = PassContext(instruments=[make_one("1", events), make_one("2", events, fails), make_one("3", events)])
    with pytest.raises(RuntimeError, match="Just a dummy error"), context:
        make("InferType")(module)
    parts = {
        "entered": "1 enter, 2 enter, 3 enter",
        "exited": "1 exit, 2 exit, 3 exit",
        "asked": "1 should run, 2 should run, 3 should run",
    }
    assert ", ".join(events) == expected.format(**parts)
    assert PassContext.current() is not context
    assert PassContext.current().instruments == ()


@pytest.mark.parametrize("fails", ["enter", "exit"])
def test_what_happens_when_an_overriding_instrument_fails(fails: str):
    make_one: Any = Noting
    current = PassContext.current()
    if fails == "exit":
        current.override_instruments([make_one("1", [], fails)])
    with pytest.raises(RuntimeError, match="Just a dummy error"):
        current.override_instruments([make_one("2", [], fails)])
    assert current.instruments == ()


def test_instruments_choose_passes_by_name(module: ModuleOp):
    @pass_instrument
    class Only:
        def should_run(self, mod: object, info: Any) -> bool:
            return info.name == "FoldConstant"

    one: Any = Only()
    with PassContext(instruments=[one]):
        result = make("FoldConstant")(make("EliminateCommonSubexpr")(module))
    assert operators(result).count("add") == 2
    assert "subtract" not in operators(result)
