"""The program of a model as C: its tables, its sizes and its calls, as whence.h declares them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..dialects.sizes import SizeExpr
from ..dialects.sizes.terms import Atom
from ..lowering.llvm_to_native.thread_pool_text import REFUSAL
from ..lowering.tir_to_c.context import atom_text, polynomial_text
from ..runtime.program.program import ENTRY, NEED_TILES, Call, Copy, Program, Slot
from ..runtime.program.sizes import Number, SizedSpec, Sizes, Value
from ..runtime.program.tiles import ARCH_PRCTL, REQUEST, TILE_DATA
from ..runtime.values.tensors import ALIGNMENT, TensorSpec
from .artifact import Artifact
from .c_kernels import comment_of
from .size_values import Formula, Group

RUNTIME = r"""
/* The header calls it const, which is what it is for others. */
#define whence_refused whence_refused_elsewhere
#include "whence.h"
#undef whence_refused
int64_t whence_refused[2];
WHENCE_ANY static void whence_alloc_refused(int64_t bytes) {
  whence_refused[0]++;
  whence_refused[1] = bytes;
}

/* Parallel loops run on the threads of OpenMP (-fopenmp), else on the caller's alone. */
struct whence_pool { int32_t threads; };
#if defined(_OPENMP)
whence_pool *whence_pool_create(int32_t threads) {
  whence_pool *pool = threads > 1 ? malloc(sizeof *pool) : NULL;
  if (pool) pool->threads = threads;
  return pool;
}
void whence_pool_destroy(whence_pool *pool) { free(pool); }
WHENCE_ANY static void whence_parallel_for(whence_pool *pool, void (*body)(void *, int64_t, int64_t), void *context,
                                           int64_t n) {
  if (!pool || n < 2) {
    body(context, 0, n);
    return;
  }
  int64_t parts = whence_min(n, 4 * (int64_t)pool->threads);
#pragma omp parallel for schedule(dynamic, 1) num_threads(pool->threads)
  for (int64_t part = 0; part < parts; part++) body(context, n * part / parts, n * (part + 1) / parts);
}
#else
whence_pool *whence_pool_create(int32_t threads) {
  (void)threads;
  return NULL;
}
void whence_pool_destroy(whence_pool *pool) { (void)pool; }
WHENCE_ANY static void whence_parallel_for(whence_pool *pool, void (*body)(void *, int64_t, int64_t), void *context,
                                           int64_t n) {
  (void)pool;
  body(context, 0, n);
}
#endif
""".lstrip()
_TILES = r"""
/* Whether kernels have tiles, for which Linux wants to be asked; -DWHENCE_SCALAR has none. */
#if defined(WHENCE_TILES) && defined(__linux__) && !defined(WHENCE_SCALAR)
const int32_t whence_uses_tiles = $TILES;
extern long syscall(long number, ...);
int32_t whence_tiles_allowed(void) {
  static int asked; /* 0: not yet; else the answer, and 1 */
  int answer = __atomic_load_n(&asked, __ATOMIC_RELAXED);
  if (!answer) {
    answer = syscall($PRCTL, $REQUEST, $DATA) ? 1 : 2;
    __atomic_store_n(&asked, answer, __ATOMIC_RELAXED);
  }
  return answer - 1;
}
static void $NEED(void) {
  if (whence_uses_tiles && !whence_tiles_allowed()) {
    fputs("$REFUSAL", stderr);
    abort();
  }
}
#else
#undef WHENCE_TILES
const int32_t whence_uses_tiles = 0;
int32_t whence_tiles_allowed(void) { return 0; }
static void $NEED(void) {}
#endif
""".lstrip()


def tiles_text(program: Program) -> str:
    """The declarations of the header about tiles as code, and a function that ends a process which may not use them."""
    words = {
        "TILES": f"{program.tiles:d}",
        "PRCTL": str(ARCH_PRCTL),
        "REQUEST": hex(REQUEST),
        "DATA": str(TILE_DATA),
        "NEED": NEED_TILES,
        "REFUSAL": _string(REFUSAL),
    }
    return re.sub(r"\$([A-Z]+)", lambda found: words[found.group(1)], _TILES)


def program_text(artifact: Artifact, params: Sequence[TensorSpec], offsets: Sequence[int] | None) -> str:
    """The functions and tables behind the kernels.

    offsets: of the parameters in `whence_params_data`; None: they come from elsewhere, and there is no `whence_run`.
    """
    program = artifact.program
    lines = [
        *_table("whence_inputs", program.inputs),
        *_table("whence_outputs", program.outputs),
        *_table("whence_params", params),
        f"const int32_t whence_num_inputs = {len(program.inputs)};",
        f"const int32_t whence_num_outputs = {len(program.outputs)};",
        f"const int32_t whence_num_params = {len(params)};",
        f"const int64_t whence_arena_bytes = INT64_C({max(program.arena_bytes, 1)});",
    ]
    if program.sizes is not None:
        lines += [*_size_table(program.sizes), *_size_function(program.sizes, artifact.formulas)]
    lines += _main(artifact)
    if offsets is not None:
        lines += _run(program, offsets)
    return "\n".join(lines) + "\n"


def _string(text: str) -> str:
    """A text as C spells it."""
    return "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in text.encode()
    )


def _table(name: str, specs: Sequence[TensorSpec]) -> list[str]:
    """A table of tensors; an empty one has an element, as C knows no empty arrays."""
    lines: list[str] = []
    rows: list[str] = []
    for number, spec in enumerate(specs):
        extents = spec.numbers if isinstance(spec, SizedSpec) else spec.shape
        fixed = not any(isinstance(extent, Value) for extent in extents)
        coded = [-1 - extent.place if isinstance(extent, Value) else extent for extent in extents]
        shape = f"{name}_shape{number}"
        lines.append(f"static const int64_t {shape}[] = {{{', '.join(map(str, coded)) or '0'}}};")
        nbytes = spec.nbytes if fixed else -1
        rows.append(
            f'  {{"{_string(spec.name)}", "{spec.dtype.name}", {len(spec.shape)}, {shape}, INT64_C({nbytes})}},'
        )
    return [*lines, f"const whence_tensor {name}[] = {{", *(rows or ["  {0}"]), "};"]


def _size_table(sizes: Sizes) -> list[str]:
    names = ", ".join(f'"{_string(name)}"' for name in sizes.symbols)
    return [
        f"const char *const whence_size_names[] = {{{names}}};",
        f"const int32_t whence_num_sizes = {len(sizes.symbols)};",
        f"const int32_t whence_num_values = {sizes.count};",
        f"const int32_t whence_arena_value = {sizes.arena};",
    ]


def _size_function(sizes: Sizes, formulas: Sequence[Formula]) -> list[str]:
    """`whence_sizes`, which writes the values of formulas behind those of the symbols."""
    places = {name: number for number, name in enumerate(sizes.symbols)}

    def spell(atom: Atom) -> str:
        if not atom.kind:
            return f"v[{places[atom.text]}]"
        return atom_text(atom, [f"({polynomial_text(terms, spell)})" for terms in atom.args])

    lines = ["void whence_sizes(int64_t *v) {"]
    comment, noted = comment_of(), list[str]()
    for number, formula in enumerate(formulas, len(places)):
        match formula.what:
            case Group():
                most = f"v[{formula.what.members[0]}]"
                for member in formula.what.members[1:]:
                    most = f"whence_max({most}, v[{member}])"
                text = f"v[{formula.what.start}] + ({most} + {ALIGNMENT - 1}) / {ALIGNMENT} * {ALIGNMENT}"
            case SizeExpr():
                text = polynomial_text(formula.what.terms, spell)
            case int():
                text = str(formula.what)
        if (said := list(comment(formula.location))) != noted:
            lines += [f"  {line}" if line[0] != "#" else line for line in said]
            noted = said
        lines.append(f"  v[{number}] = {text};")
    return [*lines, "}"]


def _pointer(slot: Slot) -> str:
    if slot.kind == "arena":
        return f"a + {_number(slot.at)}"
    return f"{'io' if slot.kind == 'io' else 'params'}[{slot.at}]"


def _number(number: Number) -> str:
    return f"v[{number.place}]" if isinstance(number, Value) else str(number)


def _main(artifact: Artifact) -> list[str]:
    """`whence_main`: calls of the kernels in order, then copies. One of sizes takes their values as well."""
    program, comment = artifact.program, comment_of()
    sized = program.sizes is not None
    more = ", const int64_t *v" if sized else ""
    name = "static void whence_main_sized" if sized else f"void {ENTRY}"
    lines = [
        f"{name}(void *const *io, const void *const *params, void *arena, whence_pool *pool{more}) {{",
        "  char *a = arena;",
        "  (void)io, (void)params, (void)a, (void)pool;",
        f"  {NEED_TILES}();",
    ]
    for call in artifact.calls:
        lines += [f"  {line}" if line[0] != "#" else line for line in comment(call.location)]
        lines.append(f"  {_called(call.run, program.kernels[call.kernel].symbol)}")
    for copy in program.copies:
        lines.append(f"  {_copied(copy)}")
    return [*lines, "}"]


def _called(call: Call, symbol: str) -> str:
    arguments = [_pointer(slot) for slot in (*call.inputs, *call.outputs)]
    # C's void pointers become those of any element.
    arguments = [f"(void *)({text})" if text[0] == "a" else text for text in arguments]
    arguments += map(_number, call.sizes)
    arguments += ["NULL" if call.workspace is None else f"(void *)({_pointer(call.workspace)})", "pool"]
    return f"{symbol}({', '.join(arguments)});"


def _copied(copy: Copy) -> str:
    return f"memcpy({_pointer(copy.target)}, {_pointer(copy.source)}, {_number(copy.nbytes)});"


def _run(program: Program, offsets: Sequence[int]) -> list[str]:
    """`whence_run`, or with sizes `whence_run_sized`: one table of inputs and outputs, as the program wants them."""
    sized = program.sizes is not None
    places = ", ".join(f"whence_params_data + {at}" for at in offsets) or "NULL"
    count = len(program.inputs) + len(program.outputs)
    more = (", const int64_t *values", ", values") if sized else ("", "")
    entry, name = ("whence_main_sized", "whence_run_sized") if sized else (ENTRY, "whence_run")
    return [
        f"static const void *const whence_addresses[] = {{{places}}};",
        f"void {name}(const void *const *inputs, void *const *outputs, void *arena, whence_pool *pool{more[0]}) {{",
        f"  void *io[{max(count, 1)}];",
        f"  for (int k = 0; k < {len(program.inputs)}; k++) io[k] = (void *)inputs[k];",
        f"  for (int k = 0; k < {len(program.outputs)}; k++) io[{len(program.inputs)} + k] = outputs[k];",
        f"  {entry}(io, whence_addresses, arena, pool{more[1]});",
        "}",
    ]
