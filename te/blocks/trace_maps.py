"""Index maps in TVM's traces: a text of JSON with a graph of nodes, those below before those above, both ways."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
    AffineMap,
)

from ...provenance.diagnostics import message
from ...support.errors import ScheduleError

_OPERATORS: dict[str, Callable[[AffineExpr, AffineExpr], AffineExpr]] = {
    "prim.Add": lambda a, b: a + b,
    "prim.Sub": lambda a, b: a - b,
    "prim.Mul": lambda a, b: a * b,
    "prim.FloorDiv": lambda a, b: a // b,
    "prim.FloorMod": lambda a, b: a % b,
}
_NAMES = {
    AffineBinaryOpKind.Add: "prim.Add",
    AffineBinaryOpKind.Mul: "prim.Mul",
    AffineBinaryOpKind.FloorDiv: "prim.FloorDiv",
    AffineBinaryOpKind.Mod: "prim.FloorMod",
}
_ROOT = "tirx.IndexMap"


def is_map(text: object) -> bool:
    """Return whether an input or an attribute of a trace is the text of an index map."""
    return isinstance(text, str) and text.lstrip().startswith("{")


def map_of(text: object) -> AffineMap:
    """The affine map of the text of an index map. Raises ScheduleError for one that is not affine, or malformed."""
    variables, results = _root(text)
    if not all(isinstance(result, AffineExpr) for result in results):
        raise _refused("sums, products and quotients of indices and numbers", text)
    order = {variable.position: number for number, variable in enumerate(variables)}
    if not all(used <= order.keys() for used in (result.used_dims() for result in results)):
        raise _refused("variables that are indices of the map", text)
    dims = [AffineExpr.dimension(order.get(position, 0)) for position in range(max(order, default=-1) + 1)]
    return AffineMap(len(variables), 0, tuple(result.replace_dims_and_symbols(dims, []) for result in results))


def number_of(text: object) -> float | None:
    """The number that an index map gives everywhere, as it says the padding; None for none."""
    if text is None or isinstance(text, int | float):
        return text
    _, results = _root(text)
    (result,) = results if len(results) == 1 else (None,)
    number = result.value if isinstance(result, AffineConstantExpr) else result
    if not isinstance(number, int | float):
        raise _refused("a number as padding", text)
    return number


def _refused(expected: str, got: object) -> ScheduleError:
    return ScheduleError(message("trace", f"an index map of {expected}", str(got)[:80]))


def _root(text: object) -> tuple[list[AffineDimExpr], list[Any]]:
    """The variables of an index map, numbered as the nodes are, and its results."""
    try:
        graph = json.loads(str(text))
        nodes, root = graph["nodes"], int(graph["root_index"])
        values: list[Any] = []
        for node in nodes[: root + 1]:
            values.append(_value(node, values))
        if nodes[root]["type"] != _ROOT:
            raise _refused("indices", text)
        found = values[root]
    except (ValueError, KeyError, IndexError, TypeError, NotImplementedError) as error:
        raise _refused("TVM's nodes", text) from error
    if not isinstance(found, tuple):
        raise _refused("indices", text)
    variables, results = cast("tuple[Any, Any]", found)
    if not isinstance(variables, list) or not isinstance(results, list):
        raise _refused("indices", text)
    indices = [each for each in cast("list[Any]", variables) if isinstance(each, AffineDimExpr)]
    if len(indices) < len(cast("list[Any]", variables)):
        raise _refused("indices", text)
    return indices, cast("list[Any]", results)


def _value(node: Mapping[str, Any], values: list[Any]) -> Any:
    """The value of a node, whose parts are before it; None for those that say nothing of indices."""
    data: Any = node.get("data")

    def part(name: str) -> Any:
        return values[data[name]]

    match node["type"]:
        case "ir.Var":
            return AffineExpr.dimension(len(values))
        case "ir.IntImm":
            return AffineExpr.constant(int(part("value")) if isinstance(data["value"], int) else 0)
        case "ir.FloatImm":
            return float(data["value"])
        case "int":
            return int(data)
        case "ffi.Array":
            return [values[each] for each in data]
        case "tirx.IndexMap":
            return part("initial_indices"), part("final_indices")
        case kind if kind in _OPERATORS:
            a, b = part("a"), part("b")
            return _OPERATORS[kind](a, b) if isinstance(a, AffineExpr) and isinstance(b, AffineExpr) else None
        case _:
            return None


class _Writer:
    """Nodes under way: equal ones are one."""

    def __init__(self):
        self.nodes: list[dict[str, Any]] = [{"type": "None"}]
        self._known: dict[str, int] = {}
        self._type = self.add("ir.PrimType", span=0, dtype="int32")

    def add(self, kind: str, /, data: Any = None, **parts: Any) -> int:
        """Return the number of a node."""
        node = {"type": kind, "data": parts or data}
        key = json.dumps(node)
        if key not in self._known:
            self._known[key] = len(self.nodes)
            self.nodes.append(node)
        return self._known[key]

    def variables(self, names: list[str]) -> list[int]:
        return [self.add("ir.Var", span=0, ty=self._type, name=self.add("ffi.String", name)) for name in names]

    def number(self, value: float) -> int:
        """A constant: an int, or a float."""
        if isinstance(value, float):
            return self.add("ir.FloatImm", span=0, ty=self.add("ir.PrimType", span=0, dtype="float32"), value=value)
        return self.add("ir.IntImm", span=0, ty=self._type, value=self.add("int", value))

    def expression(self, expr: AffineExpr, variables: list[int]) -> int:
        """An affine expression of variables."""
        match expr:
            case AffineDimExpr(position=position):
                return variables[position]
            case AffineConstantExpr(value=value):
                return self.number(value)
            case AffineBinaryOpExpr(kind=kind, lhs=lhs, rhs=rhs) if kind in _NAMES:
                a, b = (self.expression(side, variables) for side in (lhs, rhs))
                return self.add(_NAMES[kind], span=0, ty=self._type, a=a, b=b)
            case _:
                raise ScheduleError(message("as_json", "a layout of sums, products and quotients", str(expr)))

    def text(self, variables: list[int], results: list[int]) -> str:
        """The text of the map of these variables to these results."""
        ends = {"initial_indices": self.add("ffi.Array", variables), "final_indices": self.add("ffi.Array", results)}
        root = self.add(_ROOT, **ends, inverse_index_map=0)
        return json.dumps({"root_index": root, "nodes": self.nodes}, separators=(",", ":"))


def text_of(layout: AffineMap) -> str:
    """The text of an affine map as an index map of TVM 0.27. Raises ScheduleError for other than its operators."""
    writer = _Writer()
    variables = writer.variables([f"i{number}" for number in range(layout.num_dims)])
    return writer.text(variables, [writer.expression(expr, variables) for expr in layout.results])


def padding_text(number: float | None, count: int) -> str | None:
    """The text of the index map of `count` indices that gives a number everywhere; None for none."""
    if number is None:
        return None
    writer = _Writer()
    return writer.text(writer.variables([f"i{index}" for index in range(count)]), [writer.number(number)])
