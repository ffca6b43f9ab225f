"""Names of a module that nothing else has."""

from __future__ import annotations

import pytest

from whence import relay
from whence.ir.supply import GlobalVarSupply, NameSupply
from whence.support.errors import PipelineError


def test_names_are_given_once() -> None:
    names = NameSupply("net")
    assert [names.fresh_name("conv") for _ in range(3)] == ["net_conv", "net_conv_1", "net_conv_2"]
    assert names.fresh_name("conv_1") == "net_conv_1_1"
    assert names.fresh_name("conv", add_prefix=False) == "conv"
    assert names.reserve_name("a.b") == "net_a_b"
    assert names.contains_name("a b")
    assert not names.contains_name("a b", add_prefix=False)
    with pytest.raises(PipelineError, match="NameSupply: expected a name, got ''"):
        names.fresh_name("")


def test_variables_of_modules_are_kept() -> None:
    x = relay.var("x", shape=(2,))
    module = relay.IRModule({"step": relay.Function([x], x + x)}).with_attr("mod_name", "mine")
    supply = GlobalVarSupply(module)
    assert supply.unique_global_for("step", add_prefix=False) is module.get_global_var("step")
    assert supply.fresh_global("step", add_prefix=False).name_hint == "step_1"
    assert supply.fresh_global("step").name_hint == "tvmgen_mine_step"
    assert supply.unique_global_for("step").name_hint == "tvmgen_mine_step"
    supply.reserve_global(relay.GlobalVar("step"), allow_conflict=True)
    with pytest.raises(PipelineError, match="expected a variable of a new name, got step"):
        supply.reserve_global(relay.GlobalVar("step"))


def test_variables_without_modules() -> None:
    supply = GlobalVarSupply(NameSupply("p"))
    assert supply.unique_global_for("f") is supply.unique_global_for("f")
    assert GlobalVarSupply().fresh_global("f").name_hint == "f"
    assert GlobalVarSupply([]).fresh_global("f").name_hint == "f"
