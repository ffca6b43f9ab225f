"""The names of Relax in a top-down overview of TVM, in a flow with checked values."""

# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np
from overview_flows import floats, run, uses

import whence

tvm: Any = whence


@uses("relax", "relax.BlockBuilder", "relax.frontend.nn.Module", "relax.Function", "relay_to_relax")
def test_relax() -> None:
    relax = tvm.relax
    nn = relax.frontend.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            self.fc = nn.Linear(4, 3)

        def forward(self, x: Any) -> Any:
            return nn.op.relu(self.fc(x))

    mod, params = Model().export_tvm({"forward": {"x": nn.spec.Tensor((2, 4), "float32")}})
    assert isinstance(mod["forward"], relax.Function)
    data, weight, bias = floats(2, 4), floats(3, 4), floats(3)
    assert [name for name, _ in params] == ["fc.weight", "fc.bias"]
    result = relax.VirtualMachine(relax.build(mod))["forward"](data, weight, bias)
    np.testing.assert_allclose(np.asarray(result), np.maximum(data @ weight.T + bias, 0), rtol=1e-5)
    builder, x = relax.BlockBuilder(), relax.Var("x", relax.TensorStructInfo((2, 4), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.exp(x)))
    np.testing.assert_allclose(np.asarray(run(builder.get()["main"], x=data)), np.exp(data), rtol=1e-5)
    translated = relax.testing.relay_translator.from_relay(builder.get()["main"], "llvm")
    assert "R.exp(x)" in translated.script()
