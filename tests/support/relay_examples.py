"""The examples in the docstrings of the relay passes, as modules: what the tests and the table of spans run."""

from __future__ import annotations

import re
from importlib import import_module
from inspect import cleandoc
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass

from whence.passes.classes import pass_class
from whence.passes.registry import PASSES, Row
from whence.passes.runner import pass_context

# Some examples are about its patterns.
import_module("whence.lowering.external.onnxruntime")

ROWS = tuple(row for row in PASSES if row.name.startswith("relay-"))
_BLOCK = re.compile(r"```mlir\n(.*?)// becomes\n(.*?)```", re.DOTALL)
_OP = re.compile(
    r"^\s*(?:(?P<results>%[\w, %]+?) = )?relay\.\S+ ?(?P<operands>[^{:]*).*? : \((?P<types>.*?)\) -> (?P<out>.*?) loc",
    re.M,
)
_CONSTANT = re.compile(r"^\s*(%\w+) = relay\.constant .*? : (tensor<[^<>]*>)")
_CONTINUED = re.compile(r"\n {6,}")
_VALUE = re.compile(r"%\w+")


class Example(NamedTuple):
    """What a pass is given, and what it makes of that, without the functions around lists of ops."""

    before: str
    after: str

    def modules(self) -> tuple[ModuleOp, ModuleOp]:
        """Both as modules; ops without a function around them in `@main`, which returns what the example does.

        Where that says nothing, `@main` returns what nobody reads.
        """
        if self.before.lstrip().startswith("relay.func"):
            return parse(self.before), parse(self.after)
        return parse(_in_main(self.before, self.before)), parse(_in_main(self.after, self.before))


def parse(text: str) -> ModuleOp:
    return Parser(pass_context(), text).parse_module()


def _split(types: str) -> list[str]:
    """Types between commas, not those in brackets."""
    return re.findall(r"\w+<[^<>]*>", types)


def _in_main(text: str, before: str) -> str:
    """`text` as the body of `@main`, which has arguments for all that it and `before` read but do not make."""
    arguments: dict[str, str] = {}
    for source in (before, text):
        made: dict[str, str] = {}
        read: dict[str, str] = {}
        for line in _CONTINUED.sub(" ", source).splitlines():
            if constant := _CONSTANT.match(line):
                made[constant[1]] = constant[2]
            elif found := _OP.match(line):
                operands = dict(zip(_VALUE.findall(found["operands"]), _split(found["types"]), strict=True))
                arguments |= {value: type_ for value, type_ in operands.items() if value not in made | arguments}
                read |= operands
                made |= dict(zip(_VALUE.findall(found["results"] or ""), _split(found["out"]), strict=True))
        known = arguments | made
        results = [value for value in made if value not in read]
        if returned := re.search(r"^\s*relay\.return (.*?) :", source, re.M):
            results = _VALUE.findall(returned[1])
    taken = ", ".join(f'{name}: {type_} loc("{name[1:]}")' for name, type_ in arguments.items())
    types = ", ".join(known[value] for value in results)
    body = re.sub(r"^\s*relay\.return.*$", "", text, flags=re.M)
    last = f'relay.return {", ".join(results)} : {types} loc("return")'
    return f'relay.func @main({taken}) -> ({types}) {{\n{body}\n{last}\n}} loc("main")'


def examples(row: Row) -> list[Example]:
    """All of a pass; raises AssertionError for a block that is no before and after."""
    text = cleandoc(pass_class(row).__doc__ or "")
    found = [Example(*pair) for pair in _BLOCK.findall(text)]
    assert len(found) == text.count("```mlir"), f"{row.name}: expected `// becomes` in each example"
    return found


def options_of(example: Example) -> dict[str, str]:
    """What a line `// with name=value` says."""
    return dict(re.findall(r"(\w+)=(\S+)", " ".join(re.findall(r"^\s*// with (.*)$", example.before, re.M))))


def pass_of(row: Row, example: Example) -> ModulePass:
    """The pass as an example has it."""
    given: dict[str, object] = {}
    for name, text in options_of(example).items():
        given[name] = (
            int(text) if re.fullmatch(r"-?\d+", text) else text == "true" if text in ("true", "false") else text
        )
    build = pass_class(row)
    return build(**given)
