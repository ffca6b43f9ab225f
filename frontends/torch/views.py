"""Operators whose results share memory with an argument, and operators that write to one.

A write through a view is one to what it is a view of: `scattered` says how the new part is put back into the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ...dialects.sizes import Size, same, symbol
from .expressions import parse_expression
from .schema import Argument, Name, Node, TensorMeta

Call: TypeAlias = "tuple[str, dict[str, Argument]]"
"""An operator, and its arguments beside the whole (`self`) and the part (`src`)."""


@dataclass(frozen=True)
class View:
    """The way in which a result is a view of an argument."""

    of: str = "self"
    """The argument's name."""
    scattered: Callable[[Node, int], Call] | None = None
    """The call that puts a changed output, by its number in a list, into the whole; None where nothing can."""
    when: Callable[[Node, TensorMeta | None, TensorMeta | None], bool] = lambda node, whole, part: True
    """Callback that decides if it is a view at all, for what is known of the argument and the result."""


def operator_of(node: Node) -> str:
    """The operator of a node without its overload: `aten.add_` of `torch.ops.aten.add_.Tensor`."""
    target = node.target.removeprefix("torch.ops.")
    return target.rpartition(".")[0] if target.count(".") == 2 else target


def _by(op_type: str) -> Callable[[Node, int], Call]:
    """Put back by an operator that takes what the view took."""
    return lambda node, output: (op_type, {key: value for key, value in node.arguments.items() if key != "self"})


def _reshaped(node: Node, output: int) -> Call:
    return "whence.shaped_as", {}


def _part_of(node: Node, output: int) -> Call:
    """One of several parts along an axis."""
    kept = {key: value for key, value in node.arguments.items() if key != "self"}
    return "whence.part_scatter", {
        **kept,
        "operator": operator_of(node),
        "number": output,
        "count": len(node.outputs[0]),
    }


def _unbound_of(node: Node, output: int) -> Call:
    return "aten.select_scatter.default", {"dim": node.arguments.get("dim", 0), "index": output}


def _strides_allow(node: Node, whole: TensorMeta | None, part: TensorMeta | None) -> bool:
    """Return whether elements in their order in memory are those of the other shape, as torch decides."""
    if whole is None or part is None:
        return True
    return viewable(whole, [extent_of(size) for size in part.sizes])


class _Symbols(Mapping[str, Size]):
    """Each symbol as a size of its name."""

    def __getitem__(self, name: str) -> Size:
        return symbol(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.isidentifier()


def extent_of(size: int | str) -> Size:
    """An extent or stride that the exporter knew, with its own symbols."""
    return parse_expression(size, _Symbols(), "tensor_values") if isinstance(size, str) else size


def viewable(whole: TensorMeta, sizes: Sequence[Size]) -> bool:
    """Return whether another shape of a tensor needs no copy."""
    axes = [(extent_of(n), extent_of(s)) for n, s in zip(whole.sizes, whole.strides, strict=True)]
    if any(same(extent, 0) for extent, _ in axes):
        return True
    # Runs of axes whose elements lie at one distance; each must be a product of new extents.
    runs: list[Size] = []
    last: Size = 0
    for extent, stride in axes:
        if same(extent, 1):
            continue
        if runs and same(last, extent * stride):
            runs[-1] = runs[-1] * extent
        else:
            runs.append(extent)
        last = stride
    wanted = [size for size in sizes if not same(size, 1)]
    for run in runs:
        have: Size = 1
        while not same(have, run) and wanted:
            have = have * wanted.pop(0)
        if not same(have, run):
            return False
    return not wanted


def _same_dtype(node: Node, whole: TensorMeta | None, part: TensorMeta | None) -> bool:
    """`to` gives its argument back where nothing changes and no copy is asked for."""
    if node.arguments.get("copy") is True:
        return False
    return whole is None or part is None or whole.dtype == part.dtype


def _same_strides(node: Node, whole: TensorMeta | None, part: TensorMeta | None) -> bool:
    return whole is None or part is None or whole.strides == part.strides


def _in_inference(node: Node, whole: TensorMeta | None, part: TensorMeta | None) -> bool:
    return node.arguments.get("train") is not True


_SAME = View(scattered=_reshaped)
_SHAPED = View(scattered=_reshaped, when=_strides_allow)
_DROPPED = View("input", _reshaped, _in_inference)

VIEWS: Mapping[str, View] = {
    "aten._reshape_alias": _SAME,
    "aten.alias": _SAME,
    "aten.as_strided": View(),
    "aten.broadcast_to": View(),
    "aten.chunk": View(scattered=_part_of),
    "aten.contiguous": View(scattered=_reshaped, when=_same_strides),
    "aten.detach": _SAME,
    "aten.detach_": _SAME,
    "aten.diagonal": View(scattered=_by("aten.diagonal_scatter.default")),
    "aten.dropout": _DROPPED,
    "aten.dsplit": View(scattered=_part_of),
    "aten.expand": View(),
    "aten.expand_as": View(),
    "aten.feature_dropout": _DROPPED,
    "aten.flatten": _SHAPED,
    "aten.hsplit": View(scattered=_part_of),
    "aten.lift_fresh": _SAME,
    "aten.mH": View(scattered=_by("whence.swapped_back")),
    "aten.mT": View(scattered=_by("whence.swapped_back")),
    "aten.movedim": View(scattered=_by("whence.moved_back")),
    "aten.matrix_H": View(scattered=_by("whence.swapped_back")),
    "aten.moveaxis": View(scattered=_by("whence.moved_back")),
    "aten.narrow": View(scattered=_by("whence.narrow_scatter")),
    "aten.numpy_T": View(scattered=_by("whence.permuted_back")),
    "aten.permute": View(scattered=_by("whence.permuted_back")),
    "aten.positive": _SAME,
    "aten.ravel": _SHAPED,
    "aten.reshape": _SHAPED,
    "aten.reshape_as": _SHAPED,
    "aten.select": View(scattered=_by("aten.select_scatter.default")),
    "aten.slice": View(scattered=_by("aten.slice_scatter.default")),
    "aten.split": View(scattered=_part_of),
    "aten.split_with_sizes": View(scattered=_part_of),
    "aten.squeeze": _SAME,
    "aten.swapaxes": View(scattered=_by("whence.transposed_back")),
    "aten.swapdims": View(scattered=_by("whence.transposed_back")),
    "aten.t": View(scattered=_by("whence.permuted_back")),
    "aten.tensor_split": View(scattered=_part_of),
    "aten.to": View(scattered=_reshaped, when=_same_dtype),
    "aten.transpose": View(scattered=_by("whence.transposed_back")),
    "aten.type_as": View(scattered=_reshaped, when=_same_dtype),
    "aten.unbind": View(scattered=_unbound_of),
    "aten.unflatten": _SAME,
    "aten.unfold": View(),
    "aten.unsqueeze": _SAME,
    "aten.real": _SAME,
    "aten.resolve_conj": _SAME,
    "aten.resolve_neg": _SAME,
    "aten.view": _SAME,
    "aten.view_as": _SAME,
    "aten.vsplit": View(scattered=_part_of),
}
"""Operator -> how its results are views."""

_NOT_IN_PLACE = ("aten.detach_", "aten.requires_grad_")


DUNDER = {"__iadd__": "__add__", "__iand__": "__and__", "__ior__": "__or__", "__ixor__": "__xor__"}
"""Operators in place whose names do not end as others' -> those that they compute."""


def functional(op_type: str) -> str:
    """The operator that computes what one in place writes: `aten.add.Tensor` of `aten.add_.Tensor`."""
    head, _, overload = op_type.rpartition(".")
    package, _, name = head.rpartition(".")
    return f"{package}.{DUNDER.get(name) or name.removesuffix('_')}.{overload}"


def written_by(node: Node) -> str | None:
    """The argument that an operator writes to, which is its result, too; None for one that writes nothing."""
    operator = operator_of(node)
    name = operator.rpartition(".")[2]
    if (
        operator.startswith("_operator.")
        or operator in _NOT_IN_PLACE
        or not (name in DUNDER or (name.endswith("_") and not name.endswith("__")))
    ):
        return None
    return next((key for key, value in node.arguments.items() if isinstance(value, Name)), None)
