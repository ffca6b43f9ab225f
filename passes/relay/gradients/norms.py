"""Gradients of norms: of what has its mean and deviation taken out, or its length.

With `centred` the data less its mean and `r = 1 / sqrt(variance + epsilon)`, a norm is `h = centred * r`, scaled and
shifted; the data's gradient for `g`, that of `h`, is `r * (g - mean(g) - h * mean(g * h))`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from ....dialects.relay.elementwise import AddOp, MaximumOp, PowerOp, RsqrtOp
from ....dialects.relay.nn import BatchNormOp
from ....dialects.relay.normalization import LayerNormOp, LRNOp
from ....dialects.relay.norms import GroupNormOp, InstanceNormOp, L2NormalizeOp, RMSNormOp
from ....dialects.relay.operator import Operator, shape_of
from ....dialects.relay.reduce import MeanOp, SumOp, VarianceOp
from ....dialects.relay.transform import PadOp
from .site import Gradients, Rule, Site


def _along(s: Site, vector: SSAValue, axis: int) -> SSAValue:
    """A vector as a tensor of the data's rank, whose elements lie along an axis."""
    shape = shape_of(s.x)
    return s.reshape(vector, [extent if i == axis else 1 for i, extent in enumerate(shape)])


def _over_rest(s: Site, value: SSAValue, axis: int) -> SSAValue:
    """The sums over all axes but one."""
    return s.add(SumOp(value, axis=[axis], exclude=True))


def _affine(s: Site, g: SSAValue, inner: Callable[[SSAValue], tuple[SSAValue, SSAValue]]) -> Gradients:
    """Gradients of data, gamma and beta; `inner` gives `h`, and the data's gradient, for the gradient of `h`."""
    axis = s.sig.int("axis") % len(shape_of(s.x))
    gamma, beta = s.op.operands[1:3]
    scaled = s.mul(g, _along(s, gamma, axis)) if s.sig.get("scale") else g
    normal, by_data = inner(scaled)
    by_gamma = _over_rest(s, s.mul(g, normal), axis) if s.sig.get("scale") else s.zeros(gamma)
    by_beta = _over_rest(s, g, axis) if s.sig.get("center") else s.zeros(beta)
    return [by_data, by_gamma, by_beta]


def _normal(s: Site, rows: SSAValue, g: SSAValue, axes: list[int]) -> tuple[SSAValue, SSAValue]:
    """The rows with mean 0 and variance 1 over some axes, and the gradient of the rows for theirs."""
    mean = s.add(MeanOp(rows, axis=axes, keepdims=True))
    variance = s.add(VarianceOp(rows, mean, axis=axes, keepdims=True))
    inverse = s.add(RsqrtOp(s.plus(variance, float(s.sig.get("epsilon")))))
    normal = s.mul(s.sub(rows, mean), inverse)
    even = s.add(MeanOp(g, axis=axes, keepdims=True))
    odd = s.add(MeanOp(s.mul(g, normal), axis=axes, keepdims=True))
    return normal, s.mul(inverse, s.sub(s.sub(g, even), s.mul(normal, odd)))


def _layer_norm(s: Site, g: Sequence[SSAValue]) -> Gradients:
    axes = [s.sig.int("axis") % len(shape_of(s.x))]
    return _affine(s, g[0], lambda scaled: _normal(s, s.x, scaled, axes))


def _instance_norm(s: Site, g: Sequence[SSAValue]) -> Gradients:
    rank = len(shape_of(s.x))
    axes = [i for i in range(1, rank) if i != s.sig.int("axis") % rank]
    return _affine(s, g[0], lambda scaled: _normal(s, s.x, scaled, axes))


def _group_norm(s: Site, g: Sequence[SSAValue]) -> Gradients:
    shape = shape_of(s.x)
    axis, groups = s.sig.int("axis") % len(shape), s.sig.int("num_groups")
    split = [*shape[:axis], groups, shape[axis] // groups, *shape[axis + 1 :]]
    axes = [i for i in range(1, len(split)) if i != axis]

    def inner(scaled: SSAValue) -> tuple[SSAValue, SSAValue]:
        normal, by_rows = _normal(s, s.reshape(s.x, split), s.reshape(scaled, split), axes)
        return s.reshape(normal, shape), s.reshape(by_rows, shape)

    return _affine(s, g[0], inner)


def _batch_norm(s: Site, g: Sequence[SSAValue]) -> Gradients:
    """Its mean and variance are operands, and results as they are."""
    axis = s.sig.int("axis") % len(shape_of(s.x))
    mean, variance = s.op.operands[3:5]
    inverse = s.add(RsqrtOp(s.plus(variance, float(s.sig.get("epsilon")))))
    scale = s.mul(inverse, s.op.operands[1]) if s.sig.get("scale") else inverse
    centred = s.sub(s.x, _along(s, mean, axis))
    by_data, by_gamma, by_beta = _affine(
        s, g[0], lambda scaled: (s.mul(centred, _along(s, inverse, axis)), s.mul(scaled, _along(s, inverse, axis)))
    )
    total = _over_rest(s, g[0], axis)
    spread = _over_rest(s, s.mul(g[0], centred), axis)
    by_mean = s.sub(g[1], s.mul(total, scale))
    by_variance = s.sub(g[2], s.mul(s.mul(s.mul(spread, scale), s.mul(inverse, inverse)), 0.5))
    return [by_data, by_gamma, by_beta, by_mean, by_variance]


def _by_length(s: Site, g: SSAValue, inverse: SSAValue, part: SSAValue) -> SSAValue:
    """The gradient of the data of `data * inverse`, of which `part` says how much comes back through `inverse`."""
    return s.sub(s.mul(g, inverse), s.mul(s.x, part))


def _l2_normalize(s: Site, g: Sequence[SSAValue]) -> Gradients:
    axes, eps = list(L2NormalizeOp.axes(s.sig)), float(s.sig.get("eps"))
    total = s.add(SumOp(s.mul(s.x, s.x), axis=axes, keepdims=True))
    inverse = s.add(RsqrtOp(s.add(MaximumOp(total, s.scalar(eps, total)))))
    along = s.add(SumOp(s.mul(g[0], s.x), axis=axes, keepdims=True))
    part = s.mul(along, s.mul(inverse, s.mul(inverse, inverse)))
    return [_by_length(s, g[0], inverse, s.where(s.less(total, eps), s.zeros(part), part))]


def _rms_norm(s: Site, g: Sequence[SSAValue]) -> Gradients:
    axis = s.sig.int("axis") % len(shape_of(s.x))
    square = s.add(MeanOp(s.mul(s.x, s.x), axis=[axis], keepdims=True))
    inverse = s.add(RsqrtOp(s.plus(square, float(s.sig.get("epsilon")))))
    scaled = s.mul(g[0], _along(s, s.op.operands[1], axis))
    along = s.add(MeanOp(s.mul(scaled, s.x), axis=[axis], keepdims=True))
    part = s.mul(along, s.mul(inverse, s.mul(inverse, inverse)))
    by_weight = _over_rest(s, s.mul(g[0], s.mul(s.x, inverse)), axis)
    return [_by_length(s, scaled, inverse, part), by_weight]


def _lrn(s: Site, g: Sequence[SSAValue]) -> Gradients:
    shape, size = shape_of(s.x), s.sig.int("size")
    axis = s.sig.int("axis") % len(shape)
    before = (size - 1) // 2
    factor, beta = float(s.sig.get("alpha")) / size, float(s.sig.get("beta"))

    def windows(value: SSAValue, first: int) -> SSAValue:
        """The sums over `size` neighbours, of which `first` lie before."""
        width = [0] * (2 * len(shape))
        width[2 * axis : 2 * axis + 2] = [first, size - 1 - first]
        padded = s.add(PadOp(value, s.scalar(0.0, value), pad_width=width))
        total: SSAValue | None = None
        for start in range(size):
            part = s.cut(padded, [0] * axis + [start], [*shape[:axis], start + shape[axis]])
            total = part if total is None else s.add(AddOp(total, part))
        assert total is not None
        return total

    base = s.plus(s.mul(windows(s.mul(s.x, s.x), before), factor), float(s.sig.get("bias")))
    inverse = s.add(PowerOp(base, s.scalar(-beta, base)))
    part = s.div(s.mul(s.mul(g[0], s.x), inverse), base)
    # A window that has an element has it on the other side.
    back = s.mul(windows(part, size - 1 - before), 2 * factor * beta)
    return [_by_length(s, g[0], inverse, back)]


RULES: dict[type[Operator], Rule] = {
    BatchNormOp: _batch_norm,
    LayerNormOp: _layer_norm,
    InstanceNormOp: _instance_norm,
    GroupNormOp: _group_norm,
    RMSNormOp: _rms_norm,
    L2NormalizeOp: _l2_normalize,
    LRNOp: _lrn,
}
