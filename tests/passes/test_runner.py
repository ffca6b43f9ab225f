"""The runner of passes: instruments as TVM calls them, what passes lose, and the context that they get."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import UNKNOWN_LOC, ModuleOp
from xdsl.passes import ModulePass

from whence.compiler.compile import compile
from whence.dialects.relay import elementwise as e
from whence.dialects.relay import nn
from whence.passes.pipelines import relay_pipeline, run_passes
from whence.passes.relay.simplify_inference import SimplifyInferencePass
from whence.passes.runner import pass_context
from whence.provenance.audit import coverage
from whence.provenance.diagnostics import LocationError
from whence.provenance.ledger import Ledger
from whence.provenance.span import layer_names
from whence.support.context import PassContext
from whence.support.instrument import PassInfo, PassInstrument

MakeNet = Callable[..., Any]


@dataclass
class Noting(PassInstrument):
    """Notes what it is called for, and fails or declines where told to."""

    name: str
    seen: list[str]
    fails: str = ""
    declines: frozenset[str] = field(default_factory=frozenset[str])

    def note(self, what: str) -> None:
        self.seen.append(f"{self.name} {what}")
        if what.split()[0] == self.fails:
            raise ValueError(what)

    def enter_pass_ctx(self) -> None:
        self.note("enter")

    def exit_pass_ctx(self) -> None:
        self.note("exit")

    def should_run(self, mod: object, info: PassInfo) -> bool:
        self.note(f"asked {info.name}")
        return info.name not in self.declines

    def run_before_pass(self, mod: object, info: PassInfo) -> None:
        assert isinstance(mod, ModuleOp)
        assert info.seconds == 0
        self.note(f"before {info.name}")

    def run_after_pass(self, mod: object, info: PassInfo) -> None:
        assert info.seconds > 0
        self.note(f"after {info.name}")


def network(make_net: MakeNet) -> Any:
    """dense and relu."""
    net = make_net(np.ones((1, 4), np.float32))
    net.finish(net(e.ReluOp, net(nn.DenseOp, net.inputs[0], net.random(3, 4))))
    return net


def test_instruments_are_called_around_each_pass_in_order(make_net: MakeNet):
    seen: list[str] = []
    with PassContext(instruments=[Noting("a", seen), Noting("b", seen)]):
        run_passes(network(make_net).module, [SimplifyInferencePass()])
    name = "relay-simplify-inference"
    assert seen == [
        *("a enter", "b enter", f"a asked {name}", f"b asked {name}"),
        *(f"a before {name}", f"b before {name}", f"a after {name}", f"b after {name}", "a exit", "b exit"),
    ]


def test_a_pass_that_an_instrument_declines_does_not_run_unless_required(make_net: MakeNet):
    def runs(required: tuple[str, ...]) -> list[str]:
        seen: list[str] = []
        choosy = Noting("a", seen, declines=frozenset({"relay-fuse-ops"}))
        net = network(make_net)
        with PassContext(required_pass=required, instruments=[Noting("b", seen), choosy]):
            run_passes(net.module, relay_pipeline(0))
        fused = any(op.name == "relay.call" for op in net.module.walk())
        assert fused == ("b before relay-fuse-ops" in seen)
        return [line for line in seen if "fuse-ops" in line]

    asked = ["b asked relay-fuse-ops", "a asked relay-fuse-ops"]
    ran = [f"{one} {when} relay-fuse-ops" for when in ("before", "after") for one in ("b", "a")]
    assert runs(()) == asked
    assert runs(("relay-fuse-ops",)) == runs(("FuseOps",)) == ran


def test_a_scope_that_cannot_begin_ends_for_those_that_began():
    seen: list[str] = []
    context = PassContext(instruments=[Noting("a", seen), Noting("b", seen, fails="enter"), Noting("c", seen)])
    with pytest.raises(ValueError, match="enter"), context:
        seen.append("body")
    assert seen == ["a enter", "b enter", "a exit"]
    assert context.instruments == ()
    assert PassContext.current() is not context


def test_a_scope_ends_for_all_when_a_pass_fails(make_net: MakeNet):
    seen: list[str] = []
    instruments = [Noting("a", seen), Noting("b", seen, fails="before")]
    with pytest.raises(ValueError, match="before"), PassContext(instruments=instruments):
        run_passes(network(make_net).module, relay_pipeline(0)[:1])
    assert seen[-2:] == ["a exit", "b exit"]
    assert not [line for line in seen if "after" in line]


def test_instruments_see_the_passes_of_a_compilation(make_net: MakeNet, tmp_path: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WHENCE_CACHE_DIR", str(tmp_path))
    names: list[str] = []

    class Names(PassInstrument):
        def run_after_pass(self, mod: object, info: PassInfo) -> None:
            names.append(info.name)

        def enter_pass_ctx(self) -> None:
            names.append("enter")

    with PassContext(instruments=[Names()]):
        compile(network(make_net).module)
    assert names.count("enter") == 1
    assert [name for name in names if name.startswith("relay-")] == [one.name for one in relay_pipeline(3)]
    assert {"tir-vectorize", "tir-storage-rewrite"} <= set(names)


def test_an_instrument_that_may_decline_shapes_code():
    class Watching(PassInstrument):
        """Declines nothing."""

    assert PassContext(instruments=[Watching()]).shapes_code() == PassContext().shapes_code()
    assert PassContext(instruments=[Noting("a", [])]).shapes_code() != PassContext().shapes_code()


@dataclass(frozen=True)
class Forget(ModulePass):
    """Loses the location of every relu."""

    name = "forget"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for one in op.walk():
            if isinstance(one, e.ReluOp):
                one.location = UNKNOWN_LOC


def test_no_later_pass_hides_what_one_lost(make_net: MakeNet):
    net = network(make_net)
    ledger = Ledger()
    known = coverage([net.module])
    run_passes(net.module, [Forget()], ledger=ledger)
    after = coverage([net.module])
    assert after < known == 1
    run_passes(net.module, relay_pipeline(3), ledger=ledger)
    assert coverage([net.module]) < 1
    (call,) = (op for op in net.module.walk() if op.name == "relay.call")
    assert set(layer_names(call.location)) == {"lost by pass forget", "layer1"}
    (entry,) = [entry for entry in ledger.entries if entry.pass_name == "forget"]
    assert entry.reason == "lost by pass forget"
    assert [layer_names(at) for at in entry.before] == [("layer2",)]


def test_what_a_pass_lost_is_told_by_the_explorer(make_net: MakeNet):
    net = network(make_net)
    run_passes(net.module, [Forget()])
    exe = compile(net.module)
    levels = exe.coverage()
    assert levels["relay"] < 1
    assert levels["tir"] < 1
    assert "lost by pass forget" in str(exe.why(exe.kernels[0]))
    assert exe.where("lost by pass forget").kernels
    assert "lost by pass forget" not in exe.layers


def test_compile_audits_its_input(make_net: MakeNet):
    net = network(make_net)
    Forget().apply(Context(), net.module)
    with pytest.raises(
        LocationError, match=r"input: expected every op to have a location, got 1 op .*: relay\.nn\.relu"
    ):
        compile(net.module, audit=True)
    assert compile(net.module).coverage()["relay"] < 1


@dataclass(frozen=True)
class Asks(ModulePass):
    """Needs an op of ours by its name."""

    name = "asks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        assert ctx.get_op("relay.nn.relu") is e.ReluOp
        assert ctx.get_op("tir.prim_func").name == "tir.prim_func"


def test_foreign_passes_get_a_context_that_knows_our_dialects(make_net: MakeNet):
    run_passes(network(make_net).module, [Asks()])
    assert {"relay", "te", "schedule", "tir", "llvm_ext"} <= set(pass_context().registered_dialect_names)
