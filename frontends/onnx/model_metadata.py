"""The words of an ONNX model about itself: its producer, its texts, and the properties that its authors gave it."""

from __future__ import annotations

from onnx import ModelProto

from ...runtime.program.model_facts import ModelMetadata


def metadata_of(model: ModelProto) -> ModelMetadata:
    """The metadata of a model; texts that are no UTF-8 have marks where letters are damaged."""
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
    # Texts that are not UTF-8 come as bytes.
    return text.decode(errors="replace") if isinstance(text, bytes) else text
