"""Relay programs -> Relax text.

Each expression that is not written in line is bound to a name. A graph's expressions are bound in dataflow blocks; a
let is a binding outside of these, so that reading gives the same form back; a branch is an `if` that binds its result.
The comment `# loc(..)` behind a binding is the location of its expression.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import Any, TypeAlias, cast

from xdsl.ir import Attribute

from ...dialects.relay.call_tir import HoldsKernel, sizes_of_results
from ...dialects.relay.signature import Tensor
from ...dialects.relay.types import fields_of
from ...provenance.diagnostics import message
from ...support.errors import FrontendError
from ..relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Op,
    Program,
    Tuple,
    TupleGetItem,
    Var,
)
from ..relay.nodes import children, post_order
from ..relay.places import location_of
from ..relay.scopes import Scope, scopes_of
from ..relay.walks import driven, each
from .constants import ConstantTable
from .expansions import expanded
from .operators import by_relay
from .rows import Row, Shape
from .spelling import NEWEST, Spelling
from .types import spelled, symbols_in, tuple_text

Walk: TypeAlias = "Generator[Expr, str, str]"
KernelOf: TypeAlias = "Callable[[Call, str], str | None]"
"""Makes the text of a kernel of a name for a call, or says that there is none."""
_WORD = re.compile(r"[^\W\d]\w*")
_OMITTED = "# Metadata omitted. Use show_meta=True in script() method to show it."
_OWN_WORDS = {"R", "T", "I", "cls", "Module", "metadata", "tvm"}
_POSITIONAL = {"clip": ("min", "max"), "one_hot": ("on_value", "off_value"), "arange": ("start", "end", "step")}
"""Numbers that are expressions in Relax."""


@dataclass
class _Item:
    """Statements of one binding. One of a graph stands in a dataflow block."""

    name: str
    lines: Sequence[str]
    is_graph: bool

    def words(self) -> set[str]:
        return {word for line in self.lines for word in _WORD.findall(line)}


@dataclass
class _Names:
    """The names of a module or a function: each once, and none that Python or Relax has."""

    taken: set[str] = field(default_factory=lambda: set(_OWN_WORDS))

    def unique(self, hint: str) -> str:
        base = re.sub(r"\W", "_", hint) or "v"
        if base[0].isdigit() or iskeyword(base):
            base = f"v{base}"
        name, count = base, 0
        while name in self.taken:
            count += 1
            name = f"{base}_{count}"
        self.taken.add(name)
        return name

    def numbered(self, prefix: str) -> str:
        """Return `lv`, `lv1`, .."""
        count = 0
        while (name := f"{prefix}{count or ''}") in self.taken:
            count += 1
        self.taken.add(name)
        return name


def module_text(
    program: Program,
    kernels: Sequence[str],
    spelling: Spelling = NEWEST,
    show_meta: bool = True,
    kernel_of: KernelOf | None = None,
) -> str:
    """Return a program as an `ir_module` of Relax, with kernels as TVMScript among its functions.

    kernel_of: returns the kernel of a call that Relax has no operator for, as text. show_meta: print the tensors
    that the text names, too. Raises FrontendError, with layer, for what Relax cannot say.
    """
    if program.types:
        raise FrontendError(f"Relax: expected functions of tensors, got the data type {next(iter(program.types))}")
    constants, names = ConstantTable(spelling.constants), _Names()
    functions = {name: names.unique(name) for name in program.functions}
    names.taken.update(program.kernels)
    own = _OwnKernels(kernel_of, names)
    symbols: dict[str, None] = {}
    parts = [_indented([line for line in text.splitlines() if not line.startswith("# from ")]) for text in kernels]
    for name, function in program.functions.items():
        printer = _FunctionPrinter(functions, program.kernels, constants, spelling, own)
        parts.append(_indented(printer.definition(functions[name], function)))
        symbols.update(dict.fromkeys(printer.symbols))
    parts = [*(_indented(text) for text in own.texts), *parts]
    head = ["# from tvm.script import ir as I", "# from tvm.script import relax as R"]
    if kernels or own.texts or any("T." in line for part in parts for line in part):
        head.append(f"# from tvm.script import {'tirx' if spelling.types else 'tir'} as T")
    if spelling.types and symbols:
        head = ["# from typing import TypeVar", *head, "", *(f'{name} = TypeVar("{name}")' for name in symbols)]
    body = [line for part in parts for line in ("", *part)][1:] or ["    pass"]
    section = constants.section() if show_meta or not constants.tensors else _OMITTED
    return "\n".join([*([section] if section else []), *head, "", "@I.ir_module", "class Module:", *body]) + "\n"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]


@dataclass
class _OwnKernels:
    """The kernels of operators that Relax does not have."""

    kernel_of: KernelOf | None
    names: _Names
    texts: list[Sequence[str]] = field(default_factory=list[Sequence[str]])

    def name_for(self, call: Call) -> str | None:
        """Return the name of a call's kernel; None without one."""
        if self.kernel_of is None:
            return None
        name = self.names.unique(cast(Op, call.op).name.replace(".", "_"))
        text = self.kernel_of(call, name)
        if text is not None:
            self.texts.append([line for line in text.splitlines() if not line.startswith("# from ")])
        return name if text is not None else None


class _FunctionPrinter:
    """The text of one function, and of the functions inside of it."""

    def __init__(
        self,
        functions: Mapping[str, str],
        kernels: Mapping[str, HoldsKernel],
        constants: ConstantTable,
        spelling: Spelling,
        own: _OwnKernels,
    ) -> None:
        self.symbols: dict[str, None] = {}
        self._own_kernels = own
        self._functions = functions
        self._kernels = kernels
        self._constants = constants
        self._spelling = spelling
        self._names = _Names({*_OWN_WORDS, *functions.values()})
        self._memo: dict[Expr, str] = {}
        self._uses: Counter[Expr] = Counter()
        self._inside: dict[Expr, Scope] = {}
        self._opened: dict[tuple[Expr, int], Scope] = {}
        self._hints: dict[Expr, str | None] = {}
        self._items: dict[Scope, list[_Item]] = {}

    def definition(self, name: str, function: Function) -> list[str]:
        """Return the lines of a function of the module."""
        for node in post_order(function):
            self._uses.update(children(node))
            self._names.taken.update(symbols_in(node.type) if node.type is not None else ())
        self._inside, self._opened = scopes_of(function)
        lines: list[list[str]] = []

        def visit(node: Expr) -> Walk:
            if node is function:
                return self._whole(function, name, lines)
            return self._visit(node)

        driven(function, visit, self._known)
        return lines[0]

    def _whole(self, function: Function, name: str, lines: list[list[str]]) -> Walk:
        own = yield from self._function(function, name, is_inner=False)
        lines.append(own)
        return name

    def _function(self, function: Function, name: str, is_inner: bool) -> Generator[Expr, str, list[str]]:
        if function.type_params:
            raise FrontendError(f"Relax: expected functions without type variables, got @{name}")
        params: list[str] = []
        notes: list[str] = []
        for param in function.params:
            text = self._memo[param] = self._names.unique(param.name_hint)
            params.append(f"{text}: {self._type(param, signature=True)}")
            if (location := _location(param)) and not is_inner:
                notes.append(f"# {text}: {location}")
        scope = self._opened[function, 0]
        result = yield function.body
        body = self._rendered(scope, [result])
        attributes = self._attributes(function, [self._memo[param] for param in function.params])
        returned = self._type(function.body, signature=True)
        head = [
            "@R.function",
            f"def {name}({', '.join(params)}) -> {returned}:",
        ]
        declared = self._declared() if not is_inner else []
        uses_module = any("cls." in line for line in body) and not is_inner
        inner = [*declared, *attributes, *(["cls = Module"] if uses_module else []), *notes, *body, f"return {result}"]
        return [*head, *_indented(inner)]

    def _declared(self) -> list[str]:
        return [] if self._spelling.types else [f"{name} = T.int64()" for name in self.symbols]

    def _attributes(self, function: Function, params: Sequence[str]) -> list[str]:
        notes: dict[str, Any] = dict(function.attrs)
        for key, value in notes.items():
            if not all(isinstance(part, str | int | float) for part in _parts(value)):
                raise FrontendError(f"Relax: expected numbers and texts as attributes, got {key} = {value!r}")
            notes[key] = _attribute(value)
        hints = [param.name_hint for param in function.params]
        if hints != list(params):
            notes["input_names"] = hints
        if function.output_names:
            notes["output_names"] = list(function.output_names)
        if not notes:
            return []
        text = ", ".join(f'"{key}": {self._spelling.value("", value)}' for key, value in notes.items())
        return [f"R.func_attr({{{text}}})"]

    # Scopes

    def _scope(self, node: Expr) -> list[_Item]:
        return self._items.setdefault(self._inside[node], [])

    def _rendered(self, scope: Scope, results: Sequence[str]) -> list[str]:
        """Return the lines of a scope, with dataflow blocks around its graphs' bindings."""
        items = self._items.pop(scope, [])
        after: list[set[str]] = [set(_WORD.findall(" ".join(results)))]
        for item in reversed(items):
            after.append(after[-1] | item.words())
        lines: list[str] = []
        block: list[_Item] = []
        for index, item in enumerate(items):
            if not item.is_graph:
                lines += item.lines
                continue
            block.append(item)
            if index + 1 == len(items) or not items[index + 1].is_graph:
                read = after[len(items) - index - 1]
                outputs = [inner.name for inner in block if inner.name in read]
                inside = [line for inner in block for line in inner.lines]
                lines += ["with R.dataflow():", *_indented([*inside, f"R.output({', '.join(outputs)})"])]
                block = []
        return lines

    def _bind(self, node: Expr, text: str) -> str:
        name = self._memo[node] = self._names.numbered("lv")
        line = f"{name}: {self._type(node)} = {text}{self._comment(node)}"
        self._scope(node).append(_Item(name, [line], True))
        return name

    def _type(self, node: Expr, signature: bool = False) -> str:
        text = self._text_of(node.inferred, node)
        return self._spelling.signature(text, symbols_in(node.inferred)) if signature else text

    def _text_of(self, type_: Attribute, node: Expr) -> str:
        self.symbols.update(dict.fromkeys(symbols_in(type_)))
        try:
            return spelled(type_)
        except FrontendError as error:
            at = location_of(getattr(node, "span", None))
            raise FrontendError(message("Relax", "tensors, tuples and functions", str(error), at)) from error

    # Expressions

    def _comment(self, node: Expr) -> str:
        location = _location(node)
        return (self._hints.get(node) or "") + (f"  # {location}" if location else "")

    def _known(self, node: Expr) -> str | None:
        if (text := self._memo.get(node)) is not None:
            return text
        match node:
            case Constant():
                return self._constants.text(node.data)
            case GlobalVar():
                return f"cls.{self._functions.get(node.name_hint, node.name_hint)}"
            case Var():
                raise FrontendError(f"Relax: expected variables that something binds, got %{node.name_hint}")
            case _:
                return None

    def _visit(self, node: Expr) -> Walk:
        match node:
            case Let():
                return (yield from self._let(node))
            case If():
                return (yield from self._branch(node))
            case Function():
                name = self._names.numbered("fn")
                return (yield from self._inner(node, name, node))
            case Tuple() if self._uses[node] <= 1:
                return (yield from self._own(node))
            case _:
                return self._bind(node, (yield from self._own(node)))

    def _own(self, node: Expr) -> Walk:
        """Return the text of what a binding binds."""
        match node:
            case Call(op=Op()):
                return (yield from self._operator(node))
            case Call():
                args = yield from each(node.args)
                return f"{(yield node.op)}({', '.join(args)})"
            case Tuple():
                return tuple_text((yield from each(node.fields)))
            case TupleGetItem():
                return f"{(yield node.tuple_value)}[{node.index}]"
            case _:
                kind = type(node).__name__
                expected = "operators, calls, tuples, lets and branches"
                raise FrontendError(message("Relax", expected, kind, location_of(getattr(node, "span", None))))

    def _operator(self, call: Call) -> Walk:
        op = cast(Op, call.op)
        for row in by_relay().get(op.name, ()):
            if (values := row.arguments(call)) is not None:
                return (yield from self._row(row, values))
        if (special := _SPECIAL.get(op.name)) is not None:
            return (yield from special(self, call))
        if (other := expanded(call)) is None:
            if (name := self._own_kernels.name_for(call)) is not None:
                text = yield from self.kernel_call(call, name)
                self._hints[call] = yield from self._hint(call)
                return text
            expected = "an operator that Relax has with these attributes"
            raise FrontendError(message(f"Relax: {op.name}", expected, "none", location_of(call.span)))
        for node in post_order(other, call.args):
            self._uses.update(children(node))
            self._inside[node] = self._inside[call]
        text = yield from self._own(other)
        self._hints[call] = self._hints.pop(other, None) or (yield from self._hint(call))
        return text

    def _hint(self, call: Call) -> Walk:
        """Return the call of relay that other operators stand for, as a comment."""
        op = cast(Op, call.op).name
        args = yield from each(call.args)
        attrs = [f"{key}={self._spelling.value('', _attribute(value))}" for key, value in call.attrs.items()]
        return f"  # relay.{op}({', '.join([*args, *attrs])})"

    def _row(self, row: Row, values: Mapping[str, Any]) -> Walk:
        texts: list[str] = []
        numbers = _POSITIONAL.get(row.name, ())
        for parameter in row.parameters:
            value = values[parameter.name]
            if isinstance(value, Expr):
                texts.append((yield value))
            elif parameter.many and isinstance(value, list):
                texts.append(tuple_text((yield from each(cast("list[Expr]", value)))))
            elif parameter.name in numbers:
                texts.append(self._spelling.number(value))
            elif parameter.key and parameter.form not in ("shape", "tuple"):
                texts.append(f"{parameter.name}={self._spelling.value(parameter.name, value)}")
            elif parameter.key or not parameter.required:
                if value is not None:
                    texts.append(self._spelling.value(parameter.name, value))
        return f"R.{row.name}({', '.join(texts)})"

    def kernel_call(self, call: Call, name: str) -> Walk:
        """Return the call of a kernel of the module."""
        args = tuple_text((yield from each(_tensors(call))))
        result = self._stated(call)
        indices = call.attrs.get("inplace_indices") or ()
        inplace = f", inplace_indices={list(indices)}" if indices else ""
        word = "call_tir_inplace" if indices else "call_tir"
        return f"R.{word}(cls.{name}, {args}{inplace}, {self._spelling.out_type}={result}{self._sizes(call)})"

    def _sizes(self, call: Call) -> str:
        """Return the sizes of a kernel that are given to its call, where the types of results do not tell them."""
        if not (given := call.attrs.get("tir_vars")):
            return ""
        operands = [cast("Tensor", tensor.inferred) for tensor in _tensors(call)]
        results = cast("Sequence[Tensor]", fields_of(call.inferred) or (call.inferred,))
        told = sizes_of_results(self._kernels[str(call.attrs["callee"])].op, operands, results)
        if told is not None and not call.attrs.get("inplace_indices"):
            return ""
        return f", tir_vars={self._spelling.value('tir_vars', Shape(given))}"

    def packed_call(self, call: Call) -> Walk:
        """Return the call of a registered function."""
        args = tuple_text((yield from each(_tensors(call))))
        name = self._spelling.value("", str(call.attrs["callee"]))
        return f"R.call_dps_packed({name}, {args}, {self._spelling.out_type}={self._stated(call)})"

    def _stated(self, call: Call) -> str:
        """Return the types of the results of a call that states them."""
        fields = fields_of(call.inferred)
        texts = [self._text_of(part, call) for part in ([call.inferred] if fields is None else fields)]
        return texts[0] if fields is None else f"[{', '.join(texts)}]"

    def match_cast(self, call: Call) -> Walk:
        """Return the binding of sizes by a value."""
        return f"R.match_cast({(yield call.args[0])}, {self._type(call)})"

    def _let(self, let: Let) -> Walk:
        name = self._memo[let.var] = self._names.unique(let.var.name_hint)
        value = let.value
        if isinstance(value, Function):
            yield from self._inner(value, name, let)
        else:
            in_line = isinstance(value, Call | Tuple | TupleGetItem) and self._uses[value] <= 1
            text = (yield from self._own(value)) if in_line else (yield value)
            line = f"{name}: {self._type(let.var)} = {text}{self._comment(value if in_line else let)}"
            self._scope(let).append(_Item(name, [line], False))
        return (yield let.body)

    def _inner(self, function: Function, name: str, at: Expr) -> Walk:
        self._memo[function] = name
        lines = yield from self._function(function, name, is_inner=True)
        self._scope(at).append(_Item(name, lines, False))
        return name

    def _branch(self, node: If) -> Walk:
        condition = yield node.cond
        name = self._names.numbered("gv")
        type_ = self._type(node)
        lines = [f"if {condition}:{self._comment(node)}"]
        for index, branch in enumerate((node.true_branch, node.false_branch)):
            result = yield branch
            scope = self._opened[node, index]
            lines += _indented([*self._rendered(scope, [result]), f"{name}: {type_} = {result}"])
            if index == 0:
                lines.append("else:")
        self._memo[node] = name
        self._scope(node).append(_Item(name, lines, False))
        return name


def _tensors(call: Call) -> list[Expr]:
    """Return the tensors that a call reads, those of tuples one by one."""
    tensors: list[Expr] = []
    for arg in call.args:
        tensors += arg.fields if isinstance(arg, Tuple) else [arg]
    return tensors


def _written_kernel_call(printer: _FunctionPrinter, call: Call) -> Walk:
    return printer.kernel_call(call, str(call.attrs["callee"]))


_SPECIAL: Mapping[str, Callable[[_FunctionPrinter, Call], Walk]] = {
    "call_tir": _written_kernel_call,
    "call_dps_packed": _FunctionPrinter.packed_call,
    "match_cast": _FunctionPrinter.match_cast,
}
"""Operators that Relax writes in a way of their own."""


def _parts(value: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", value) if isinstance(value, list | tuple) else [value]


def _attribute(value: Any) -> Any:
    """Return an attribute of relay as a value of Python's syntax."""
    return list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value


def _location(node: Expr) -> str:
    span = getattr(node, "span", None)
    return "" if span is None else str(location_of(span)).replace("\n", "\\n")
