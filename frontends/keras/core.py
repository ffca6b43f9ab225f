"""Dense, Embedding and what lets its input through."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ...dialects.relay.logic import NotEqualOp
from ...dialects.relay.matmul import BiasAddOp
from ...dialects.relay.reduce import AnyOp
from ...dialects.relay.transform import TakeOp
from ..importing.einsum import contraction
from ..importing.products import dense as product
from ..importing.products import reshaped
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term, where
from .activations import activated
from .context import Config, Context
from .masks import KEPT, Masks
from .rows import Row, own
from .weights import Variables


def dense(ctx: Context) -> SSAValue:
    """nn.dense of the last axis, then the bias and the activation."""
    data, units = ctx.data(), ctx.positive("units")
    *rows, depth = shape_of(data)
    kernel = ctx.weight("kernel", (depth, units))
    if ctx.option("lora_rank") is not None:
        ctx.fail("a kernel without LoRA", f"lora_rank {ctx.option('lora_rank')}")
    flat = reshaped(ctx, data, (prod(rows), depth))
    result = product(ctx, flat, kernel, outputs_first=False)
    if ctx.has_weight("bias"):
        result = ctx.emit(BiasAddOp, result, ctx.weight("bias", (units,)), axis=1)
    return activated(ctx, reshaped(ctx, result, (*rows, units)))


def einsum_dense(ctx: Context) -> SSAValue:
    """The product that an equation names, then the bias, which has the axes `bias_axes`, and the activation."""
    data, equation = ctx.data(), ctx.str("equation").replace(" ", "")
    kernel = ctx.weight("kernel")
    result = contraction(ctx, equation, [Term(ctx, data), Term(ctx, kernel)])
    if ctx.has_weight("bias"):
        result = (Term(ctx, result) + Term(ctx, ctx.weight("bias"))).value
    return activated(ctx, result)


def embedding(ctx: Context) -> SSAValue:
    """The rows of a table; indices outside of it are brought inside."""
    rows, width = ctx.positive("input_dim"), ctx.positive("output_dim")
    references = ctx.references()
    if len(references) != 1:
        ctx.fail("one tensor of indices", str(len(references)))
    indices = super(Context, ctx).value(references[0])
    if dtype_of(indices).kind not in "iu":
        indices = ctx.cast(indices, "int32")
    else:
        ctx.require_indices(references[0], (rows,))
    return ctx.emit(TakeOp, ctx.weight("embeddings", (rows, width)), indices, axis=0, mode="clip")


def _nonzero(ctx: Context) -> SSAValue:
    """The mask of an Embedding: true at indices that are not 0."""
    indices = super(Context, ctx).value(ctx.references()[0])
    return ctx.emit(NotEqualOp, indices, ctx.scalar(0, indices))


def _unlike(ctx: Context) -> Term:
    """The mask of a Masking, with an axis of 1: true at steps that have another number than `mask_value` in them."""
    data = ctx.data()
    different = ctx.emit(NotEqualOp, data, ctx.scalar(ctx.float("mask_value", 0.0), data))
    return Term(ctx, different).apply(AnyOp, axis=(-1,), keepdims=True)


def masking(ctx: Context) -> SSAValue:
    """0 at the steps that the mask leaves out."""
    return where(_unlike(ctx), Term(ctx, ctx.data()), 0.0).value


def _mask_of_masking(ctx: Context) -> SSAValue:
    mask = _unlike(ctx)
    return mask.reshape(*mask.shape[:-1]).value


def layer_scale(ctx: Context) -> SSAValue:
    """Each channel times a weight: a layer of ConvNeXt in keras.applications."""
    data = ctx.data()
    return (Term(ctx, data) * Term(ctx, ctx.weight("gamma", shape_of(data)[-1:]))).value


def identity(ctx: Context) -> SSAValue:
    return ctx.data()


def _einsum_bias(config: Config) -> tuple[Variables, ...]:
    return (Variables(("kernel", "bias") if config.get("bias_axes") is not None else ("kernel",)),)


_MASK_OF_EMBEDDING = Masks(computed=_nonzero, condition=lambda config, masked: config.get("mask_zero") is True)
TABLE = {
    "Dense": Row(dense, own("kernel", "bias?use_bias"), KEPT),
    "EinsumDense": Row(einsum_dense, _einsum_bias),
    "Embedding": Row(embedding, own("embeddings"), _MASK_OF_EMBEDDING),
    "LayerScale": Row(layer_scale, own("gamma")),
    "Masking": Row(masking, masks=Masks(computed=_mask_of_masking)),
    "StochasticDepth": Row(identity),
    **dict.fromkeys(
        (
            "ActivityRegularization",
            "AlphaDropout",
            "Dropout",
            "GaussianDropout",
            "GaussianNoise",
            "Identity",
            "SpatialDropout1D",
            "SpatialDropout2D",
            "SpatialDropout3D",
        ),
        Row(identity, masks=KEPT),
    ),
}
