"""WordConvEmbedding of com.microsoft: words as the greatest of what a convolution makes of their characters."""

from __future__ import annotations

from ...dialects.relay.convolution import Conv1DOp
from ...dialects.relay.reduce import MaxOp, SumOp
from ...dialects.relay.transform import StridedSliceOp, TakeOp, TransposeOp
from ...dialects.sizes import proves
from ..importing.rows import row
from ..importing.terms import Term, maximum, places, tanh, where
from ..meanings.indices import check_indices
from .context import Context


def word_conv_embedding(ctx: Context, letters: Term, kernel: Term, bias: Term, table: Term) -> Term:
    """(words, filters), of characters (words, length), filters (filters, 1, window, features), and their embeddings.

    As in onnxruntime, a word has as many characters as are above 0, and one window at least. One that begins with 0
    becomes zeros; there onnxruntime writes nothing.
    """
    (words, length), (filters, channels, window, features) = letters.shape, kernel.shape
    sizes = {"embedding_size": filters, "conv_window_size": window, "char_embedding_size": features}
    for name, size in sizes.items():
        ctx.only(name, size)
    if channels != 1 or table.shape[1] != features or proves(length, "<", window):
        expected = f"words of {window} characters or more, filters of 1 channel, {features} features"
        ctx.fail(expected, f"{length}, {channels} and {table.shape[1]}")
    check_indices(letters, table.shape[:1], ignored=())
    embedded = table.apply(TakeOp, letters, axis=0).apply(TransposeOp, axes=(0, 2, 1))
    kernel = kernel.reshape(filters, window, features).apply(TransposeOp, axes=(0, 2, 1))
    windows = embedded.apply(Conv1DOp, kernel, channels=filters, kernel_size=(window,))
    values = tanh(windows + bias.reshape(1, filters, 1))
    begun = letters.apply(StridedSliceOp, begin=(0,), end=(1,), axes=(1,)) > 0
    count = (letters > 0).to("int64").apply(SumOp, axis=(1,), keepdims=True)
    inside = places(ctx, length - window + 1, 3, 2) < maximum(count - (window - 1), 1).reshape(words, 1, 1)
    # The hyperbolic tangent is above -2 everywhere.
    greatest = where(inside, values, -2.0).apply(MaxOp, axis=(2,))
    return where(begun, greatest, 0.0)


MICROSOFT = {"WordConvEmbedding": row(word_conv_embedding, "Sequence W B C")}
