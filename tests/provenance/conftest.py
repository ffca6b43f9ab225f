"""Modules from text, and what their ops are located at."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, cf, func, memref, scf
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser

from whence.dialects.relay import Relay


@pytest.fixture
def parse() -> Callable[[str], ModuleOp]:
    """Parses a module; the dialects relay, arith, scf, cf, func and memref are known."""

    def read(text: str) -> ModuleOp:
        context = Context()
        for dialect in (Builtin, Relay, arith.Arith, scf.Scf, cf.Cf, func.Func, memref.MemRef):
            context.load_dialect(dialect)
        module = Parser(context, text).parse_module()
        module.verify()
        return module

    return read
