"""The one formatter of error texts: what was expected, what was found and which layer the error is about.

Every message says what was expected, what was found, in which op, and from which layer of which file.
"""

from __future__ import annotations

from typing import NoReturn

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr, NameLoc
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from ..support.errors import WhenceError, enumerated, expectation
from ..support.names import shown
from .span import UNWRITTEN, leaves, positions


class LocationError(VerifyException, WhenceError):
    """An invariant of provenance broke: a pass left an op without a location or lost a layer unexplained."""


def places(location: LocationAttr) -> tuple[str, ...]:
    """`layer 'conv1', model.onnx node 4` per layer of a location."""
    return tuple(map(_place, leaves(location)))


def position(file: str, number: int) -> str:
    """`net.py line 12`, or `model.onnx node 4`."""
    return f"{file} {'line' if file.endswith('.py') else 'node'} {number}"


def _place(leaf: LocationAttr) -> str:
    match leaf:
        case NameLoc(desc=name):
            at = next(iter(positions(leaf)), None)
            if at is None or at.file == UNWRITTEN:
                return f"layer '{shown(name.data)}'"
            return f"layer '{shown(name.data)}', {shown(position(at.file, at.line))}"
        case FileLineColLoc():
            return f"{leaf.filename.data}:{leaf.line.data}:{leaf.column.data}"
        case _:
            return str(leaf)


def describe(location: LocationAttr, limit: int = 3) -> str:
    """The layers of a location in one text, "" for an unknown one; at most `limit` layers are spelled."""
    return enumerated(places(location), limit)


def message(op: str, expected: str, found: str, location: LocationAttr | None = None) -> str:
    """The one form of an error text: `conv2d: expected .., got .. (layer 'x', model.onnx node 3)`."""
    return expectation(op, expected, found, describe(location) if location is not None else "")


def fail(op: Operation, expected: str, found: str) -> NoReturn:
    """Raise a VerifyException about `op`, naming its layer."""
    raise VerifyException(message(op.name, expected, found, op.location))
