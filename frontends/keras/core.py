"""Dense, Embedding and what lets its input through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.ir import SSAValue

from ...dialects.relay.logic import NotEqualOp
from ...dialects.relay.reduce import AnyOp
from ...dialects.relay.transform import TakeOp
from ..importing.tensor import dtype_of, shape_of
from ..importing.terms import Term, tanh, where
from ..meanings import products
from ..meanings.einsum import einsum
from ..meanings.windows import biased
from .activations import activated
from .context import Config, Context
from .masks import KEPT, Masks
from .nests import items_of, whole
from .quantized import dense_of, from_4_bits, quantization_of
from .rows import OF_TRAINING, Row, own
from .weights import Variables


def dense(ctx: Context) -> SSAValue:
    """The product of the last axis with the kernel, then the bias and the activation."""
    x, units = Term(ctx, ctx.data()), ctx.int("units", least=1)
    *rows, depth = x.shape
    if ctx.option("lora_rank") is not None:
        ctx.fail("a kernel without LoRA", f"lora_rank {ctx.option('lora_rank')}")
    if (quantization := quantization_of(ctx.config)) is not None:
        flat = x.reshape(prod(rows), depth)
        result = Term(ctx, dense_of(ctx, quantization, "ab,bc->ac", flat.value, (depth, units)))
        return activated(ctx, biased(result, _bias(ctx, units)).reshape(*rows, units).value)
    kernel = Term(ctx, ctx.weight("kernel", (depth, units)))
    return activated(ctx, products.dense(x, kernel, _bias(ctx, units), outputs_first=False).value)


def _bias(ctx: Context, units: int) -> Term | None:
    return Term(ctx, ctx.weight("bias", (units,))) if ctx.has_weight("bias") else None


def einsum_dense(ctx: Context) -> SSAValue:
    """The product that an equation names, then the bias, which has the axes `bias_axes`, and the activation."""
    x, equation = Term(ctx, ctx.data()), ctx.word("equation").replace(" ", "")
    if (quantization := quantization_of(ctx.config)) is not None:
        shape = ctx.shape(ctx.weight_place("kernel"))
        if quantization.bits == 4:
            shape = _kernel_shape(ctx, equation, x.shape)
        result = Term(ctx, dense_of(ctx, quantization, equation, x.value, shape))
    else:
        result = einsum(x, Term(ctx, ctx.weight("kernel")), equation=equation)
    if ctx.has_weight("bias"):
        result = result + Term(ctx, ctx.weight("bias"))
    return activated(ctx, result.value)


def _kernel_shape(ctx: Context, equation: str, shape: Sequence[int]) -> tuple[int, ...]:
    """The shape of a kernel by the equation, the input's shape and the output's: files have it as a matrix."""
    left, _, result = equation.partition("->")
    inputs, _, kernel = left.partition(",")
    option = ctx.option("output_shape")
    outputs = [option] if whole(option) is not None else items_of(option) or []
    if "." in equation or len(inputs) != len(shape) or len(outputs) > len(result):
        ctx.fail("an equation of single letters, and the output's shape", f"{equation} and {option}")
    extents = dict(zip(result[len(result) - len(outputs) :], outputs, strict=True)) | dict(
        zip(inputs, shape, strict=True)
    )
    if any(whole(extents.get(letter)) is None for letter in kernel):
        ctx.fail("the size of each axis of the kernel", f"{equation} and {option}")
    return tuple(extents[letter] for letter in kernel)


def embedding(ctx: Context) -> SSAValue:
    """The rows of a table; indices outside of it are brought inside."""
    rows, width = ctx.int("input_dim", least=1), ctx.int("output_dim", least=1)
    references = ctx.references()
    if len(references) != 1:
        ctx.fail("one tensor of indices", str(len(references)))
    indices = super(Context, ctx).value(references[0])
    if dtype_of(indices).kind not in "iu":
        indices = ctx.cast(indices, "int32")
    else:
        ctx.require_indices(indices, (rows,))
    quantization = quantization_of(ctx.config)
    if quantization is None:
        table = ctx.weight("embeddings", (rows, width))
    elif quantization.bits == 4:
        table = ctx.of_weight("embeddings", from_4_bits(ctx, quantization, "embeddings", (rows, width), 1))
    else:
        table = super(Context, ctx).value(ctx.weight_place("embeddings", (rows, width)))
    found = ctx.emit(TakeOp, table, indices, axis=0, mode="clip")
    if quantization is None or quantization.bits == 4:
        return found
    steps = ctx.emit(TakeOp, ctx.weight("embeddings_scale", (rows,)), indices, axis=0, mode="clip")
    return (Term(ctx, found).to(ctx.dtype_name) / Term(ctx, steps).reshape(*shape_of(steps), 1)).value


def reversible_embedding(ctx: Context) -> SSAValue:
    """An Embedding, or, called with `reverse`, the product of its input with the table."""
    if ctx.argument(1, "reverse", False) is not True:
        return embedding(ctx)
    rows, width = ctx.int("input_dim", least=1), ctx.int("output_dim", least=1)
    if ctx.option("reverse_dtype") is not None and ctx.option("reverse_dtype") != ctx.dtype_name:
        ctx.fail(f"a reverse_dtype {ctx.dtype_name} as the layer's", repr(ctx.option("reverse_dtype")))
    x, is_tied = Term(ctx, ctx.data()), ctx.flag("tie_weights", True)
    name, shape = ("embeddings", (rows, width)) if is_tied else ("reverse_embeddings", (width, rows))
    logits = products.dense(x, Term(ctx, ctx.weight(name, shape)), outputs_first=is_tied)
    if ctx.option("logit_soft_cap") is None:
        return logits.value
    cap = ctx.float("logit_soft_cap")
    return (tanh(logits / cap) * cap).value


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


def _quantized(weight: str, *others: str) -> Callable[[Config], tuple[Variables, ...]]:
    """The variables of a layer whose first one may be quantised; others by conditions `name?option`."""

    def variables(config: Config) -> tuple[Variables, ...]:
        rows = [name.partition("?") for name in others]
        more = [name for name, _, option in rows if config.get(option, option == "use_bias") not in (None, False)]
        quantization = quantization_of(config)
        return (Variables((weight, *more) if quantization is None else quantization.names(weight, *more)),)

    return variables


def _of_reversible(config: Config) -> tuple[Variables, ...]:
    if quantization_of(config) is not None:
        raise ValueError("a quantised table that is read both ways")
    names = ("embeddings",) if config.get("tie_weights", True) else ("embeddings", "reverse_embeddings")
    return (Variables(names),)


_MASK_OF_EMBEDDING = Masks(computed=_nonzero, condition=lambda config, masked: config.get("mask_zero") is True)
TABLE = {
    "Dense": Row(dense, _quantized("kernel", "bias?use_bias"), KEPT),
    "EinsumDense": Row(einsum_dense, _quantized("kernel", "bias?bias_axes")),
    "Embedding": Row(embedding, _quantized("embeddings"), _MASK_OF_EMBEDDING),
    "LayerScale": Row(layer_scale, own("gamma")),
    "Masking": Row(masking, masks=Masks(computed=_mask_of_masking)),
    "ReversibleEmbedding": Row(
        reversible_embedding,
        _of_reversible,
        _MASK_OF_EMBEDDING,
        unread=dict.fromkeys(("logit_soft_cap", "reverse_dtype"), "of calls with reverse"),
    ),
    "StochasticDepth": Row(identity, unread=OF_TRAINING),
    **dict.fromkeys(("ActivityRegularization", "Identity"), Row(identity, masks=KEPT, unread=OF_TRAINING)),
}
