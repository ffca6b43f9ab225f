"""Files of other tools that look like models: their kind, and the line of code that makes a readable file of them."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias

from whence.support.errors import FrontendError
from whence.support.names import shown

_HEAD = 1 << 16
"""The number of bytes at the start of a file that identify its format."""
_ZIP = b"PK\x03\x04"
_LONGEST_HEADER = 100 << 20
"""The bytes of the longest header that safetensors allows."""


@dataclass(frozen=True)
class Sample:
    """The parts of a file that tell its kind."""

    suffix: str
    """The suffix of its name, in lower case; "" for bytes in memory."""
    head: bytes
    entries: Sequence[str] = ()
    """The names in a zip archive, or in a folder."""


Test: TypeAlias = Callable[[Sample], bool]


class ForeignFormat(NamedTuple):
    """A format that is recognised, to be refused in words."""

    kind: str
    way: str
    """Instructions for a readable file."""
    matches: Test


def _safetensors(sample: Sample) -> bool:
    if len(sample.head) < 10 or sample.head[8:9] != b"{":
        return False
    (length,) = struct.unpack_from("<Q", sample.head)
    return 2 <= length <= _LONGEST_HEADER and sample.head[9:10] in b'"} '


def _begins(*marks: bytes, at: int = 0) -> Test:
    def begins(sample: Sample) -> bool:
        return sample.head.startswith(marks, at)

    return begins


def _ends(*suffixes: str) -> Test:
    def ends(sample: Sample) -> bool:
        return sample.suffix in suffixes

    return ends


def _has_entry(name: str) -> Test:
    def has_entry(sample: Sample) -> bool:
        return any(entry.rpartition("/")[2] == name for entry in sample.entries)

    return has_entry


def _any(*tests: Test) -> Test:
    def matches(sample: Sample) -> bool:
        return any(test(sample) for test in tests)

    return matches


def _only_arrays(sample: Sample) -> bool:
    return bool(sample.entries) and all(entry.endswith(".npy") for entry in sample.entries)


def _torchscript(sample: Sample) -> bool:
    return _has_entry("constants.pkl")(sample) and any("/code/" in entry for entry in sample.entries)


def _pickle(sample: Sample) -> bool:
    return sample.head[:1] == b"\x80" and sample.head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")


def _pickle_with(*packages: bytes) -> Test:
    def matches(sample: Sample) -> bool:
        return _pickle(sample) and any(package in sample.head for package in packages)

    return matches


def _openvino(sample: Sample) -> bool:
    return sample.suffix in ("", ".xml") and sample.head.lstrip().startswith(b"<") and b"<net " in sample.head[:4096]


def _tensorflow_js(sample: Sample) -> bool:
    return sample.head.lstrip().startswith(b"{") and b'"modelTopology"' in sample.head


_EXPORT = 'torch.export.save(torch.export.export(model.eval(), (example,)), "model.pt2")'
_TO_ONNX = 'open("model.onnx", "wb").write(skl2onnx.to_onnx(model, X[:1]).SerializeToString())'
_BOOSTED = 'onnxmltools.save_model(onnxmltools.convert_xgboost(model, initial_types=types), "model.onnx")'
_ANY_CODE = "which is not read, as it may run any code"

FOREIGN = (
    ForeignFormat("safetensors: weights without a graph", f"load them into their model, and {_EXPORT}", _safetensors),
    ForeignFormat(
        "gguf: weights without a graph, for llama.cpp",
        "optimum-cli export onnx --model NAME FOLDER makes a .onnx of the model that they were made of",
        _begins(b"GGUF"),
    ),
    ForeignFormat(
        "a model in onnxruntime's own format (ORT)",
        "take the .onnx that it was made of, which convert_onnx_models_to_ort leaves beside it",
        _begins(b"ORTM", at=4),
    ),
    ForeignFormat(
        f"TorchScript, {_ANY_CODE}",
        "relay.frontend.from_pytorch(torch.jit.load(FILE), [(NAME, SHAPE)]), or " + _EXPORT,
        _torchscript,
    ),
    ForeignFormat(
        "objects pickled by torch.save, which are not read, as they may run any code",
        f"load them into their model, and {_EXPORT}",
        _any(_has_entry("data.pkl"), _begins(b"\x80\x02\x8a\nl\xfc\x9cF\xf9")),
    ),
    ForeignFormat(f"a pickle of trees, {_ANY_CODE}", _BOOSTED, _pickle_with(b"xgboost", b"lightgbm", b"catboost")),
    ForeignFormat(f"a pickled estimator of scikit-learn, {_ANY_CODE}", _TO_ONNX, _pickle_with(b"sklearn")),
    ForeignFormat(f"a file of joblib, {_ANY_CODE}", f"model = joblib.load(FILE); {_TO_ONNX}", _ends(".joblib")),
    ForeignFormat(f"a pickle, {_ANY_CODE}", f"of a model of PyTorch: {_EXPORT}", _pickle),
    ForeignFormat(
        "a model of CoreML, which nothing converts back",
        f"export the model that it was made of, of PyTorch: {_EXPORT}",
        _any(_ends(".mlmodel", ".mlmodelc"), _has_entry("Manifest.json")),
    ),
    ForeignFormat(
        "a model of OpenVINO (IR), which nothing converts back",
        "take the model that ovc made it of: it reads .onnx, .tflite and saved models, as Whence does",
        _openvino,
    ),
    ForeignFormat(
        "an engine of TensorRT, code for one GPU",
        "take the .onnx that trtexec --onnx made it of",
        _any(_begins(b"ftrt", b"ptrt"), _ends(".engine", ".plan")),
    ),
    ForeignFormat(
        "a checkpoint of TensorFlow: weights without a graph",
        'tf.saved_model.save(model, "FOLDER")',
        _ends(".index", ".ckpt", ".data-00000-of-00001"),
    ),
    ForeignFormat(
        "a model of TensorFlow.js",
        "tensorflowjs_converter --input_format tfjs_layers_model --output_format keras_saved_model FILE FOLDER",
        _tensorflow_js,
    ),
    ForeignFormat(
        "weights of Flax without a graph",
        'open("f.mlir", "w").write(jax.export.export(jax.jit(f))(x).mlir_module())',
        _ends(".msgpack"),
    ),
    ForeignFormat(
        "arrays of numpy, no model",
        "--input FILE gives them to a model",
        _any(_begins(b"\x93NUMPY"), _only_arrays),
    ),
)
"""The tests for formats, the first of which that matches identifies a file."""


def refuse_foreign(source: object) -> None:
    """Raise FrontendError for a file, a folder or bytes in a format of another tool, with the way to a readable one."""
    match source:
        case Path() if source.is_dir():
            sample = Sample(source.suffix.lower(), b"", sorted(path.name for path in source.iterdir()))
        case Path() if source.is_file():
            with source.open("rb") as stream:
                sample = _sample(source.suffix.lower(), stream)
        case bytes():
            sample = _sample("", BytesIO(source))
        case _:
            return
    if (row := next((row for row in FOREIGN if row.matches(sample)), None)) is not None:
        name = shown(str(source)) if isinstance(source, Path) else "<memory>"
        raise FrontendError(f"{name}: expected a model, got {row.kind}; {row.way}")


def _sample(suffix: str, stream: BinaryIO) -> Sample:
    head = stream.read(_HEAD)
    if not head.startswith(_ZIP):
        return Sample(suffix, head)
    try:
        return Sample(suffix, head, zipfile.ZipFile(stream).namelist())
    except (zipfile.BadZipFile, struct.error, ValueError, OSError, NotImplementedError):
        return Sample(suffix, head)
