"""Parses text of StableHLO; large constants stay in the text until they are read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    Builtin,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    ModuleOp,
    TensorType,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import ParseError, VerifyException

from ...dialects.element_types import numpy_dtype
from ...dialects.located_parser import LocatedParser
from ...dialects.stablehlo import Chlo, Sdy, Stablehlo
from ...support.dtypes import Array
from ...support.errors import FrontendError

_LARGE = re.compile(r'dense<"0x([0-9A-Fa-f]{129,}+)">|dense_resource<([\w.$-]+)>')
_RESOURCE = re.compile(r'([\w.$-]+)\s*:\s*"0x([0-9A-Fa-f]*+)"')
_texts = count()
_ELIDED = "__elided__"
_UNREGISTERED = "Operation builtin.unregistered does not have a custom format"
READABLE = (
    "a text of MLIR, which `jax.jit(f).lower(..).as_text(debug_info=True)` is, or `stablehlo-translate --deserialize` "
    "makes of bytecode"
)


@dataclass(frozen=True, eq=False)
class Program:
    """A module, and the text that holds its large constants."""

    file: str
    module: ModuleOp
    text: str
    spans: Mapping[str, tuple[int, int, int]] = field(default_factory=dict[str, "tuple[int, int, int]"])
    """Handle of a large constant -> begin and end of its digits, and the number of bytes before its elements."""

    def array(self, value: Attribute) -> Array:
        """Return the elements of a constant; raises FrontendError for missing ones."""
        type_ = cast("Any", value).type if isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr) else None
        if not isinstance(type_, TensorType):
            raise FrontendError(
                f"{self.file}: expected constants that are dense tensors, got {_short(str(cast('object', value)))}"
            )
        type_ = cast("TensorType[Attribute]", type_)
        if any(extent < 0 for extent in type_.get_shape()):
            raise FrontendError(f"{self.file}: expected constants of known shapes, got {type_}")
        try:
            dtype = numpy_dtype(type_.element_type)
        except VerifyException as error:
            raise FrontendError(f"{self.file}: constant: {error}") from error
        shape = type_.get_shape()
        if isinstance(value, DenseResourceAttr):
            return self._decoded(self._bytes(value), dtype, shape, prod(shape))
        assert isinstance(value, DenseIntOrFPElementsAttr)
        data = value.data.data
        if dtype == np.bool_:
            array = np.asarray([bool(item) for item in value.get_values()], np.bool_)
        else:
            array = np.frombuffer(data, dtype)
        return (np.broadcast_to(array.reshape(()), shape) if array.size == 1 else array.reshape(shape)).copy()

    def _bytes(self, value: DenseResourceAttr) -> bytes:
        handle = value.resource_handle.data
        if handle not in self.spans:
            left_out = handle.endswith(_ELIDED)
            reason = "that its printer left out" if left_out else "of a resource that is not there"
            raise FrontendError(f"{self.file}: expected the elements of a constant of {value.type}, got one {reason}")
        begin, end, header = self.spans[handle]
        try:
            return bytes.fromhex(self.text[begin:end])[header:]
        except ValueError as error:
            raise FrontendError(f"{self.file}: expected two digits for each byte of a constant, got others") from error

    def _decoded(self, data: bytes, dtype: np.dtype[np.generic], shape: tuple[int, ...], size: int) -> Array:
        if dtype == np.bool_:
            # Elements are bits or bytes, and a splat is one byte; the number of bytes tells which.
            if len(data) == size:
                return np.frombuffer(data, np.uint8).astype(np.bool_).reshape(shape)
            bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
            if len(data) != -(-size // 8):
                self._fail(data, dtype, shape)
            return bits[:size].astype(np.bool_).reshape(shape)
        if len(data) == dtype.itemsize:
            return np.broadcast_to(np.frombuffer(data, dtype).reshape(()), shape).copy()
        if len(data) != size * dtype.itemsize:
            self._fail(data, dtype, shape)
        return np.frombuffer(data, dtype).reshape(shape)

    def _fail(self, data: bytes, dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> None:
        expected = f"the bytes of a constant of {dtype}{list(shape)}"
        raise FrontendError(f"{self.file}: expected {expected}, got {len(data)}")


def _short(text: str) -> str:
    return text if len(text) < 60 else f"{text[:60]}.."


def parse(text: str, file: str) -> Program:
    """Parse a program in the form that JAX prints or in generic form; raises FrontendError for other text."""
    spans: dict[str, tuple[int, int, int]] = {}
    # xDSL renames a handle that it has parsed before, even in another text.
    number = next(_texts)

    def stand_in(match: re.Match[str]) -> str:
        if match[2] is not None:
            return f"dense_resource<text_{number}_{match[2]}>"
        handle = f"text_{number}_at_{match.start()}"
        spans[handle] = (*match.span(1), 0)
        return f"dense_resource<{handle}>"

    short = _LARGE.sub(stand_in, text)
    if (at := short.rfind("{-#")) >= 0 and short.rstrip().endswith("#-}"):
        start = text.rfind("{-#")
        for match in _RESOURCE.finditer(text, start):
            # A blob begins with its alignment.
            spans[f"text_{number}_{match[1]}"] = (*match.span(2), 4)
        short = short[:at]
    context = Context(allow_unregistered=True)
    for dialect in (Builtin, func.Func, Stablehlo, Chlo, Sdy):
        context.load_dialect(dialect)
    try:
        module = LocatedParser(context, short, file).parse_module()
        module.verify()
    except ParseError as error:
        location = error.span.get_location()
        message = " ".join(error.msg.split())
        if _UNREGISTERED in message:
            name = short[: error.span.start].split()[-1]
            message = f"expected ops of stablehlo, chlo and func, or an op in generic form, got {name}"
        raise FrontendError(f"{file}:{location.line}:{location.col}: {message}") from error
    except VerifyException as error:
        raise FrontendError(f"{file}: {' '.join(str(error).split())}") from error
    return Program(file, module, text, spans)
