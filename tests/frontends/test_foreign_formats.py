"""Files of other tools are named, with the line that makes a readable file of them."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import whence
from whence.cli.main import main
from whence.reading.foreign import refuse_foreign
from whence.reading.models import shipped_folder
from whence.support.errors import FrontendError


def zipped(entries: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def safetensors() -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    return struct.pack("<Q", len(header)) + header + np.zeros(2, np.float32).tobytes()


TORCHSCRIPT = {"net/data.pkl": b"\x80\x02.", "net/code/net.py": b"", "net/constants.pkl": b"\x80\x02."}
FILES = {
    "w.safetensors": (safetensors(), "safetensors: weights without a graph", "torch.export.save"),
    "w.gguf": (b"GGUF\x03\x00\x00\x00" + bytes(40), "gguf", "optimum-cli export onnx"),
    "net.ort": (b"\x18\x00\x00\x00ORTM" + bytes(40), "onnxruntime's own format", r"take the \.onnx"),
    "net.pt": (zipped(TORCHSCRIPT), "TorchScript, which is not read", r"torch\.jit\.load"),
    "state.pt": (zipped({"state/data.pkl": b"\x80\x02."}), r"objects pickled by torch\.save", "torch.export.save"),
    "old.pth": (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02", r"objects pickled by torch\.save", "export"),
    "a.pkl": (pickle.dumps({"a": 1}), "a pickle, which is not read, as it may run any code", "torch.export"),
    "trees.pickle": (b"\x80\x04\x95\x10\x00xgboost.sklearn", "a pickle of trees", "onnx"),
    "line.joblib": (b"x\x9c\x00", "a file of joblib", "skl2onnx"),
    "net.mlmodel": (b"\x08\x04\x12\x10", "CoreML", "export the model"),
    "net.xml": (b'<?xml version="1.0"?>\n<net name="m" version="11">', r"OpenVINO \(IR\)", "ovc"),
    "net.engine": (b"ftrt" + bytes(20), "TensorRT", "trtexec"),
    "model.ckpt.index": (bytes(50), "checkpoint of TensorFlow", "saved_model"),
    "model.json": (b'{"format": "layers-model", "modelTopology": {}}', "TensorFlow.js", "tensorflowjs_converter"),
    "x.npy": (b"\x93NUMPY\x01\x00", "arrays of numpy", "--input"),
    "x.npz": (zipped({"a.npy": b""}), "arrays of numpy", "--input"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_tool_is_named_with_a_way(name: str, tmp_path: Path):
    data, kind, way = FILES[name]
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(FrontendError, match=rf"{name}: expected a model, got .*({kind}).*; .*{way}"):
        whence.compile(path)


def test_bytes_and_folders_are_recognised_as_well(tmp_path: Path):
    with pytest.raises(FrontendError, match="<memory>: expected a model, got safetensors"):
        whence.load(safetensors())
    (tmp_path / "net.mlpackage").mkdir()
    (tmp_path / "net.mlpackage/Manifest.json").write_text("{}")
    with pytest.raises(FrontendError, match="CoreML"):
        whence.compile(tmp_path / "net.mlpackage")


def test_pickles_of_estimators_are_not_read_but_told_how_to_become_onnx(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "line.pkl"
    path.write_bytes(b"\x80\x04\x95\x20\x00\x00\x00\x00\x00\x00\x00\x8c\x1asklearn.linear_model._base\x94")
    assert main(["run", str(path)]) == 1
    assert (
        capsys.readouterr()
        .err.splitlines()[-1]
        .startswith(
            f"whence: error: {path}: expected a model, got a pickled estimator of scikit-learn, which is not read"
        )
    )


def test_models_that_are_read_are_none_of_these():
    folder = shipped_folder()
    assert folder is not None
    root = Path(__file__).parents[1]
    models = [
        *folder.glob("*.onnx"),
        *(path for path in root.rglob("*") if path.suffix in (".pt2", ".keras", ".h5", ".tflite", ".pb", ".mlir")),
    ]
    assert len({path.suffix for path in models}) >= 5
    for path in models:
        refuse_foreign(path)
