"""Networks of texts of transformers: encoders, decoders, both, mixtures of experts and state space models."""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import torch

from .case import Case, Returning, token_ids
from .transformers_vision import SMALL, network

WORDS = 64
GROUPED = {**SMALL, "vocab_size": WORDS, "num_key_value_heads": 1, "max_position_embeddings": 64}
"""A decoder whose heads share keys and values."""


def _encoder(family: str, other: int | None = 11, masked: bool = False, length: int = 7, **options: Any) -> Case:
    """The hidden states of an encoder, with a mask of what is padding."""
    settings = {**SMALL, "vocab_size": WORDS, "max_position_embeddings": 64, **options}
    model = network(f"{family}Model", f"{family}Config", **settings)
    if not masked:
        return token_ids(Returning(model, "last_hidden_state", ("input_ids",)), WORDS, length, other)

    def inputs(batch: int, words: int) -> tuple[torch.Tensor, ...]:
        kept = torch.arange(words)[None] < torch.arange(words - batch + 1, words + 1)[:, None]
        return torch.randint(3, WORDS, (batch, words)), kept.long()

    names = ("input_ids", "attention_mask")
    case = Returning(model, "last_hidden_state", names)
    return Case(case, inputs(2, length), inputs(3, other or length), ((0, 1), (0, 1)))


def _decoder(family: str, other: int | None = 11, head: str = "ForCausalLM", length: int = 7, **options: Any) -> Case:
    """The logits of a decoder, without a cache."""
    settings = {"vocab_size": WORDS, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, **options}
    model = network(f"{family}{head}", f"{family}Config", **settings)
    return token_ids(Returning(model, "logits", ("input_ids",), use_cache=False), WORDS, length, other)


def _both(family: str, **options: Any) -> Case:
    """The logits of an encoder and a decoder, each with ids of its own."""
    settings = {"vocab_size": WORDS, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, **options}
    model = network(f"{family}ForConditionalGeneration", f"{family}Config", decoder_start_token_id=0, **settings)

    def inputs(batch: int, source: int, target: int) -> tuple[torch.Tensor, ...]:
        return torch.randint(3, WORDS, (batch, source)), torch.randint(3, WORDS, (batch, target))

    names = ("input_ids", "decoder_input_ids")
    case = Returning(model, "logits", names, use_cache=False)
    return Case(case, inputs(2, 7, 5), inputs(3, 9, 6), ((0, 1), (0, 1)))


SEQUENCES: dict[str, Any] = {
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 32,
}


class Cached(torch.nn.Module):
    """A step of a decoder whose keys and values are buffers, as transformers exports it."""

    def __init__(self, model: Any, length: int):
        super().__init__()
        library: Any = import_module("transformers")
        config = model.config
        self.model = model
        self.cache = library.StaticCache(config=config, max_cache_len=length)
        heads = config.num_key_value_heads
        self.cache.early_initialization(
            1, heads, config.hidden_size // config.num_attention_heads, torch.float32, torch.device("cpu")
        )
        for at, layer in enumerate(self.cache.layers):
            self.register_buffer(f"keys_{at}", layer.keys, persistent=False)
            self.register_buffer(f"values_{at}", layer.values, persistent=False)

    def forward(self, ids: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        for at, layer in enumerate(self.cache.layers):
            layer.keys, layer.values = getattr(self, f"keys_{at}"), getattr(self, f"values_{at}")
        return self.model(
            input_ids=ids,
            position_ids=position[None],
            cache_position=position,
            past_key_values=self.cache,
            use_cache=True,
        ).logits


def _cached() -> Case:
    model = network("LlamaForCausalLM", "LlamaConfig", **GROUPED)
    first, second = ((torch.randint(3, WORDS, (1, 1)), torch.tensor([place])) for place in (0, 1))
    return Case(Cached(model.eval(), 16), first, second, ((), ()))


class Growing(torch.nn.Module):
    """A step of a decoder that takes the keys and values so far, and gives them with those of the step."""

    def __init__(self, model: Any):
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        library: Any = import_module("transformers")
        cache = library.DynamicCache()
        for at in range(keys.shape[0]):
            cache.update(keys[at], values[at], at)
        logits = self.model(input_ids=ids, past_key_values=cache, use_cache=True).logits
        return (
            logits,
            torch.stack([layer.keys for layer in cache.layers]),
            torch.stack([layer.values for layer in cache.layers]),
        )


def _growing() -> Case:
    model = network("Qwen2ForCausalLM", "Qwen2Config", **GROUPED)

    def inputs(past: int) -> tuple[torch.Tensor, ...]:
        return torch.randint(3, WORDS, (1, 2)), torch.randn(2, 1, 1, past, 16), torch.randn(2, 1, 1, past, 16)

    return Case(Growing(model), inputs(5), inputs(9), ((), (3,), (3,)))


GPT2: dict[str, Any] = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64}
EXPERTS: dict[str, Any] = {**GROUPED, "num_experts_per_tok": 2}

NETWORKS: dict[str, Callable[[], Case]] = {
    "transformers/bert": partial(_encoder, "Bert", masked=True),
    "transformers/roberta": partial(_encoder, "Roberta", masked=True, pad_token_id=1),
    "transformers/albert": partial(_encoder, "Albert", embedding_size=16),
    "transformers/electra": partial(_encoder, "Electra", embedding_size=16),
    "transformers/distilbert": partial(
        _encoder, "DistilBert", dim=32, n_layers=2, n_heads=2, hidden_dim=48, masked=True
    ),
    "transformers/deberta_v2": partial(
        _encoder, "DebertaV2", relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=8
    ),
    "transformers/mpnet": partial(_encoder, "MPNet"),
    "transformers/modernbert": partial(
        _encoder, "ModernBert", pad_token_id=0, cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2
    ),
    "transformers/squeezebert": partial(_encoder, "SqueezeBert", embedding_size=32),
    "transformers/gpt2": partial(_decoder, "GPT2", head="LMHeadModel", **GPT2),
    "transformers/gpt_neox": partial(_decoder, "GPTNeoX", **SMALL),
    "transformers/opt": partial(
        _decoder, "OPT", hidden_size=32, num_hidden_layers=2, num_attention_heads=2, ffn_dim=48, word_embed_proj_dim=32
    ),
    "transformers/bloom": partial(_decoder, "Bloom", hidden_size=32, n_layer=2, n_head=2),
    "transformers/llama": partial(_decoder, "Llama", **GROUPED),
    "transformers/mistral_window": partial(_decoder, "Mistral", sliding_window=4, **GROUPED),
    "transformers/qwen3": partial(_decoder, "Qwen3", head_dim=16, **GROUPED),
    "transformers/gemma2": partial(_decoder, "Gemma2", head_dim=16, sliding_window=4, **GROUPED),
    "transformers/phi": partial(_decoder, "Phi", **GROUPED),
    "transformers/stablelm": partial(_decoder, "StableLm", **GROUPED),
    "transformers/falcon": partial(_decoder, "Falcon", hidden_size=32, num_hidden_layers=2, num_attention_heads=2),
    "transformers/mixtral": partial(_decoder, "Mixtral", num_local_experts=4, **EXPERTS),
    "transformers/qwen2_moe": partial(
        _decoder, "Qwen2Moe", num_experts=4, moe_intermediate_size=24, shared_expert_intermediate_size=24, **EXPERTS
    ),
    "transformers/mamba": partial(
        _decoder, "Mamba", hidden_size=32, num_hidden_layers=2, state_size=8, time_step_rank=4, other=None
    ),
    "transformers/mamba2": partial(
        _decoder,
        "Mamba2",
        hidden_size=32,
        num_hidden_layers=1,
        state_size=8,
        num_heads=4,
        head_dim=16,
        n_groups=1,
        chunk_size=4,
        other=None,
        length=8,
    ),
    "transformers/llama_static_cache": _cached,
    "transformers/qwen2_growing_cache": _growing,
    "transformers/t5": partial(_both, "T5", d_model=32, d_kv=16, d_ff=48, num_layers=1, num_heads=2),
    "transformers/bart": partial(_both, "Bart", **SEQUENCES),
    "transformers/pegasus": partial(_both, "Pegasus", **SEQUENCES),
}
