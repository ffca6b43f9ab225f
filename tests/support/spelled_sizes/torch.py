# pyright: basic
"""Sizes in exported PyTorch programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from written_programs import FLOAT, LONG, Number, graph, node, program

_LONG = {"as_scalar_type": LONG}


class Net:
    """Sizes are numbers beside tensors."""

    CALLS = {
        "add": "_operator.add", "and": "_operator.and_", "at_least": "_operator.ge", "ceil": "math.ceil",
        "divide": "_operator.truediv", "equal": "_operator.eq", "floor": "math.floor",
        "floor_divide": "_operator.floordiv", "floor_mod": "_operator.mod", "less": "_operator.lt",
        "max": "torch.sym_max", "min": "torch.sym_min", "mul": "_operator.mul", "neg": "_operator.neg",
        "not": "torch.sym_not", "not_equal": "_operator.ne", "or": "_operator.or_", "real": "torch.sym_float",
        "sub": "_operator.sub", "times": "_operator.mul", "whole": "torch.sym_int",
    }  # fmt: skip
    OF_VECTORS = {"greatest": "aten.max.default", "product": "aten.prod.default", "total": "aten.sum.default"}
    KINDS = {
        **dict.fromkeys(("and", "at_least", "equal", "less", "not", "not_equal", "or"), "bool"),
        **dict.fromkeys(("divide", "real", "times"), "float"),
    }

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.metas: dict[str, Any] = {"x": [f"Symbol('s{at}', positive=True, integer=True)" for at in range(2)]}
        self.results: list[str] = []

    def op(self, target: str, arguments: Mapping[str, Any], kind: str = "int") -> Any:
        result = Number(f"y{len(self.nodes)}", kind)
        self.nodes.append(node(target, arguments, [result]))
        return result

    def number(self, value: float) -> float:
        return value

    def extents(self) -> tuple[Any, ...]:
        return tuple(self.op("aten.sym_size.int", {"self": "x", "dim": at}) for at in range(2))

    def call(self, name: str, *sizes: Any) -> Any:
        if name in self.OF_VECTORS:
            return self._read(self._tensor(self.OF_VECTORS[name], {"self": sizes[0]}, LONG, 0))
        if isinstance(sizes[0], str):
            return self._tensor(f"aten.{name}.Tensor", {"self": sizes[0], "other": sizes[1]}, LONG, 1)
        kind = self.KINDS.get(name, "int")
        return self.op(self.CALLS[name], dict(zip("ab", sizes, strict=False)), kind)

    def vector(self, *sizes: Any) -> Any:
        scalars = [self._tensor("aten.scalar_tensor.default", {"s": size, "dtype": _LONG}, LONG, 0) for size in sizes]
        return self._tensor("aten.stack.default", {"tensors": scalars}, LONG, 1)

    def item(self, values: Any, at: int) -> Any:
        return self._read(self._tensor("aten.select.int", {"self": values, "dim": 0, "index": at}, LONG, 0))

    def _read(self, scalar: Any) -> Any:
        return self.op("aten.item.default", {"self": scalar})

    def part(self, values: Any, begin: int, end: int) -> Any:
        arguments = {"self": values, "dim": 0, "start": begin, "end": end}
        return self._tensor("aten.slice.Tensor", arguments, LONG, 1)

    def joined(self, *parts: Any) -> Any:
        return self._tensor("aten.cat.default", {"tensors": list(parts)}, LONG, 1)

    def _tensor(self, target: str, arguments: Mapping[str, Any], dtype: int, rank: int) -> str:
        result = f"y{len(self.nodes)}"
        self.metas[result] = dtype, [f"Symbol('t{at}')" for at in range(rank)]
        self.nodes.append(node(target, arguments, [result]))
        return result

    def _list(self, sizes: tuple[Any, ...]) -> Any:
        items = [{"as_int": size} if isinstance(size, int) else {"as_name": size.name} for size in sizes]
        return {"as_sym_ints": items}

    def filled(self, *sizes: Any) -> None:
        made = self._tensor("aten.full.default", {"size": self._list(sizes), "fill_value": 0.5}, FLOAT, len(sizes))
        self.results.append(made)

    def reshaped(self, *sizes: Any) -> None:
        made = self._tensor("aten.view.default", {"self": "x", "size": self._list(sizes)}, FLOAT, len(sizes))
        self.results.append(made)

    def tiled(self, *sizes: Any) -> None:
        made = self._tensor("aten.repeat.default", {"self": "x", "repeats": self._list(sizes)}, FLOAT, len(sizes))
        self.results.append(made)

    def cut(self, rows: Any) -> None:
        arguments = {"self": "x", "dim": 0, "start": 0, "end": rows}
        self.results.append(self._tensor("aten.slice.Tensor", arguments, FLOAT, 2))

    def counted(self, size: Any) -> None:
        self.results.append(self._tensor("aten.arange.default", {"end": size}, LONG, 1))

    def build(self) -> bytes:
        return program(graph(["x"], self.nodes, self.results, **self.metas))
