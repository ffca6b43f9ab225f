"""A program written for TVM, read without running it: the names and arguments that Whence lacks.

Names are followed from the imports of `tvm`, and through variables that hold an object of a known class.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any, get_type_hints

from whence.reading.tvm_modules import home
from whence.support.errors import FrontendError, expectation
from whence.support.names import did_you_mean, shown

_TAKE_TARGETS = ("Target", "build", "device", "create_executor", "compile", "optimize")
_OTHER_MACHINES = frozenset("cuda opencl metal vulkan rocm webgpu hexagon nvptx c ext_dev sdaccel aocl".split())


@dataclass(frozen=True)
class Finding:
    """A name, an argument or a target of a script that Whence lacks."""

    file: str
    line: int
    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.name}: {self.reason}"


@dataclass(frozen=True)
class Report:
    """The names of TVM in a script, and what is missing of them."""

    file: str
    names: int
    """Different names that were looked up."""
    findings: tuple[Finding, ...]

    def __str__(self) -> str:
        missing = len({finding.name for finding in self.findings})
        return "\n".join([*map(str, self.findings), f"{self.file}: {self.names} names of tvm, {missing} missing"])


class _Missing(Exception):
    """A name that is not there, with the words that say so."""


@dataclass(frozen=True)
class _Known:
    """An object of ours that stands for a name of TVM's."""

    name: str
    value: Any
    is_instance: bool = False
    """True where `value` is the class of the object."""


def check_script(path: Path) -> Report:
    """Read a script. Raises FrontendError for a file that cannot be read or is no Python."""
    try:
        tree = ast.parse(path.read_text("utf-8"), str(path))
    except (OSError, UnicodeDecodeError, SyntaxError, ValueError) as error:
        raise FrontendError(expectation(shown(str(path)), "a Python script", str(error))) from error
    reader = _Reader(str(path))
    reader.visit(tree)
    findings = sorted(dict.fromkeys(reader.findings), key=lambda finding: (finding.line, finding.name))
    return Report(str(path), len(reader.seen), tuple(findings))


@dataclass
class _Reader(ast.NodeVisitor):
    """Follows the names of a script, in the order of the text."""

    file: str
    findings: list[Finding] = field(default_factory=list[Finding])
    seen: set[str] = field(default_factory=set[str])
    scopes: list[dict[str, _Known | None]] = field(default_factory=lambda: [{}])
    """Names -> what they stand for; None for what is not known."""

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if home(alias.name) is not None:
                known = self._looked_up(alias.name, node)
                root = known if alias.asname else self._looked_up("tvm", node)
                self.scopes[-1][alias.asname or "tvm"] = root

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or node.module is None or home(node.module) is None:
            return
        for alias in node.names:
            name = node.module if alias.name == "*" else f"{node.module}.{alias.name}"
            known = self._looked_up(name, node)
            if alias.name != "*":
                self.scopes[-1][alias.asname or alias.name] = known

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
        for part in (*getattr(node, "decorator_list", ()), *arguments.defaults, *filter(None, arguments.kw_defaults)):
            self.visit(part)
        self.scopes.append({argument.arg: None for argument in every})
        for part in node.body if isinstance(node.body, list) else [node.body]:
            self.visit(part)
        self.scopes.pop()

    visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self._bind(target, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self._bind(node.target, node.value)

    def visit_With(self, node: ast.With) -> None:
        for item in node.items:
            self.visit(item.context_expr)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, None)
        for part in node.body:
            self.visit(part)

    def visit_For(self, node: ast.For) -> None:
        self.visit(node.iter)
        self._bind(node.target, None)
        for part in (*node.body, *node.orelse):
            self.visit(part)

    def _bind(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            known = self._value(value) if value is not None else None
            self.scopes[-1][target.id] = known
        elif isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._bind(part, None)
        else:
            self.visit(target)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._value(node)

    def visit_Call(self, node: ast.Call) -> None:
        self._value(node)

    def _value(self, node: ast.expr) -> _Known | None:
        """Return what an expression stands for, if that is known; note what is missing on the way."""
        match node:
            case ast.Name(id=name):
                return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)
            case ast.Attribute(value=inner, attr=attr):
                owner = self._value(inner)
                return None if owner is None else self._attribute(owner, attr, node)
            case ast.Call():
                return self._call(node)
            case _:
                self.generic_visit(node)
                return None

    def _attribute(self, owner: _Known, attr: str, node: ast.expr) -> _Known | None:
        name = f"{owner.name}.{attr}"
        if isinstance(owner.value, ModuleType):
            return self._looked_up(name, node)
        self.seen.add(name)
        if owner.is_instance:
            if not _has(owner.value, attr):
                self._miss(node, name, f"missing{did_you_mean(attr, _members(owner.value))}")
                return None
            member = inspect.getattr_static(owner.value, attr, None)
            return _Known(name, member) if inspect.isfunction(member) else None
        if not hasattr(owner.value, attr):
            self._miss(node, name, f"missing{did_you_mean(attr, dir(owner.value))}")
            return None
        return _Known(name, getattr(owner.value, attr))

    def _call(self, node: ast.Call) -> _Known | None:
        called = self._value(node.func)
        for part in (*node.args, *(keyword.value for keyword in node.keywords)):
            self.visit(part)
        if called is None or called.is_instance or not callable(called.value):
            return None
        self._check_arguments(called, node)
        maker = called.value
        if isinstance(called.value, type):
            # A class whose own class says what a call of it returns makes objects of another.
            maker = vars(type(called.value)).get("__call__") if type(called.value) is not type else None
            if maker is None or type(called.value).__module__.split(".")[0] != "whence":
                return _Known(called.value.__name__, called.value, True)
        try:
            result = get_type_hints(maker).get("return")
        except Exception:  # Hints of types that are only there for checkers.
            return None
        if not isinstance(result, type) or not result.__module__.startswith("whence."):
            return None
        return _Known(result.__name__, result, True)

    def _check_arguments(self, called: _Known, node: ast.Call) -> None:
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            if called.name.rpartition(".")[2] in _TAKE_TARGETS and isinstance(argument, ast.Constant):
                kind = argument.value.split()[:1] if isinstance(argument.value, str) else []
                if kind and kind[0] in _OTHER_MACHINES:
                    self._miss(argument, f"{called.name}({argument.value!r})", "the CPU is the only device: llvm")
        try:
            parameters = inspect.signature(called.value).parameters
        except (TypeError, ValueError):
            return
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            return
        for keyword in node.keywords:
            if keyword.arg is not None and keyword.arg not in parameters:
                near = did_you_mean(keyword.arg, parameters)
                self._miss(node, f"{called.name}({keyword.arg}=)", f"no such argument{near}")

    def _looked_up(self, name: str, node: ast.AST) -> _Known | None:
        self.seen.add(name)
        try:
            return _Known(name, _resolved(name))
        except _Missing as error:
            self._miss(node, name, str(error))
            return None

    def _miss(self, node: ast.AST, name: str, reason: str) -> None:
        self.findings.append(Finding(self.file, getattr(node, "lineno", 0), name, reason))


def _resolved(name: str) -> Any:
    """Return our object of a name of TVM's; raises `_Missing` with the reason and the nearest names."""
    parts = name.split(".")
    value: Any = _module("tvm")
    for index, part in enumerate(parts[1:], 2):
        path = ".".join(parts[:index])
        try:
            value = getattr(value, part)
        except AttributeError as error:
            module = _module(path) if isinstance(value, ModuleType) else None
            if module is None:
                _, _, reason = str(error).partition(f"'{part}': ")
                near = did_you_mean(part, _names(value))
                words = reason or "missing"
                raise _Missing(f"{words}{near}" if path == name else f"{path} is {words}{near}") from None
            value = module
    return value


def _module(name: str) -> ModuleType | None:
    ours = home(name)
    assert ours is not None
    try:
        return import_module(ours)
    except ImportError:
        return None


def _names(value: Any) -> Sequence[str]:
    return [name for name in dir(value) if not name.startswith("_")]


def _has(cls: type, attr: str) -> bool:
    """Return whether objects of a class have an attribute, as far as its text tells."""
    return any("__getattr__" in vars(base) for base in cls.__mro__) or hasattr(cls, attr) or attr in _members(cls)


def _members(cls: type) -> list[str]:
    """The names of a class, of its fields, and of what its methods set on `self`."""
    names = dict.fromkeys(_names(cls))
    for base in cls.__mro__:
        names |= dict.fromkeys(vars(base).get("__annotations__", {}))
        names |= dict.fromkeys(_set_on_self(base))
    return list(names)


def _set_on_self(cls: type) -> Iterator[str]:
    try:
        tree = ast.parse(dedent(inspect.getsource(cls)))
    except (OSError, TypeError, SyntaxError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=attr, ctx=ast.Store()):
                yield attr
            case _:
                pass
