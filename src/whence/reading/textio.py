"""Modules as text: `out.mlir`, and beside it the weights in `out.params`; or `out.relay`, Relay text.

The module names their file: `builtin.module attributes {relay.params = #relay.pool<"out.params">}`.
"""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException

from whence.dialects.element_types import tensor_type
from whence.dialects.located_parser import LocatedParser
from whence.dialects.relay.constants import has_pool, pool_of
from whence.dialects.relay.core import ConstantOp
from whence.provenance.diagnostics import message
from whence.runtime.values.params import load_params, write_params
from whence.support.dtypes import Array
from whence.support.errors import FrontendError, PipelineError
from whence.support.files import replacing


def context() -> Context:
    """Return a context with the dialects of every installed universe; raises PipelineError for a broken one."""
    from whence.universe import multiverse

    ctx = Context()
    for name, factory in multiverse().all_dialects.items():
        ctx.register_dialect(name, factory)
    return ctx


MODULES = (".mlir", ".relay")
"""The files that hold a module as text."""


def read_module(path: Path) -> ModuleOp:
    """Read the module of an .mlir or .relay file, with its weights if they are beside it.

    Raises FrontendError when the file is no valid module, or its weights do not fit it.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FrontendError(f"{path}: expected a readable {path.suffix} file, got: {error.strerror}") from error
    text = decoded(data, str(path))
    if path.suffix == ".relay":
        return relay_module(text, path)
    try:
        module = LocatedParser(context(), text, str(path)).parse_module()
        module.verify()
    except ParseError as error:
        raise FrontendError(one_line(error)) from error
    except VerifyException as error:
        raise FrontendError(f"{path}: {error}") from error
    attach_params(module, path.parent)
    return module


def decoded(data: bytes, name: str) -> str:
    """Return the text of a file called `name`; raises FrontendError for a file that is not text."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise FrontendError(f"{name}: expected a text file in UTF-8, got other bytes at {error.start}") from error


def relay_module(text: str, path: Path) -> ModuleOp:
    """Return the module of the Relay text in `path`.

    The parameters of @main that a .params file beside it names have their values from there.
    """
    from whence.syntax.relay.bind import bind_params
    from whence.syntax.relay.elaborate import elaborate
    from whence.syntax.text import parse

    program = parse(text, path.name)
    weights = path.with_suffix(".params")
    if weights.is_file() and (main := program.functions.get("main")) is not None:
        program.functions["main"] = bind_params(main, load_params(weights))
    return elaborate(program)


def one_line(error: ParseError) -> str:
    """`file:line:column: what is wrong`."""
    location = error.span.get_location()
    return f"{location.file}:{location.line}:{location.col}: {' '.join(error.msg.split())}"


def attach_params(module: ModuleOp, folder: Path) -> None:
    """Fill the pool of a parsed module from the params file that it names, if any.

    Raises FrontendError for another file, and for a tensor that does not fit its constant.
    """
    if not has_pool(module):
        return
    pool = pool_of(module)
    if pool.path is None or not (folder / pool.path).is_file():
        return
    if not (folder / pool.path).resolve().is_relative_to(folder.resolve()):
        raise FrontendError(f"{folder / pool.path}: expected weights in the folder of the module, got another place")
    arrays = load_params(folder / pool.path)
    for op in _pooled(module):
        assert op.key is not None
        array = arrays.get(op.key.data)
        if array is None or op.key.data in pool:
            continue
        if tensor_type(array) != op.result.type:
            actual = f"{tensor_type(array)} in {folder / pool.path}"
            raise FrontendError(message(f"constant '{op.key.data}'", str(op.result.type), actual, op.location))
        pool.add(op.key.data, array)


def write_module(module: ModuleOp, path: Path) -> None:
    """Write `path` with locations, and its weights beside it as `.params`, each file whole or not at all.

    Raises PipelineError when they cannot be written.
    """
    name_weights(module, path)
    text = StringIO()
    Printer(text, print_debuginfo=True).print_op(module)
    write_files([module], f"{text.getvalue()}\n", path)


def name_weights(module: ModuleOp, path: Path) -> None:
    """Have a module that is about to be printed into `path` name the params file beside it, if it needs one."""
    if _pooled(module):
        pool_of(module).path = _beside(path)


def write_files(modules: Iterable[ModuleOp], text: str, path: Path) -> None:
    """Write the text of modules to `path`, and first their weights beside it; no params file when there are none.

    Constants whose values are not at hand stay without. Raises PipelineError when two weights have one name, or a file
    cannot be written.
    """
    together: dict[str, Array] = {}
    for module in modules:
        pool = pool_of(module)
        for op in _pooled(module):
            assert op.key is not None
            key = op.key.data
            if key not in pool:
                continue
            if together.setdefault(key, pool[key]) is not pool[key]:
                raise PipelineError(f"{path}: expected weights of distinct names, got two called '{key}'")
    if together:
        with replacing(path.with_name(_beside(path).name)) as stream:
            write_params(together, stream)
    with replacing(path) as stream:
        stream.write(text.encode())


def _beside(path: Path) -> Path:
    return Path(path.with_suffix(".params").name)


def _pooled(module: ModuleOp) -> list[ConstantOp]:
    """The constants that live in the pool."""
    return [op for op in module.walk() if isinstance(op, ConstantOp) and op.key is not None]
