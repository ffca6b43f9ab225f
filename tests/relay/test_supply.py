"""Names of a module that nothing else has."""

from __future__ import annotations

import pytest

from whence import relay
from whence.ir.supply import GlobalVarSupply, NameSupply
from whence.relay.backend import name_transforms as names
from whence.support.errors import FrontendError, PipelineError


def test_names_are_given_once() -> None:
    supply = NameSupply("net")
    assert [supply.fresh_name("conv") for _ in range(3)] == ["net_conv", "net_conv_1", "net_conv_2"]
    assert supply.fresh_name("conv_1") == "net_conv_1_1"
    assert supply.fresh_name("conv", add_prefix=False) == "conv"
    assert supply.reserve_name("a.b") == "net_a_b"
    assert supply.contains_name("a b")
    assert not supply.contains_name("a b", add_prefix=False)
    with pytest.raises(FrontendError, match="Name is empty: expected a name, got ''"):
        supply.fresh_name("")


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


def test_names_have_prefixes_and_styles() -> None:
    joined = names.prefix_generated_name(["net", "run"])
    assert (joined, names.prefix_name("run")) == ("TVMGen_net_run", "TVM_run")
    assert names.to_c_function_style(joined) == "TVMGenNetRun"
    assert names.to_c_variable_style("TVM_Pool_a") == "tvm_pool_a"
    assert (names.mangle_module_name("a"), names.mangle_module_name(None)) == ("tvmgen_a", "tvmgen")
    for call, text in (
        (lambda: names.prefix_name([]), "Name segments empty"),
        (lambda: names.prefix_name(["a", ""]), "Name segment is empty"),
        (lambda: names.to_c_constant_style("Pool"), "Constant not TVM prefixed"),
        (lambda: names.to_c_function_style(""), "Function name is empty"),
    ):
        with pytest.raises(FrontendError, match=text):
            call()
    with pytest.raises(ValueError, match="expected letters of ASCII"):
        names.mangle_module_name("\u018e")


def test_variables_without_modules() -> None:
    supply = GlobalVarSupply(NameSupply("p"))
    assert supply.unique_global_for("f") is supply.unique_global_for("f")
    assert GlobalVarSupply().fresh_global("f").name_hint == "f"
    assert GlobalVarSupply([]).fresh_global("f").name_hint == "f"
