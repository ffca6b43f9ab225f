"""Networks of speech and of other signals."""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from .case import Case, Returning
from .transformers_vision import SMALL, network

CONVOLUTIONS: dict[str, Any] = {
    "conv_dim": (16, 16),
    "conv_stride": (5, 2),
    "conv_kernel": (10, 3),
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 2,
}


def _waves(family: str, other: int | None = 480, result: str = "last_hidden_state", **options: Any) -> Case:
    model = network(f"{family}Model", f"{family}Config", **SMALL, **options)
    case = Returning(model, result, ("input_values",))
    axes = (0,) if other is None else (0, 1)
    return Case(case, (torch.randn(2, 400),), (torch.randn(3, other or 400),), (axes,))


def _whisper() -> Case:
    options: dict[str, Any] = {
        "d_model": 32,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "encoder_attention_heads": 2,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": 48,
        "decoder_ffn_dim": 48,
        "num_mel_bins": 8,
        "max_source_positions": 12,
        "vocab_size": 64,
        "max_target_positions": 16,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "decoder_start_token_id": 1,
    }
    model = network("WhisperForConditionalGeneration", "WhisperConfig", **options)

    def inputs(batch: int, words: int) -> tuple[torch.Tensor, ...]:
        return torch.randn(batch, 8, 24), torch.randint(3, 64, (batch, words))

    case = Returning(model, "logits", ("input_features", "decoder_input_ids"), use_cache=False)
    return Case(case, inputs(2, 4), inputs(3, 6), ((0,), (0, 1)))


def _spectrogram() -> Case:
    model = network(
        "ASTModel", "ASTConfig", patch_size=4, max_length=16, num_mel_bins=8, frequency_stride=4, time_stride=4, **SMALL
    )
    case = Returning(model, "last_hidden_state", ("input_values",))
    return Case(case, (torch.randn(2, 16, 8),), (torch.randn(3, 16, 8),), ((0,),))


def _vocoder() -> Case:
    model = network(
        "SpeechT5HifiGan",
        "SpeechT5HifiGanConfig",
        model_in_dim=8,
        upsample_initial_channel=16,
        upsample_rates=[4, 2],
        upsample_kernel_sizes=[8, 4],
        resblock_kernel_sizes=[3],
        resblock_dilation_sizes=[[1, 3]],
    )
    return Case(model, (torch.randn(2, 9, 8),), (torch.randn(3, 13, 8),), ((0, 1),))


NETWORKS: dict[str, Callable[[], Case]] = {
    "transformers/wav2vec2": partial(_waves, "Wav2Vec2", **CONVOLUTIONS),
    "transformers/hubert": partial(_waves, "Hubert", **CONVOLUTIONS),
    "transformers/wavlm": partial(_waves, "WavLM", other=None, **CONVOLUTIONS),
    "transformers/whisper": _whisper,
    "transformers/ast": _spectrogram,
    "transformers/hifigan": _vocoder,
}
