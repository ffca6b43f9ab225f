"""Layers by TVM's names of `relax.frontend.nn`: modules with parameters, exported as functions of relay.

>>> class Model(nn.Module):
...     def __init__(self):
...         self.fc = nn.Linear(784, 10)
...     def forward(self, x):
...         return nn.op.softmax(self.fc(x))
>>> mod, params = Model().export_tvm({"forward": {"x": nn.spec.Tensor((1, 784), "float32")}})
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from whence.support.rooms import homes_in, name_in, refuse_names

refuse_names(
    __name__,
    {
        **dict.fromkeys(
            ("Effect", "IOEffect", "KVCache", "Object"),
            "functions have no state: what one keeps is an argument and a result of it",
        ),
        **dict.fromkeys(
            ("ExternModule", "ObjectModule", "SourceModule", "add_extern"),
            "nn.op.extern calls a function that whence.register_func knows",
        ),
        "SubroutineMixin": "layers are parts of the function that calls them",
    },
)


def __getattr__(name: str) -> Any:
    if name not in homes_in(__name__) and name in (op := import_module(f"{__name__}.op")).__all__:
        return getattr(op, name)
    return name_in(__name__, name)


def __dir__() -> list[str]:
    return sorted({*homes_in(__name__), *import_module(f"{__name__}.op").__all__})
