"""Functions by the registry's names, functions as values, types, and pools of memory, by TVM's names."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import whence
from whence import _ffi, ir, relay
from whence._ffi.registry import remove_global_func
from whence.ir.env_func import EnvFunc
from whence.ir.memory_pools import ConstantPoolInfo, PoolInfoProperties, WorkspaceMemoryPools, WorkspacePoolInfo
from whence.support.errors import PipelineError

ops: Any = relay
init_api: Any = vars(_ffi)["_init_api"]
X = relay.var("x", shape=(4, 16))


def test_ours_answer_to_names_of_tvm() -> None:
    module = relay.IRModule.from_expr(X + ops.const(np.zeros((4, 16), np.float32)))
    simplify = whence.get_global_func("relay._transform.SimplifyExpr")
    assert relay.analysis.list_op_freqs(simplify()(module)) == {}
    assert whence.get_global_func("node.StructuralEqual")(module, module)
    assert whence.get_global_func("relay.op.nn._make.relu")(X).op.name == "nn.relu"
    te: Any = whence.te
    a = te.placeholder((8,), name="a")
    schedule = te.create_schedule(whence.topi.add(a, a).op)
    data, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    whence.get_global_func("target.build.llvm")(schedule, None)(data, out)
    np.testing.assert_array_equal(out, 2 * data)
    assert whence.get_global_func("relay._transform.NoSuchPass", allow_missing=True) is None
    with pytest.raises(ValueError, match=r"Cannot find global function relay\._transform\.NoSuchPass"):
        whence.get_global_func("relay._transform.NoSuchPass")


def test_what_was_registered_comes_first_and_fills_modules() -> None:
    def mine() -> str:
        return "mine"

    module = sys.modules["mine_of_tvm"] = ModuleType("mine_of_tvm")
    whence.register_func("relay._transform.SimplifyExpr", mine)
    whence.register_func("my.space.answer", mine)
    try:
        assert whence.get_global_func("relay._transform.SimplifyExpr")() == "mine"
        init_api("my.space", "mine_of_tvm")
        assert vars(module)["answer"]() == "mine"
        with pytest.raises(ValueError, match="_init_api: expected a loaded module, got no_such"):
            init_api("my.space", "no_such")
    finally:
        remove_global_func("relay._transform.SimplifyExpr")
        remove_global_func("my.space.answer")
        del sys.modules["mine_of_tvm"]


def test_functions_are_values_by_their_names() -> None:
    def more(x: int) -> int:
        return x + 1

    whence.register_func("test.more", more)
    try:
        function = EnvFunc.get("test.more")
        assert (function.name, function(1), function.func(2)) == ("test.more", 2, 3)
        assert function == ir.EnvFunc("test.more")
    finally:
        remove_global_func("test.more")
    with pytest.raises(ValueError, match=r"Cannot find global function test\.more"):
        EnvFunc.get("test.more")


def test_types_of_loops_and_relations_are_types() -> None:
    pointer = ir.PointerType(ir.PrimType("float32"), "global")
    assert (str(pointer), pointer.element_type.dtype) == ("Pointer(float32)", "float32")
    assert ir.structural_equal(pointer, ir.PointerType(ir.PrimType("float32"), "global"))
    assert not ir.structural_equal(pointer, ir.PointerType(ir.PrimType("int8"), "global"))
    relation = ir.TypeRelation(EnvFunc.get("tvm.relay.type_relation.Broadcast"), [relay.TypeVar("a")], 1)
    assert isinstance(relation, ir.TypeConstraint)
    assert relay.analysis.check_kind(relation) == relay.TypeKind.Constraint
    assert isinstance(ir.TupleType([]), ir.Type)


def test_a_program_is_planned_in_pools() -> None:
    weights = [ops.const(np.ones((16, 16), np.float32)) for _ in range(2)]
    module = relay.IRModule.from_expr(ops.nn.dense(ops.tanh(ops.nn.dense(X, weights[0])), weights[1]))

    def pools(size: int) -> WorkspaceMemoryPools:
        return WorkspaceMemoryPools([WorkspacePoolInfo("sram", ["llvm"], PoolInfoProperties(size_hint_bytes=size))])

    built: Any = relay.build(module, "llvm", workspace_memory_pools=pools(4096))
    runner = whence.contrib.graph_executor.GraphModule(built["default"](whence.cpu()))
    data = np.full((4, 16), 0.01, np.float32)
    runner.run(x=data)
    np.testing.assert_allclose(runner.get_output(0).numpy(), np.full((4, 16), 16 * np.tanh(0.16)), rtol=1e-5)
    with pytest.raises(PipelineError, match=r"expected a workspace of 256 bytes .* got 16 in pool 'sram'"):
        relay.build(module, "llvm", workspace_memory_pools=pools(16))
    assert pools(5).pools[0] == WorkspacePoolInfo("sram", ["llvm"], PoolInfoProperties(5))
    assert ConstantPoolInfo("flash").pool_name == "flash"
