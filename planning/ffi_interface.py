"""The functions of an exported library that tvm-ffi calls, as LLVM text beside the C interface.

`tvm_ffi.load_module("net.so")["main"](x, y)` runs a model: tensors of inputs, then of outputs, which are written. The
ABI is that of `apache-tvm-ffi` (c_api.h): `int (void *self, const TVMFFIAny *args, int32_t count, TVMFFIAny *result)`,
where an argument is {i32 type index, i32 0, 8 bytes}: index 7 is a `DLTensor *`, and 70 an object with a DLTensor
behind a header of 24 bytes. A refused call sets an error by TVMFFIErrorSetRaisedFromCStr, if the process has that
function, and returns -1. Arguments are checked completely, so that none lets a kernel touch other memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ..runtime.program.program import Program
from ..runtime.program.sizes import SizedSpec, Sizes, Solution
from ..runtime.program.threads import MAX_THREADS
from ..runtime.values.tensors import ALIGNMENT, TensorSpec
from .c_interface import text_constant

TEMPLATE = Path(__file__).with_name("ffi_interface.ll")
MAIN = "main"
"""The name of the function of a whole model."""
_CODES = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}
"""DLPack's code of a dtype by numpy's kind; bool has 8 bits."""
_BFLOAT, _NO_CODE = 4, 255
_KINDS = ("int", "uint", "float", "handle", "bfloat", "complex", "bool", "a dtype of ")
"""Names of DLPack's codes, and of others, for messages."""
_INPUT_ALIGNMENT = 4
"""Inputs are aligned to their element, and to as many bytes."""


def ffi_text(program: Program, name: str, entry: Sequence[int] | None) -> str:
    """The module that defines `__tvm_ffi_<name>` for a library with the C interface.

    entry: the position of each argument of the program among those of a call; none: inputs, then outputs.
    """
    specs = [*program.inputs, *program.outputs]
    order = [list(entry).index(at) if entry else at for at in range(len(specs))]
    sizes = program.sizes
    rows = [_row(program, place) for place in order] or ["%row zeroinitializer"]
    names = [f"derived.{number}" for number in range(len(sizes.derived) if sizes else 0)]
    words = {
        "COUNT": str(len(specs)),
        "ROOM": str(max(len(specs), 1)),
        "VALUES": str(sizes.count if sizes else 1),
        "INPUTS": str(len(program.inputs)),
        "NAME": "".join(f"\\{byte:02X}" for byte in f"__tvm_ffi_{name}".encode()),
        "RUN": "whence_run_sized" if sizes else "whence_run",
        "MORE_TYPES": ", ptr" if sizes else "",
        "MORE": ", ptr %values" if sizes else "",
        "SIZED": "fit" if sizes else "sized",
        "MOST_THREADS": str(MAX_THREADS),
        "PERMISSION": _PERMISSION if program.tiles else "",
        "ARENA": _arena(sizes),
        "NUMBERS": "\n".join(_numbers(program, sizes, order)) if sizes else "",
    }
    code = re.sub(r"\$([A-Z_]+)", lambda found: words[found.group(1)], TEMPLATE.read_text())
    forms = _Forms(name)
    lines = [forms.expanded(line) for line in code.splitlines()]
    return "\n".join([
        "%tensor = type { ptr, ptr, i32, ptr, i64 }",
        "%row = type { ptr, i32, i32, i64, i32, i32 }",
        f"@whence_inputs = external constant [{max(len(program.inputs), 1)} x %tensor]",
        f"@whence_outputs = external constant [{max(len(program.outputs), 1)} x %tensor]",
        f"@rows = private constant [{len(rows)} x %row] [{', '.join(rows)}]",
        *map(text_constant, names, [derived.text for derived in sizes.derived] if sizes else ()),
        _pointers("derived", names),
        *map(text_constant, (f"kind.{number}" for number in range(len(_KINDS))), _KINDS),
        _pointers("kinds", [f"kind.{number}" for number in range(len(_KINDS))]),
        *forms.lines,
        *lines,
    ])  # fmt: skip


def _pointers(name: str, texts: Sequence[str]) -> str:
    """A table of texts. An empty one has an element, as there are no empty arrays in C."""
    table = ", ".join(f"ptr @{text}" for text in texts) or "ptr null"
    return f"@{name} = private constant [{max(len(texts), 1)} x ptr] [{table}]"


def _row(program: Program, place: int) -> str:
    """The rule of an argument: its table, dtype, bytes of an element, alignment, place, and if it is written."""
    inputs = len(program.inputs)
    is_output = place >= inputs
    spec = program.outputs[place - inputs] if is_output else program.inputs[place]
    table, at = ("whence_outputs", place - inputs) if is_output else ("whence_inputs", place)
    size = spec.dtype.itemsize
    alignment = ALIGNMENT if is_output else max(size, _INPUT_ALIGNMENT)
    address = f"ptr getelementptr (%tensor, ptr @{table}, i64 {at})"
    numbers = f"i32 {_dlpack_dtype(spec)}, i32 {size}, i64 {alignment - 1}, i32 {place}, i32 {is_output:d}"
    return f"%row {{ {address}, {numbers} }}"


def _dlpack_dtype(spec: TensorSpec) -> int:
    """The four bytes of a DLDataType: code, bits, lanes; a code that no tensor has where DLPack knows no such dtype."""
    dtype = np.dtype(spec.dtype)
    code = _BFLOAT if dtype.name == "bfloat16" else _CODES.get(dtype.kind, _NO_CODE)
    return code | dtype.itemsize * 8 << 8 | 1 << 16


def _arena(sizes: Sizes | None) -> str:
    if sizes is None:
        return "  %arena_bytes = load i64, ptr @whence_arena_bytes"
    return f"""  %arena_at = getelementptr i64, ptr %values, i64 {sizes.arena}
  %arena_bytes = load i64, ptr %arena_at"""


def _numbers(program: Program, sizes: Sizes, order: Sequence[int]) -> Iterator[str]:
    """The sizes of a call, read off the extents of its inputs, and the values that follow from them."""
    for number, solution in enumerate(sizes.solutions):
        yield from _solved(program, sizes, number, solution, order)
    yield "  call void @whence_sizes(ptr %values)"
    yield f"  %negative = call i1 @negative(ptr %values, i64 {len(sizes.symbols)}, i64 {sizes.count})"
    yield "  br i1 %negative, label %refused, label %fit"
    yield "fit:"


def _solved(program: Program, sizes: Sizes, number: int, solution: Solution, order: Sequence[int]) -> Iterator[str]:
    """A symbol: an extent is `scale` times it, plus a polynomial of others."""
    s = f"s{number}"
    spec, name = program.inputs[solution.input], sizes.symbols[solution.symbol]
    low, high = sizes.ranges[solution.symbol]
    at = order.index(solution.input)
    yield f"  %{s}.tensor_at = getelementptr ptr, ptr %tensors, i64 {solution.input}"
    yield f"  %{s}.tensor = load ptr, ptr %{s}.tensor_at"
    yield f"  %{s}.shape_at = getelementptr i8, ptr %{s}.tensor, i64 24"
    yield f"  %{s}.shape = load ptr, ptr %{s}.shape_at"
    yield f"  %{s}.extent_at = getelementptr i64, ptr %{s}.shape, i64 {solution.axis}"
    yield f"  %{s}.extent = load i64, ptr %{s}.extent_at"
    total = "0"
    for term, (coefficient, factors) in enumerate(solution.rest):
        product = str(coefficient)
        for place, symbol in enumerate(factors):
            part = f"%{s}.part{term}.{place}"
            yield f"  {part}.at = getelementptr i64, ptr %values, i64 {symbol}"
            yield f"  {part} = load i64, ptr {part}.at"
            yield f"  {part}.product = mul i64 {product}, {part}"
            product = f"{part}.product"
        yield f"  %{s}.sum{term} = add i64 {total}, {product}"
        total = f"%{s}.sum{term}"
    yield f"  %{s}.multiple = sub i64 %{s}.extent, {total}"
    yield f"  %{s} = sdiv i64 %{s}.multiple, {solution.scale}"
    yield f"  %{s}.rest = srem i64 %{s}.multiple, {solution.scale}"
    yield f"  %{s}.whole = icmp eq i64 %{s}.rest, 0"
    yield f"  %{s}.high_enough = icmp sge i64 %{s}, {max(low, 0)}"
    yield f"  %{s}.low_enough = icmp sle i64 %{s}, {2**63 - 1 if high is None else high}"
    yield f"  %{s}.between = and i1 %{s}.high_enough, %{s}.low_enough"
    yield f"  %{s}.right = and i1 %{s}.whole, %{s}.between"
    yield f"  br i1 %{s}.right, label %{s}.read, label %{s}.wrong"
    yield f"{s}.wrong:"
    bounds = f"{max(low, 0)} <= {name}" + ("" if high is None else f" <= {high}")
    wanted = _percent(f"{spec.texts[solution.axis] if isinstance(spec, SizedSpec) else name} with {bounds}")
    label = f"argument {at} ('{_percent(spec.name)}')"
    yield f'  !ValueError "{label}: expected dimension {solution.axis} as {wanted}, got %lld" i64 %{s}.extent'
    yield "  br label %refused"
    yield f"{s}.read:"
    yield f"  %{s}.value_at = getelementptr i64, ptr %values, i64 {solution.symbol}"
    yield f"  store i64 %{s}, ptr %{s}.value_at"


class _Forms:
    """The texts of refusals, made as they are met."""

    def __init__(self, function: str):
        self.function = function
        self.lines = [text_constant(f"error.{kind}", kind) for kind in ("TypeError", "ValueError", "RuntimeError")]

    def expanded(self, line: str) -> str:
        """The code of `!Kind "format" arguments`; other lines are code already."""
        found = re.fullmatch(r'\s*!(\w+) "(.*)"(.*)', line)
        if found is None:
            return line
        kind, form, arguments = found.groups()
        at = len(self.lines)
        self.lines.append(text_constant(f"form.{at}", f"{_percent(self.function)}: {form}"))
        passed = "".join(f", {argument.strip()}" for argument in arguments.split(",") if argument.strip())
        return f"""  %text.{at} = alloca [512 x i8]
  %length.{at} = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %text.{at}, i64 512, ptr @form.{at}{passed})
  call void @refuse(ptr @error.{kind}, ptr %text.{at})"""


def _percent(text: str) -> str:
    """The format of printf that prints a text."""
    return text.replace("%", "%%")


_PERMISSION = """  %allowed = call i32 @whence_tiles_allowed()
  %tiled = icmp ne i32 %allowed, 0
  br i1 %tiled, label %permitted, label %forbidden
forbidden:
  !RuntimeError "expected permission to use tiles (AMX), got none"
  br label %refused
permitted:"""
