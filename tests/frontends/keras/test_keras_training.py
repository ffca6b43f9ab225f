"""Layers that a model calls with `training=True`: dropout and noise draw, what else trains is refused."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence
from whence.support.errors import FrontendError

CNN = Path(__file__).parent / "models" / "cnn.keras"
ONES = np.ones((40, 10, 8), np.float32)
LSTM: dict[str, Any] = {"units": 4, "dropout": 0.5, "recurrent_activation": "sigmoid", "activation": "tanh"}


def model(kind: str, training: bool | None, **config: Any) -> bytes:
    """The archive of a model of one layer without weights, which its call tells if it trains."""
    keras = {"module": "keras.layers", "registered_name": None}
    shape = {"batch_shape": [None, 10, 8], "dtype": "float32", "name": "x"}
    tensor = {"class_name": "__keras_tensor__", "config": {"keras_history": ["x", 0, 0]}}
    call = {"args": [tensor], "kwargs": {} if training is None else {"training": training}}
    own = {"name": "layer", "dtype": "float32", **config}
    layers: list[dict[str, Any]] = [
        {**keras, "class_name": "InputLayer", "config": shape, "name": "x", "inbound_nodes": []},
        {**keras, "class_name": kind, "config": own, "name": "layer", "inbound_nodes": [call]},
    ]
    ends = {"input_layers": ["x", 0, 0], "output_layers": ["layer", 0, 0]}
    whole: dict[str, Any] = {"name": "net", "layers": layers, **ends}
    document: dict[str, Any] = {"module": "keras.src.models.functional", "class_name": "Functional", "config": whole}
    out = io.BytesIO()
    with zipfile.ZipFile(CNN) as archive, zipfile.ZipFile(out, "w") as copy:
        for name in archive.namelist():
            copy.writestr(name, json.dumps(document) if name == "config.json" else archive.read(name))
    return out.getvalue()


@pytest.mark.parametrize(
    ("kind", "config", "mean", "deviation"),
    [
        ("Dropout", {"rate": 0.25}, 1, 3**-0.5),
        ("SpatialDropout1D", {"rate": 0.25}, 1, 3**-0.5),
        ("GaussianDropout", {"rate": 0.2}, 1, 0.5),
        ("GaussianNoise", {"stddev": 0.5}, 1, 0.5),
    ],
)
def test_layers_draw_in_training_and_let_data_through_otherwise(
    kind: str, config: dict[str, Any], mean: float, deviation: float
):
    executable: Any = whence.compile(model(kind, True, **config), seed=2)
    first, second = executable(ONES), executable(ONES)
    assert (first != second).any()
    if kind == "SpatialDropout1D":
        assert (first == first[:, :1]).all()
        first = first[:, 0]
    assert abs(first.mean() - mean) < 0.15
    assert abs(first.std() - deviation) < 0.1
    for training in (False, None):
        np.testing.assert_array_equal(whence.compile(model(kind, training, **config))(ONES), ONES)


def test_alpha_dropout_keeps_mean_and_variance():
    executable: Any = whence.compile(model("AlphaDropout", True, rate=0.25), seed=2)
    data = np.random.default_rng(0).standard_normal(ONES.shape).astype(np.float32)
    result = executable(data)
    assert abs(result.mean()) < 0.06
    assert abs(result.std() - 1) < 0.06


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("BatchNormalization", {"axis": -1, "epsilon": 0.001, "center": False, "scale": False}),
        ("RandomFlip", {"mode": "horizontal"}),
        ("LSTM", LSTM),
        ("Bidirectional", {"layer": {"class_name": "LSTM", "config": LSTM}}),
        ("TimeDistributed", {"layer": {"class_name": "Dropout", "config": {"rate": 0.5}}}),
    ],
)
def test_what_else_trains_otherwise_is_refused(kind: str, config: dict[str, Any]):
    with pytest.raises(FrontendError, match=rf"layer 'layer': expected a {kind} called for inference"):
        whence.compile(model(kind, True, **config))
