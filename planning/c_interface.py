"""The C interface of an exported model: a header, and the code behind it as LLVM text.

The code is data and a few calls, so that an exported archive of objects needs no compiler of C.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..lowering.llvm_to_native.thread_pool_text import has_workers
from ..runtime.program.program import ENTRY, Program
from ..runtime.program.sizes import SizedSpec, Sizes, Value
from ..runtime.program.threads import MAX_THREADS, Layout
from ..runtime.values.tensors import TensorSpec

HEADER = Path(__file__).with_name("whence.h")
"""The header, of every model."""
PACKAGE = "whence_package"
"""The symbol of the package (runtime/loading/package.py)."""
_SPIN_TURNS = 1000
"""The time for which idle workers look for work before they sleep: tens of microseconds."""


def interface_text(
    program: Program, params: Sequence[TensorSpec], offsets: Sequence[int] | None, system: str, machine: str
) -> str:
    """The module that defines what the header declares.

    offsets: of the parameters in the package; None: they are not in it, and there is no `whence_run`.
    system, machine: what the code is for.
    """
    parts = [
        "%tensor = type { ptr, ptr, i32, ptr, i64 }",
        *_tensors("whence_inputs", program.inputs),
        *_tensors("whence_outputs", program.outputs),
        *_tensors("whence_params", params),
        f"@whence_num_inputs = constant i32 {len(program.inputs)}",
        f"@whence_num_outputs = constant i32 {len(program.outputs)}",
        f"@whence_num_params = constant i32 {len(params)}",
        f"@whence_uses_tiles = constant i32 {program.tiles:d}",
        f"@whence_arena_bytes = constant i64 {max(program.arena_bytes, 1)}",
        *([] if program.sizes is None else _sizes(program.sizes)),
        _pool() if has_workers(system, machine) else _NO_POOL,
    ]
    if offsets is not None:
        run = _run(len(program.inputs), len(program.outputs), sized=program.sizes is not None)
        parts += [*_addresses(offsets), run]
    return "\n".join(parts)


def _tensors(name: str, specs: Sequence[TensorSpec]) -> list[str]:
    """A table of tensors. An empty one has an element, as C knows no empty arrays."""
    lines: list[str] = []
    rows: list[str] = []
    for number, spec in enumerate(specs):
        for part, text in (("name", spec.name), ("dtype", spec.dtype.name)):
            lines.append(text_constant(f"{name}.{number}.{part}", text))
        numbers = spec.numbers if isinstance(spec, SizedSpec) else spec.shape
        fixed = not any(isinstance(extent, Value) for extent in numbers)
        coded = [-1 - extent.place if isinstance(extent, Value) else extent for extent in numbers]
        extents = ", ".join(f"i64 {number}" for number in coded) or "i64 0"
        count = max(len(spec.shape), 1)
        lines.append(f"@{name}.{number}.shape = private constant [{count} x i64] [{extents}]")
        fields = f"ptr @{name}.{number}.name, ptr @{name}.{number}.dtype, i32 {len(spec.shape)}"
        rows.append(f"%tensor {{ {fields}, ptr @{name}.{number}.shape, i64 {spec.nbytes if fixed else -1} }}")
    if not rows:
        return [f"@{name} = constant [1 x %tensor] zeroinitializer"]
    return [*lines, f"@{name} = constant [{len(rows)} x %tensor] [{', '.join(rows)}]"]


def _sizes(sizes: Sizes) -> list[str]:
    """Return the table of sizes that a caller needs for the numbers of a call."""
    names = [f"whence_size_names.{number}" for number in range(len(sizes.symbols))]
    table = ", ".join(f"ptr @{name}" for name in names)
    return [
        *map(text_constant, names, sizes.symbols),
        f"@whence_size_names = constant [{len(names)} x ptr] [{table}]",
        f"@whence_num_sizes = constant i32 {len(names)}",
        f"@whence_num_values = constant i32 {sizes.count}",
        f"@whence_arena_value = constant i32 {sizes.arena}",
    ]


def text_constant(name: str, text: str) -> str:
    """Return a constant that holds a text, ended by a zero byte."""
    data = text.encode() + b"\0"
    escaped = "".join(f"\\{byte:02X}" for byte in data)
    return f'@{name} = private constant [{len(data)} x i8] c"{escaped}"'


def _addresses(offsets: Sequence[int]) -> list[str]:
    places = ", ".join(f"ptr getelementptr (i8, ptr @{PACKAGE}, i64 {at})" for at in offsets)
    return [
        f"@{PACKAGE} = external hidden constant i8",
        f"@params = private constant [{len(offsets)} x ptr] [{places}]"
        if offsets
        else "@params = private constant [1 x ptr] zeroinitializer",
    ]


def _run(inputs: int, outputs: int, *, sized: bool) -> str:
    """`whence_run`: one table of inputs and outputs, as the program wants them. With sizes `whence_run_sized`."""
    name, type_, more = ("whence_run_sized", ", ptr", ", ptr %values") if sized else ("whence_run", "", "")
    lines = [
        f"declare void @{ENTRY}(ptr, ptr, ptr, ptr{type_})",
        f"define void @{name}(ptr %inputs, ptr %outputs, ptr %arena, ptr %pool{more}) {{",
        f"  %io = alloca [{max(inputs + outputs, 1)} x ptr]",
    ]
    for number in range(inputs + outputs):
        table, at = ("%inputs", number) if number < inputs else ("%outputs", number - inputs)
        lines += [
            f"  %from{number} = getelementptr ptr, ptr {table}, i64 {at}",
            f"  %array{number} = load ptr, ptr %from{number}",
            f"  %to{number} = getelementptr ptr, ptr %io, i64 {number}",
            f"  store ptr %array{number}, ptr %to{number}",
        ]
    call = f"  call void @{ENTRY}(ptr %io, ptr @params, ptr %arena, ptr %pool{more})"
    return "\n".join([*lines, call, "  ret void", "}"])


def _pool() -> str:
    names = {
        "WORDS": Layout.WORDS,
        "SPIN": Layout.SPIN,
        "WORKERS": Layout.WORKERS,
        "MOST": MAX_THREADS,
        "TURNS": _SPIN_TURNS,
    }
    text = _POOL
    for name, value in names.items():
        text = text.replace(f"${name}", str(value))
    return text


_NO_POOL = """
define ptr @whence_pool_create(i32 %threads) {
  ret ptr null
}
define void @whence_pool_destroy(ptr %pool) {
  ret void
}
"""

_POOL = """
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i32 @llvm.smin.i32(i32, i32)
declare i64 @whence_pool_start(ptr, i64)
declare void @whence_pool_stop(ptr, i64)

define ptr @whence_pool_create(i32 %wanted) {
entry:
  %threads = call i32 @llvm.smin.i32(i32 %wanted, i32 $MOST)
  %many = icmp sgt i32 %threads, 1
  br i1 %many, label %make, label %none
make:
  %count = zext i32 %threads to i64
  %words = add i64 %count, $WORDS
  %bytes = shl i64 %words, 3
  %more = add i64 %bytes, 63
  %size = and i64 %more, -64
  %pool = call ptr @aligned_alloc(i64 64, i64 %size)
  %full = icmp eq ptr %pool, null
  br i1 %full, label %none, label %start
start:
  call void @llvm.memset.p0.i64(ptr align 64 %pool, i8 0, i64 %size, i1 false)
  %spin = getelementptr i64, ptr %pool, i64 $SPIN
  store i64 $TURNS, ptr %spin
  %workers = call i64 @whence_pool_start(ptr %pool, i64 %count)
  %place = getelementptr i64, ptr %pool, i64 $WORKERS
  store i64 %workers, ptr %place
  ret ptr %pool
none:
  ret ptr null
}

define void @whence_pool_destroy(ptr %pool) {
entry:
  %none = icmp eq ptr %pool, null
  br i1 %none, label %done, label %stop
stop:
  %place = getelementptr i64, ptr %pool, i64 $WORKERS
  %workers = load i64, ptr %place
  call void @whence_pool_stop(ptr %pool, i64 %workers)
  call void @free(ptr %pool)
  br label %done
done:
  ret void
}
"""
