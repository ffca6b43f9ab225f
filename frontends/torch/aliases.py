"""Aliases of operators, overload by overload."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

_SAME: Mapping[str, str] = {
    "_unsafe_index": "index",
    "_unsafe_index_put": "index_put",
    "alias_copy": "alias",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "clip": "clamp",
    "concatenate": "cat",
    "det": "linalg_det",
    "detach_copy": "detach",
    "diagonal_copy": "diagonal",
    "expand_copy": "expand",
    "fix": "trunc",
    "ger": "outer",
    "greater": "gt",
    "greater_equal": "ge",
    "inverse": "linalg_inv",
    "less": "lt",
    "less_equal": "le",
    "linalg_matmul": "matmul",
    "moveaxis": "movedim",
    "nll_loss": "nll_loss_nd",
    "nll_loss2d": "nll_loss_nd",
    "not_equal": "ne",
    "permute_copy": "permute",
    "row_stack": "vstack",
    "select_copy": "select",
    "slice_copy": "slice",
    "special_erf": "erf",
    "special_erfc": "erfc",
    "special_erfinv": "erfinv",
    "special_exp2": "exp2",
    "special_expit": "sigmoid",
    "special_expm1": "expm1",
    "special_log1p": "log1p",
    "special_logit": "logit",
    "special_logsumexp": "logsumexp",
    "special_round": "round",
    "special_sinc": "sinc",
    "squeeze_copy": "squeeze",
    "t_copy": "t",
    "transpose_copy": "transpose",
    "unbind_copy": "unbind",
    "unfold_copy": "unfold",
    "unsqueeze_copy": "unsqueeze",
    "view_copy": "view",
}
"""Operator of aten -> the operator with the same overloads."""
_OVERLOADS: Mapping[str, str] = {
    "_reshape_alias.default": "view.default",
    "pdist.default": "_pdist_forward.default",
    "special_log_softmax.default": "log_softmax.int",
    "special_softmax.default": "softmax.int",
    "special_xlogy.default": "xlogy.Tensor",
    "special_xlogy.other_scalar": "xlogy.Tensor",
    "special_xlogy.self_scalar": "xlogy.Tensor",
    "xlogy.Scalar_Other": "xlogy.Tensor",
    "xlogy.Scalar_Self": "xlogy.Tensor",
    "conj_physical.default": "positive.default",
    "mH.default": "mT.default",
    "matrix_H.default": "mT.default",
    "narrow_copy.default": "narrow.default",
    "new_empty_strided.default": "new_empty.default",
    "real.default": "positive.default",
    "resolve_conj.default": "positive.default",
    "resolve_neg.default": "positive.default",
    "_cdist_forward.default": "cdist.default",
    "isin.Scalar_Tensor": "isin.Tensor_Tensor",
    "isin.Tensor_Scalar": "isin.Tensor_Tensor",
    "argwhere.default": "nonzero.default",
    "searchsorted.Scalar": "searchsorted.Tensor",
    "bucketize.Scalar": "bucketize.Tensor",
}
"""Overload of aten -> the overload that replaces it, whose arguments have the same names."""


def original_of(name: str) -> str | None:
    """Return the overload that replaces an alias, by their names in aten; None for an overload that is no alias."""
    library, _, overload = name.partition(".")
    if library != "aten":
        return None
    operator, _, kind = overload.partition(".")
    original = _OVERLOADS.get(overload) or (f"{_SAME[operator]}.{kind}" if operator in _SAME else None)
    return original and f"aten.{original}"


def aliases_of(names: Iterable[str]) -> Iterator[str]:
    """Yield the names of all aliases of overloads with rows."""
    kinds: dict[str, list[str]] = {}
    for name in names:
        operator, _, kind = name.removeprefix("aten.").partition(".")
        kinds.setdefault(operator, []).append(kind)
    yield from (f"aten.{overload}" for overload in _OVERLOADS)
    yield from (f"aten.{alias}.{kind}" for alias, operator in _SAME.items() for kind in kinds.get(operator, ()))
