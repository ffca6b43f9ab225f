"""WordConvEmbedding of com.microsoft: words as the greatest of what a convolution makes of their characters."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ...dialects.relay.convolution import Conv1DOp
from ...dialects.relay.reduce import MaxOp, SumOp
from ...dialects.relay.transform import StridedSliceOp, TakeOp, TransposeOp
from ...dialects.sizes import proves
from ..importing.converter import Converter
from ..importing.indices import check_indices
from ..importing.terms import Term, maximum, places, tanh, term, where
from .context import Context


def word_conv_embedding(ctx: Context) -> SSAValue:
    """(words, filters), of characters (words, length), filters (filters, 1, window, features), and their embeddings.

    As in onnxruntime, a word has as many characters as are above 0, and one window at least. One that begins with 0
    becomes zeros; there onnxruntime writes nothing.
    """
    (words, length), (filters, channels, window, features) = ctx.shape(0), ctx.shape(1)
    sizes = {"embedding_size": filters, "conv_window_size": window, "char_embedding_size": features}
    for name, size in sizes.items():
        ctx.only(name, size)
    if channels != 1 or ctx.shape(3)[1] != features or proves(length, "<", window):
        expected = f"words of {window} characters or more, filters of 1 channel, {features} features"
        ctx.fail(expected, f"{length}, {channels} and {ctx.shape(3)[1]}")
    check_indices(ctx, 0, ctx.shape(3)[:1], ignored=())
    letters = term(ctx, 0)
    embedded = term(ctx, 3).apply(TakeOp, letters, axis=0).apply(TransposeOp, axes=(0, 2, 1))
    kernel = term(ctx, 1).reshape(filters, window, features).apply(TransposeOp, axes=(0, 2, 1))
    windows = Term(ctx, ctx.emit(Conv1DOp, embedded.value, kernel.value, channels=filters, kernel_size=(window,)))
    values = tanh(windows + term(ctx, 2).reshape(1, filters, 1))
    begun = Term(ctx, ctx.emit(StridedSliceOp, letters.value, begin=(0,), end=(1,), axes=(1,))) > 0
    count = (letters > 0).to("int64").apply(SumOp, axis=(1,), keepdims=True)
    inside = places(ctx, length - window + 1, 3, 2) < maximum(count - (window - 1), 1).reshape(words, 1, 1)
    # The hyperbolic tangent is above -2 everywhere.
    greatest = where(inside, values, -2.0).apply(MaxOp, axis=(2,))
    return where(begun, greatest, 0.0).value


MICROSOFT = {"WordConvEmbedding": Converter(word_conv_embedding)}
