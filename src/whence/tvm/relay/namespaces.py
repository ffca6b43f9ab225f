"""`relay.nn`, `relay.image` and the like: the builders of operators with that prefix."""

from __future__ import annotations

from whence.relay.builders import Builder, builder
from whence.relay.composed import COMPOSED
from whence.support.errors import FrontendError
from whence.syntax.relay.operators import operator_names


class Namespace:
    """The builders of operators whose names begin with `prefix`."""

    def __init__(self, prefix: str):
        self._prefix = prefix

    def __getattr__(self, name: str) -> Builder:
        full_name = f"{self._prefix}{name}"
        try:
            return COMPOSED.get(full_name) or builder(full_name)
        except FrontendError as error:
            raise AttributeError(str(error)) from None

    def __dir__(self) -> list[str]:
        names = (*COMPOSED, *operator_names())
        return sorted({name.removeprefix(self._prefix) for name in names if name.startswith(self._prefix)})


class _Qnn(Namespace):
    """Operators on quantised tensors, also as `relay.qnn.op.conv2d`."""

    op = Namespace("qnn.")


class _Dyn(Namespace):
    """Operators of which operands decide the shape."""

    nn = Namespace("dyn.nn.")
    image = Namespace("dyn.image.")


class _Operators(Namespace):
    """All operators: `relay.op.add`, `relay.op.nn.conv2d`; `relay.op.get` returns one as an expression."""


_FAMILIES = ("nn", "image", "vision", "random", "annotation", "ml")
NAMESPACES: dict[str, Namespace] = {
    **{name: Namespace(f"{name}.") for name in _FAMILIES},
    "dyn": _Dyn("dyn."),
    "qnn": _Qnn("qnn."),
    "op": _Operators(""),
}
for _name in (*_FAMILIES, "dyn"):
    setattr(_Operators, _name, NAMESPACES[_name])
