"""Arrays of tensors as lists of a data type: of any rank for a dtype, or of one shape. Written as Relay text.

TVM's prelude names them `tensor_array_float32`, and `tensor_array_float32_10_any` for a shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from whence.relay.module import IRModule
from whence.syntax.relay.type_view import Any as Open
from whence.syntax.text.parser import parse

VERSION = '#[version = "0.0.5"]\n'
RANKS = 6
"""The highest rank of a tensor in an array."""


def name_of(canonical: str, dtype: str, shape: Sequence[Any] | None = None) -> str:
    """The name of a function, a constructor or, for `tensor_t`, the data type."""
    if shape is None:
        return f"tensor_{dtype}_t" if canonical == "tensor_t" else f"{canonical}_{dtype}"
    sizes = "_".join("any" if isinstance(size, Open) else str(size) for size in shape) or "scalar"
    return f"static_tensor_{dtype}_{sizes}_t" if canonical == "tensor_t" else f"{canonical}_{dtype}_{sizes}"


def add_to(mod: IRModule, dtype: str) -> None:
    """Add the data type of tensors of a dtype, and its functions, to a module with the prelude, once."""
    if name_of("tensor_t", dtype) not in mod.program.types:
        _add(mod, _dynamic(dtype))


def add_static(mod: IRModule, dtype: str, shape: Sequence[Any]) -> None:
    """Add the data types of tensors of a shape and of the functions' results, and the functions, once."""
    row = list(shape[1:])
    results = [list(shape), [Open(), *shape], [1, *shape], *([[Open(), *row], row] if shape else [])]
    for result in results:
        if name_of("tensor_t", dtype, result) not in mod.program.types:
            _add(mod, _data_type(dtype, result))
    if name_of("tensor_array", dtype, shape) not in mod.program.functions:
        _add(mod, _static(dtype, shape))


def _add(mod: IRModule, text: str) -> None:
    mod.update(IRModule.of(parse(VERSION + text, "tensor_arrays", mod.program)))


def _tensor(dtype: str, shape: Sequence[Any]) -> str:
    return f"Tensor[({', '.join('?' if isinstance(size, Open) else str(size) for size in shape)}), {dtype}]"


def _common(name: Callable[[str], str]) -> str:
    """Return the text of the functions on arrays of tensors of any shape."""
    t, array, nil = name("tensor_t"), name("tensor_array"), name("tensor_nil")
    read, write = name("tensor_array_read"), name("tensor_array_write")
    return f"""
def @{array}(%n: int32) -> List[{t}] {{
  if (%n == 0) {{ Nil }} else {{ Cons({nil}, @{array}(%n - 1)) }}
}}
def @{read}(%a: List[{t}], %i: int32) -> {t} {{ @nth(%a, %i) }}
def @{write}(%a: List[{t}], %i: int32, %v: {t}) -> List[{t}] {{ @update(%a, %i, %v) }}
def @{name("tensor_array_scatter_helper")}(
    %a: List[{t}], %i: int32, %n: int32, %at: Tensor[(?), int32], %v: List[{t}]) -> List[{t}] {{
  if (%i == %n) {{ %a }} else {{
    @{name("tensor_array_scatter_helper")}(@{write}(%a, take(%at, %i), @{read}(%v, %i)), %i + 1, %n, %at, %v)
  }}
}}
def @{name("tensor_array_scatter")}(%a: List[{t}], %at: Tensor[(?), int32], %v: List[{t}]) -> List[{t}] {{
  @{name("tensor_array_scatter_helper")}(%a, 0, take(shape_of(%at, dtype="int32"), 0), %at, %v)
}}
"""


def _dynamic(dtype: str) -> str:
    def name(canonical: str) -> str:
        return name_of(canonical, dtype)

    t, take, join, expand = map(name, ("tensor_t", "tensor_take", "tensor_concatenate", "tensor_expand_dims"))
    ranks = range(RANKS + 1)
    constructors = [f"{name(f'tensor{rank}')}({_tensor(dtype, [Open()] * rank)})" for rank in ranks]
    slices = [
        f'{name(f"tensor{r}")}(%x) => {name(f"tensor{r}")}(take(%x, dyn.arange(%from, %to, 1, dtype="int32"), axis=0))'
        for r in ranks[1:]
    ]
    joined = [
        f"{name(f'tensor{r}')}(%x) => match? (%b) {{ "
        f"{name(f'tensor{r}')}(%y) => {name(f'tensor{r}')}(concatenate((%x, %y))) }}"
        for r in ranks[1:]
    ]
    grown = [f"{name(f'tensor{r}')}(%x) => {name(f'tensor{r + 1}')}(expand_dims(%x, axis=0))" for r in ranks[:-1]]
    unstacked = "".join(_unstack(name, dtype, rank) for rank in ranks[1:])
    return f"""
type {t} {{ {name("tensor_nil")}, {", ".join(constructors)} }}
{_common(name)}
def @{take}(%t: {t}, %from: int32, %to: int32) -> {t} {{ match? (%t) {{ {", ".join(slices)} }} }}
def @{join}(%a: {t}, %b: {t}) -> {t} {{ match? (%a) {{ {", ".join(joined)} }} }}
def @{expand}(%t: {t}) -> {t} {{ match? (%t) {{ {", ".join(grown)} }} }}
def @{name("tensor_array_concat")}(%a: List[{t}]) -> {t} {{
  match (%a) {{
    Cons(%x, %rest) => match (%rest) {{ Nil => %x, Cons(_, _) => @{join}(%x, @{name("tensor_array_concat")}(%rest)) }},
    Nil => {name("tensor_nil")}
  }}
}}
def @{name("tensor_array_stack")}(%a: List[{t}]) -> {t} {{
  @{name("tensor_array_concat")}(@map(@{expand}, %a))
}}
def @{name("tensor_array_gather_helper")}(
    %a: List[{t}], %r: List[{t}], %i: int32, %at: Tensor[(?), int32]) -> List[{t}] {{
  if (%i == 0) {{ %r }} else {{
    let %j = %i - 1;
    @{name("tensor_array_gather_helper")}(%a, Cons(@{name("tensor_array_read")}(%a, take(%at, %j)), %r), %j, %at)
  }}
}}
def @{name("tensor_array_gather")}(%a: List[{t}], %at: Tensor[(?), int32]) -> {t} {{
  @{name("tensor_array_stack")}(
    @{name("tensor_array_gather_helper")}(%a, Nil, take(shape_of(%at, dtype="int32"), 0), %at))
}}
{_split(name, t, t)}
{unstacked}
"""


def _split(name: Callable[[str], str], t: str, source: str) -> str:
    helper, take = name("tensor_array_split_helper"), name("tensor_take")
    return f"""
def @{helper}(
    %a: List[{t}], %v: {source}, %o: int32, %i: int32, %n: int32, %l: Tensor[(?), int32]) -> List[{t}] {{
  if (%i == %n) {{ %a }} else {{
    let %e = %o + take(%l, %i);
    @{helper}(@{name("tensor_array_write")}(%a, %i, @{take}(%v, %o, %e)), %v, %e, %i + 1, %n, %l)
  }}
}}
def @{name("tensor_array_split")}(%a: List[{t}], %v: {source}, %l: Tensor[(?), int32]) -> List[{t}] {{
  @{helper}(%a, %v, 0, 0, take(shape_of(%l, dtype="int32"), 0), %l)
}}
"""


def _unstack(name: Callable[[str], str], dtype: str, rank: int) -> str:
    tensor, t = _tensor(dtype, [Open()] * rank), name("tensor_t")
    function = name(f"tensor_array_unstack_tensor{rank}")
    return _unstacked(function, tensor, t, name(f"tensor{rank - 1}"))


def _unstacked(function: str, tensor: str, t: str, constructor: str) -> str:
    return f"""
def @{function}_helper(%i: int32, %n: int32, %x: {tensor}) -> List[{t}] {{
  if (%i == %n) {{ Nil }} else {{
    Cons({constructor}(take(%x, %i, axis=0)), @{function}_helper(%i + 1, %n, %x))
  }}
}}
def @{function}(%x: {tensor}) -> List[{t}] {{
  @{function}_helper(0, take(shape_of(%x, dtype="int32"), 0), %x)
}}
"""


def _data_type(dtype: str, shape: Sequence[Any]) -> str:
    t = name_of("tensor_t", dtype, shape)
    nil, constructor = name_of("tensor_nil", dtype, shape), name_of("tensor_constructor", dtype, shape)
    return f"type {t} {{ {nil}, {constructor}({_tensor(dtype, shape)}) }}\n"


def _static(dtype: str, shape: Sequence[Any]) -> str:
    def name(canonical: str, other: Sequence[Any] = shape) -> str:
        return name_of(canonical, dtype, other)

    t, constructor, row = name("tensor_t"), name("tensor_constructor"), [Open(), *shape[1:]]
    grown = [1, *shape]
    text = f"""
{_common(name)}
def @{name("tensor_expand_dims")}(%t: {t}) -> {name("tensor_t", grown)} {{
  match? (%t) {{ {constructor}(%x) => {name("tensor_constructor", grown)}(expand_dims(%x, axis=0)) }}
}}
def @{name("tensor_get_data")}(%t: {t}) -> {_tensor(dtype, shape)} {{ match? (%t) {{ {constructor}(%x) => %x }} }}
def @{name("tensor_array_stack_helper")}(%a: List[{t}]) -> {_tensor(dtype, [Open(), *shape])} {{
  match? (%a) {{
    Cons(%t, %rest) => match (%rest) {{
      Nil => @{name("tensor_array_row")}(%t),
      Cons(_, _) => concatenate((@{name("tensor_array_row")}(%t), @{name("tensor_array_stack_helper")}(%rest)))
    }}
  }}
}}
def @{name("tensor_array_row")}(%t: {t}) -> {_tensor(dtype, [1, *shape])} {{
  match? (%t) {{ {constructor}(%x) => expand_dims(%x, axis=0) }}
}}
def @{name("tensor_array_stack")}(%a: List[{t}]) -> {name("tensor_t", [Open(), *shape])} {{
  {name("tensor_constructor", [Open(), *shape])}(@{name("tensor_array_stack_helper")}(%a))
}}
"""
    if not shape:
        return text
    several, whole = name("tensor_t", row), name("tensor_constructor", row)
    text += f"""
def @{name("tensor_take")}(%t: {t}, %from: int32, %to: int32) -> {several} {{
  match? (%t) {{ {constructor}(%x) => {whole}(take(%x, dyn.arange(%from, %to, 1, dtype="int32"), axis=0)) }}
}}
def @{name("tensor_concatenate")}(%a: {t}, %b: {t}) -> {several} {{
  match? (%a) {{ {constructor}(%x) => match? (%b) {{ {constructor}(%y) => {whole}(concatenate((%x, %y))) }} }}
}}
"""
    inner = list(shape[1:])
    unstack = name("tensor_array_unstack")
    return text + _unstacked(unstack, _tensor(dtype, shape), name("tensor_t", inner), name("tensor_constructor", inner))
