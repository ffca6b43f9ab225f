"""The llvm dialect as LLVM IR text, with the lines of the ops as debug info."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...provenance.diagnostics import fail
from .floats import is_soft
from .instructions import CONSTANTS, INSTRUCTIONS, operand_text
from .metadata import DebugInfo, Metadata
from .target import Target
from .text import Soft, constant_text, parameters_text, string_text, symbol_text, type_text


def emit_module(
    module: ModuleOp,
    *,
    lines: Mapping[Operation, int] | None = None,
    source: str = "",
    target: Target | None = None,
) -> str:
    """The LLVM IR text of a module of llvm and llvm_ext ops.

    With `lines`, every instruction gets the line of its op in the file `source`, or else that of its function.
    Raises VerifyException for an op without a spelling.
    """
    return _Emitter(lines, source, target).module(module)


class _Emitter:
    """Writes one module. `names`, `_blocks` and `_scope` are those of the current function."""

    names: dict[SSAValue, str]
    exact: bool
    _blocks: dict[Block, str]
    _out: list[str]
    _types: dict[int, str]
    _declared: dict[str, str]
    _debug: str
    _count: int

    def __init__(self, lines: Mapping[Operation, int] | None, source: str, target: Target | None):
        self._metadata = Metadata()
        self._lines = lines
        self._info = DebugInfo(self._metadata, source or "kernel") if lines is not None else None
        self._target = target
        self.exact = target is not None
        self._out = []
        # Types by identity: hashing a vector type costs more than all else here, and the module keeps them alive.
        self._types = {}
        self._declared = {}
        self._debug = ""

    def module(self, module: ModuleOp) -> str:
        if self._target is not None:
            self._out.append(f"target triple = {string_text(self._target.triple.encode())}")
        functions = [op for op in module.ops if isinstance(op, llvm.FuncOp)]
        symbols = {function.sym_name.data for function in functions}
        for op in module.ops:
            if isinstance(op, llvm.FuncOp):
                self._function(op)
            elif isinstance(op, llvm.GlobalOp):
                self._out.append(_global(op, self.soft))
            else:
                fail(op, "an op that LLVM has at the top of a module", op.name)
        self._out += [text for name, text in self._declared.items() if name not in symbols]
        header = self._info.header() if self._info is not None else ""
        return "\n".join(self._out) + f"\n{header}{self._metadata.text()}"

    def type(self, value: SSAValue) -> str:
        attribute = value.type
        if (text := self._types.get(id(attribute))) is None:
            text = self._types[id(attribute)] = type_text(attribute, self.soft)
        return text

    def soft(self, kind: type[Attribute]) -> bool:
        return self._target is not None and is_soft(self._target, kind)

    def put(self, text: str) -> None:
        self._out.append(f"  {text}{self._debug}")

    def fresh(self) -> str:
        self._count += 1
        return f"%v{self._count}_"

    def label(self, block: Block) -> str:
        return self._blocks[block]

    def declare(self, name: str, result: str, parameters: Sequence[str]) -> None:
        if name not in self._declared:
            self._declared[name] = f"declare {result} @{name}({', '.join(parameters)})"

    def loop(self, unroll: str | int) -> str:
        return f", !llvm.loop {self._metadata.loop(unroll)}"

    def _function(self, function: llvm.FuncOp) -> None:
        type_ = function.function_type
        name, result = symbol_text(function.sym_name.data), type_text(type_.output, self.soft)
        parameters = _parameters(function, self.soft)
        if not function.body.blocks:
            self._out.append(f"declare {result} {name}({parameters_text(parameters, type_)})")
            return
        self._name_values(function)
        entry = function.body.blocks[0]
        spelled = [f"{text} {self.names[argument]}" for text, argument in zip(parameters, entry.args, strict=True)]
        linkage = function.linkage.linkage.data
        words = [*_function_attributes(function), *self._target_attributes()]
        line, scope = 0, ""
        if self._lines is not None and self._info is not None:
            line = self._lines.get(function, 0)
            scope = self._info.subprogram(function.sym_name.data, line, local=linkage in ("internal", "private"))
            words.append(f"!dbg {scope}")
        prefix = "" if linkage == "external" else f"{linkage} "
        self._out.append(f"define {prefix}{result} {name}({parameters_text(spelled, type_)}) {' '.join([*words, '{'])}")
        self._body(function, line, scope)
        self._out.append("}")

    def _target_attributes(self) -> list[str]:
        if self._target is None:
            return []
        machine = self._target.hardware
        words = [f'"prefer-vector-width"="{machine.vector_bits}"']
        if "sve" in machine.features and (granules := machine.vector_bits // 128) > 1:
            # Without a known number of granules LLVM makes code for the 128 bits that every such machine has.
            words.append(f"vscale_range({granules},{granules})")
        return words

    def _name_values(self, function: llvm.FuncOp) -> None:
        """Names come first: a phi uses values that are defined after it."""
        self.names, self._blocks, self._count = {}, {}, 0
        names = self.names
        for block in function.body.blocks:
            self._blocks[block] = f"bb{len(self._blocks)}"
            for argument in block.args:
                names[argument] = self.fresh()
            for op in block.ops:
                if type(op) in CONSTANTS:
                    names[op.results[0]] = operand_text(op, self.soft) or ""
                elif op.results:
                    names[op.results[0]] = self.fresh()

    def _body(self, function: llvm.FuncOp, line: int, scope: str) -> None:
        incoming = _incoming(function)
        lines, info = self._lines, self._info
        attached: dict[int, str] = {}
        for number, block in enumerate(function.body.blocks):
            self._out.append(f"{self._blocks[block]}:")
            edges = incoming.get(block, [])
            if number and block.args:
                if lines is not None and info is not None:
                    self._debug = info.attachment(lines.get(edges[0][0], line), scope)
                self._phis(block, edges)
            for op in block.ops:
                if (spell := INSTRUCTIONS.get(type(op))) is None:
                    if type(op) in CONSTANTS:
                        continue
                    fail(op, "an op that LLVM has", op.name)
                if lines is not None and info is not None:
                    at = lines.get(op, line)
                    if (debug := attached.get(at)) is None:
                        debug = attached[at] = info.attachment(at, scope)
                    self._debug = debug
                spell(self, op)

    def _phis(self, block: Block, edges: Sequence[tuple[Operation, Sequence[SSAValue]]]) -> None:
        for argument in block.args:
            values = ", ".join(
                f"[ {self.names[passed[argument.index]]}, %{self._blocks[cast(Block, branch.parent)]} ]"
                for branch, passed in edges
            )
            self.put(f"{self.names[argument]} = phi {self.type(argument)} {values}")


def _incoming(function: llvm.FuncOp) -> dict[Block, list[tuple[Operation, Sequence[SSAValue]]]]:
    """The branches to each block, with the values that they pass."""
    edges: dict[Block, list[tuple[Operation, Sequence[SSAValue]]]] = {}
    for block in function.body.blocks:
        match block.last_op:
            case llvm.BrOp() as op:
                edges.setdefault(op.successor, []).append((op, op.arguments))
            case llvm.CondBrOp() as op:
                edges.setdefault(op.then_block, []).append((op, op.then_arguments))
                edges.setdefault(op.else_block, []).append((op, op.else_arguments))
            case _:
                pass
    return edges


def _parameters(function: llvm.FuncOp, soft: Soft) -> list[str]:
    """`ptr noalias readonly` for each parameter."""
    types = [type_text(type_, soft) for type_ in function.function_type.inputs]
    if (attributes := function.arg_attrs) is None:
        return types
    return [" ".join([text, *_words(entry.data)]) for text, entry in zip(types, attributes, strict=True)]


def _words(attributes: Mapping[str, Attribute]) -> list[str]:
    words: list[str] = []
    for key, value in attributes.items():
        word = key.removeprefix("llvm.")
        if isinstance(value, IntegerAttr):
            words.append(f"{word} {value.value.data}" if word == "align" else f"{word}({value.value.data})")
        elif isinstance(value, UnitAttr):
            words.append(word)
    return words


_UNIT_ATTRIBUTES = {"no_unwind": "nounwind", "no_inline": "noinline", "optimize_none": "optnone"}


def _function_attributes(function: llvm.FuncOp) -> list[str]:
    # xDSL's custom form parses properties of a function back as attributes.
    attributes = {**function.attributes, **function.properties}
    words = [word for key, word in _UNIT_ATTRIBUTES.items() if key in attributes]
    if isinstance(passthrough := attributes.get("passthrough"), ArrayAttr):
        for entry in cast(ArrayAttr[Attribute], passthrough):
            match entry:
                case StringAttr(data=word):
                    words.append(word)
                case ArrayAttr(data=(StringAttr(data=key), StringAttr(data=value))):
                    words.append(f"{string_text(key.encode())}={string_text(value.encode())}")
                case _:
                    fail(function, "words and pairs of strings in passthrough", str(entry))
    return words


def _global(op: llvm.GlobalOp, soft: Soft) -> str:
    linkage, type_ = op.linkage.linkage.data, type_text(op.global_type, soft)
    parts = [symbol_text(op.sym_name.data), "="]
    parts += [] if linkage == "external" and op.value is not None else [linkage]
    parts += ["thread_local"] if op.thread_local_ is not None else []
    parts += ["constant" if op.constant is not None else "global", type_]
    if op.value is not None:
        parts.append(constant_text(op.value, op.global_type, soft))
    elif linkage != "external":
        parts.append("zeroinitializer")
    alignment = f", align {op.alignment.value.data}" if op.alignment is not None else ""
    return " ".join(parts) + alignment
