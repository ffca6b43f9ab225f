"""A pytest plugin under which test files of a TVM checkout run on Whence, whatever names Whence lacks.

A name of `tvm` that a file needs in order to be loaded, and that is missing, gets a placeholder: it can be called,
indexed and used as a decorator while the file loads, and raises NotImplementedError in a test. So a file that needs one
missing name loses the tests that use it, and no others.

Options: `--results FILE` has a line of JSON for each test, `--seconds N` limits each.
"""

from __future__ import annotations

import ast
import json
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from functools import wraps
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from whence.support.errors import WhenceError
from whence.testing import as_tvm

_running = False


class Missing:
    """A name of TVM's that is not here."""

    def __init__(self, name: str):
        self._name = name

    def _used(self, *args: Any, **kwargs: Any) -> Any:
        del args, kwargs
        if _running:
            raise NotImplementedError(f"{self._name} is missing")
        return self

    __call__ = __getitem__ = __add__ = __radd__ = __or__ = __mul__ = __sub__ = __enter__ = _used

    def __exit__(self, *error: object) -> None:
        self._used()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("pytestmark", "pytest_plugins", "_pytestfixturefunction"):
            raise AttributeError(name)
        return self._used()

    def __eq__(self, other: object) -> bool:
        self._used()
        return self is other

    __hash__ = object.__hash__

    def __iter__(self) -> Iterator[Any]:
        self._used()
        return iter(())

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (object,)


class MissingModule(ModuleType):
    """A module of TVM's that is not here."""

    def __init__(self, name: str):
        super().__init__(name)
        self.__path__ = []
        self.__spec__ = ModuleSpec(name, None, is_package=True)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(f"{self.__name__}.{name}")


def _module(name: str) -> ModuleType:
    """Import a module, or put a placeholder in its place."""
    try:
        return import_module(name)
    except ImportError:
        module = sys.modules[name] = MissingModule(name)
        parent, _, last = name.rpartition(".")
        setattr(_module(parent), last, module)
        return module


def _named(module: ModuleType, name: str) -> Any:
    """A name of a module: its attribute, a module below it, or a placeholder, which it gets."""
    try:
        return getattr(module, name)
    except AttributeError:
        pass
    try:
        return import_module(f"{module.__name__}.{name}")
    except ImportError:
        value = Missing(f"{module.__name__}.{name}")
        setattr(module, name, value)
        return value


def _lenient(reader: Callable[..., Any]) -> Callable[..., Any]:
    """A reader of functions that gives a placeholder for one that is refused while a file loads."""

    @wraps(reader)
    def read(*args: Any, **kwargs: Any) -> Any:
        try:
            return reader(*args, **kwargs)
        except WhenceError as error:
            if _running:
                raise
            return Missing(f"a function that is refused: {str(error).splitlines()[0]}")

    return read


def place(source: str) -> None:
    """Put placeholders for the names of tvm that the text of a file needs, and that are missing."""
    known: dict[str, Any] = {}
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    if alias.name.split(".")[0] == "tvm":
                        module = _module(alias.name)
                        known[alias.asname or "tvm"] = module if alias.asname else sys.modules["tvm"]
            case ast.ImportFrom(module=str() as home, names=names, level=0) if home.split(".")[0] == "tvm":
                for alias in names:
                    if alias.name != "*":
                        known[alias.asname or alias.name] = _named(_module(home), alias.name)
            case _:
                pass
    for module in {id(module): module for module in (*known.values(), _module("tvm.script"))}.values():
        for name in ("prim_func", "ir_module"):
            if isinstance(module, ModuleType) and callable(reader := getattr(module, name, None)):
                vars(module)[name] = _lenient(reader)
    intrinsics = import_module("tvm.tir").TensorIntrin
    intrinsics.register = staticmethod(_lenient(intrinsics.register))
    for chain in _loaded(tree):
        value = known.get(chain[0])
        for name in chain[1:]:
            if not isinstance(value, ModuleType):
                break
            value = _named(value, name)


def _loaded(tree: ast.Module) -> Iterator[list[str]]:
    """The chains of names that are read when a file is loaded: those outside the bodies of functions."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            defaults = [default for default in node.args.kw_defaults if default is not None]
            annotations = [arg.annotation for arg in node.args.args if arg.annotation is not None]
            result = [node.returns] if node.returns is not None else []
            waiting += [*node.decorator_list, *node.args.defaults, *defaults, *annotations, *result]
            continue
        if isinstance(node, ast.Attribute) and (chain := _chain(node)):
            yield chain
        waiting += ast.iter_child_nodes(node)


def _chain(node: ast.expr) -> list[str]:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) else []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--results", required=True)
    parser.addoption("--seconds", type=int, default=60)


def pytest_configure(config: pytest.Config) -> None:
    as_tvm()
    import_module("tvm")
    for argument in config.args:
        path = Path(argument)
        source = path.read_text()
        beside = (*path.parent.glob("*.py"), *path.parent.glob("utils/*.py"))
        for text in (source, *(file.read_text() for file in beside if file != path and file.stem in source)):
            place(text)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    global _running

    def expire(number: int, frame: object) -> None:
        del number, frame
        raise TimeoutError("the test took too long")

    signal.signal(signal.SIGALRM, expire)
    signal.alarm(int(str(item.config.getoption("--seconds"))))
    _running = True
    try:
        return (yield)
    finally:
        _running = False
        signal.alarm(0)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call" or report.outcome != "passed":
        line = {"id": report.nodeid, "outcome": report.outcome, "error": _reason(report)}
        with Path(_results).open("a") as file:
            file.write(json.dumps(line) + "\n")


_results = ""


def pytest_sessionstart(session: pytest.Session) -> None:
    global _results
    _results = str(session.config.getoption("--results"))


def _reason(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(getattr(crash, "message", ""))[:300]
