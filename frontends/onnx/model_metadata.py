"""Reads an ONNX model's metadata: its producer, its descriptions, and the properties that its authors gave it."""

from __future__ import annotations

from onnx import ModelProto

from ...runtime.program.model_facts import ModelMetadata


def metadata_of(model: ModelProto) -> ModelMetadata:
    """Return the metadata of a model; texts that are not UTF-8 have marks in the place of damaged letters."""
    return ModelMetadata(
        producer_name=_text(model.producer_name),
        graph_name=_text(model.graph.name),
        domain=_text(model.domain),
        description=_text(model.doc_string),
        graph_description=_text(model.graph.doc_string),
        version=model.model_version,
        custom_metadata_map={_text(entry.key): _text(entry.value) for entry in model.metadata_props},
    )


def _text(text: str | bytes) -> str:
    # protobuf returns texts that are not UTF-8 as bytes.
    return text.decode(errors="replace") if isinstance(text, bytes) else text
