"""Texts that are nearly right: Relay, MLIR, pipelines, shapes, command lines."""

from __future__ import annotations

import io
import random
import re
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from random_relay_program import random_program
from senseless_models import used

import whence
from whence import relay
from whence.cli import main as whence_command
from whence.cli import opt
from whence.support.errors import InternalError, WhenceError
from whence.syntax.text import astext
from whence.universe import ALL_PASSES

Dice = random.Random
_FILECHECK = Path(__file__).parent.parent / "filecheck"
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_ODD = (
    "",
    "0",
    "-1",
    "9" * 30,
    "1e999",
    "nan",
    "?",
    "%x",
    "@main",
    "(",
    ")",
    "<",
    "{",
    "}",
    '"',
    "\\",
    "\x00",
    "*/",
    "é",
    "[]",
)


_NUMBERS = ("0", "1", "2", "3", "7", "-1", "65", "4294967296", "9223372036854775808", "1.5")
_DTYPES = (
    "f32",
    "f16",
    "i1",
    "i8",
    "i32",
    "i64",
    "ui8",
    "bf16",
    "float32",
    "float16",
    "int8",
    "int64",
    "bool",
    "index",
)


def _exchanged(tokens: list[str], dice: Dice) -> None:
    """A number for a number, or a dtype for a dtype: what mostly can be read still."""
    numbers = [at for at, token in enumerate(tokens) if token.isdigit()]
    dtypes = [at for at, token in enumerate(tokens) if token in _DTYPES]
    sized = [at for at, token in enumerate(tokens) if re.fullmatch(r"(\d+x)+\w*", token)]
    for places, others in dice.sample([(numbers, _NUMBERS), (dtypes, _DTYPES)], 2):
        if places:
            tokens[dice.choice(places)] = dice.choice(others)
            return
    if sized:
        at = dice.choice(sized)
        tokens[at] = re.sub(r"\d+", dice.choice(_NUMBERS[:5]), tokens[at], count=1)


def changed(text: str, dice: Dice) -> str:
    """A text with tokens gone, doubled, swapped, or others in their place."""
    tokens = _TOKEN.findall(text)
    if dice.random() < 0.5:
        for _ in range(dice.choice((1, 1, 2))):
            _exchanged(tokens, dice)
        return "".join(tokens)
    for _ in range(dice.choice((1, 1, 1, 2, 3, 6))):
        if not tokens:
            break
        at, other = dice.randrange(len(tokens)), dice.randrange(len(tokens))
        draw = dice.random()
        if draw < 0.2:
            del tokens[at]
        elif draw < 0.3:
            tokens.insert(at, tokens[at])
        elif draw < 0.5:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif draw < 0.7:
            tokens[at] = tokens[other]
        elif draw < 0.9:
            tokens[at] = dice.choice(_ODD)
        else:
            del tokens[at : at + dice.randint(1, 12)]
    return "".join(tokens)


@cache
def _relay_text(seed: int) -> str:
    return astext(random_program(seed, 6).program)


def relay_text(dice: Dice) -> Callable[[], object]:
    text = changed(_relay_text(dice.randrange(60)), dice)

    def call() -> None:
        module = relay.fromtext(text)
        if dice.random() < 0.2:
            whence.compile(module, threads=1, opt_level=dice.choice((0, 3)))

    return call


@cache
def _modules() -> list[tuple[str, list[str]]]:
    """The parts of the filecheck tests, and the pipelines that each is for."""
    found: list[tuple[str, list[str]]] = []
    for path in sorted(_FILECHECK.rglob("*.mlir")):
        text = path.read_text()
        pipelines = re.findall(r"RUN: whence-opt %s .*?-p '?([\w,{}=-]+)", text)
        body = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
        found += [(part, pipelines) for part in body.split("// -----") if part.strip() and len(part) < 4000]
    return found


def _tool(main: Callable[[list[str]], int], words: list[str]) -> None:
    """Run a command in this process. Raises what its last line on stderr tells of."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main(words)
        except SystemExit as stop:
            code = int(stop.code or 0)
    text = err.getvalue()
    if "internal error" in text or "Traceback" in text:
        raise InternalError(f"{words}: {text[-2000:]}")
    if code not in (0, 1, 2):
        raise InternalError(f"{words}: exit code {code}")
    if code:
        raise WhenceError(text)


def mlir_text(dice: Dice) -> Callable[[], object]:
    text, pipelines = dice.choice(_modules())
    text = changed(text, dice)
    passes = dice.choice(pipelines) if pipelines and dice.random() < 0.8 else dice.choice(ALL_PASSES).name
    target = dice.choice(([], [], [], ["-t", "relay"], ["-t", "llvm"], ["--print-debuginfo"], ["--audit"]))

    def call() -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "m.mlir"
            path.write_text(text)
            _tool(opt.main, [str(path), "-p", passes, *target])

    return call


_OPTIONS = ("max-depth=4", "opt-level=9", "x=1", "fast=true", "target=llvm", "ops=[a,b]", 'ops="', "n=1.5", "=", "{")


def pipeline(dice: Dice) -> Callable[[], object]:
    names = [dice.choice(ALL_PASSES).name for _ in range(dice.randint(1, 4))]
    options = [
        "{" + " ".join(dice.sample(_OPTIONS, dice.randint(0, 2))) + "}" if dice.random() < 0.5 else "" for _ in names
    ]
    text = ",".join(name + option for name, option in zip(names, options, strict=True))
    text = changed(text, dice) if dice.random() < 0.7 else text
    module = "func.func @f() {\n  func.return\n}\n"
    relay_module = (
        "relay.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>) {\n"
        "  %0 = relay.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>\n  relay.return %0 : tensor<4xf32>\n}\n"
    )

    def call() -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "m.mlir"
            path.write_text(dice.choice(("", module, relay_module, relay_module, relay_module)))
            _tool(opt.main, [str(path), "-p", text])

    return call


_SHAPES = (
    "x:[1,3]",
    "x:[n,3]",
    "ids:[batch,seq<=512] seq<=512",
    "x:[1<=n<=4]",
    "a:[2*n+1] b:[n//2]",
    "x:[-1,?]",
    "x:[]",
)


def input_shapes(dice: Dice) -> Callable[[], object]:
    text = changed(dice.choice(_SHAPES), dice)
    shapes: Any = text
    if dice.random() < 0.3:
        odd: tuple[Any, ...] = (1, -1, None, 1.5, "n", "n<=", 2**70, [], "n*m", b"n", True, "(" * 50)
        shapes = {
            dice.choice(("x", "", 3, None)): dice.choice(([dice.choice(odd) for _ in range(3)], dice.choice(odd)))
        }
    model = _open_model()
    return lambda: (
        used(model, dice, **({"input_shapes": shapes})) if dice.random() < 0.3 else whence.load(model, shapes)
    )


@cache
def _open_model() -> Any:
    from onnx import TensorProto, helper

    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Transpose", ["r"], ["y"])]
    inputs, outputs = value("x", TensorProto.FLOAT, ["n", "m"]), value("y", TensorProto.FLOAT, None)
    return helper.make_model(
        helper.make_graph(nodes, "g", [inputs], [outputs]), opset_imports=[helper.make_opsetid("", 21)]
    )


_COMMANDS = (
    "compile",
    "run",
    "bench",
    "profile",
    "bisect",
    "why",
    "where",
    "tir",
    "graph",
    "memory",
    "completion",
    "debug",
)
_WORDS = (
    *("-o", "/nonexistent/x.tar", "--kernel", "0", "--line", "-1", "--layer", "n0", "--all", "--json", "--times"),
    *("--threads", "0", "-O", "3", "7", "--input", "no.npz", "--input-shapes", "x:[2]", "--target", "llvm -mcpu=x"),
    *("--desired-layout", "NHWC", "--signature", "s", "--check", "x.npz", "--config", "a=b", "--passes", "x", "--help"),
    *("--repeat", "nan", "--seed", "9" * 30, "", "--", "\x1b[31m", "--call", "m.onnx", "--nan", "--watch", "bash"),
)


def command_line(dice: Dice) -> Callable[[], object]:
    command = dice.choice(_COMMANDS)
    rest = [dice.choice(_WORDS) for _ in range(dice.randint(0, 4))]
    kind = dice.random()

    def call() -> None:
        # What a command writes without being told where lies beside the model.
        with TemporaryDirectory() as folder, chdir(folder):
            model = Path(folder) / dice.choice(("m.mlir", "m.relay", "m.onnx", "m.tflite", "m.tar", "m.so", "m.txt"))
            content = "def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }"
            model.write_text(
                '#[version = "0.0.5"]\n' + content if model.suffix == ".relay" else dice.choice(("", content))
            )
            words = [command, str(model), *rest] if kind < 0.8 else [command, *rest]
            if command == "debug" and "--help" not in words:
                words.append("--no-such")
            _tool(whence_command.main, words)

    return call


KINDS = {
    "relay-text": relay_text,
    "mlir-text": mlir_text,
    "pipelines": pipeline,
    "input-shapes": input_shapes,
    "command-lines": command_line,
}
