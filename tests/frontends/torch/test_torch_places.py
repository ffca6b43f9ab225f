"""Where ops of exported programs come from: the module's path, the node, and the line of the user's own file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from xdsl.dialects.builtin import NameLoc

import whence
from whence.cli.main import main
from whence.dialects.relay.core import ConstantOp, ReturnOp
from whence.dialects.relay.operator import Operator
from whence.dialects.relay.size_ranges import main_of
from whence.executables.stateful import Stateful
from whence.frontends.importing.frames import Frame, frames_in, user_frames
from whence.frontends.torch import from_exported_program
from whence.frontends.torch.schema import modules_in
from whence.lowering.kernel.record import Kernel
from whence.provenance.span import Span, leaf_name, leaves, positions

PROGRAMS = Path(__file__).parents[2] / "exports" / "pytorch"
SOURCE = (PROGRAMS / "networks.py").read_text().splitlines()


def lines(name: str, **shapes: list[int]) -> dict[str, set[str]]:
    """Layer -> the source of its lines, of all ops of a program."""
    found: dict[str, set[str]] = {}
    for op in main_of(from_exported_program(PROGRAMS / f"{name}.pt2", shapes=shapes)).block.ops:
        if isinstance(op, ReturnOp):
            continue
        (leaf,) = leaves(op.location)
        assert isinstance(leaf, NameLoc)
        assert {at.file for at in positions(leaf)} == {"networks.py"}
        found.setdefault(leaf.desc.data, set()).add(SOURCE[positions(leaf)[0].line - 1].strip())
    return found


def test_layers_are_paths_of_modules_at_the_lines_that_call_them():
    found = lines("cnn", image=[2, 3, 16, 16])
    relu = "return F.relu(self.bn(self.conv(x)))"
    assert found["stem.conv/conv2d"] == found["stem.bn/batch_norm"] == found["stem/relu"] == {relu}
    assert found["body.1.conv/conv2d_3"] == found["body.1.conv/conv2d_3.weight"] == {relu}
    assert found["max_pool2d"] == {"x = F.max_pool2d(self.down(self.stem(image)), 3, 2, 1)"}
    assert found["head/linear"] == found["pool/adaptive_avg_pool2d"] == {"return self.head(self.pool(x).flatten(1))"}


def test_a_line_of_loops_names_its_lines_of_python():
    executable = whence.compile(PROGRAMS / "cnn.pt2", input_shapes={"image": (1, 3, 16, 16)})
    kernel = next(name for name in executable.kernels if "conv2d" in name)
    loops = next(code.tir for code in executable.artifact.kernels if isinstance(code, Kernel) and kernel in code.symbol)
    at = next(number for number, text in enumerate(loops.splitlines(), start=1) if "math.fma" in text)
    answer = executable.why(kernel, line=at)
    assert answer.line is not None
    assert answer.line.lines[0].code == "return F.relu(self.bn(self.conv(x)))"
    assert "    networks.py:19 " in str(answer)


def test_the_calls_that_led_to_a_layer_are_call_sites_of_its_place():
    module = from_exported_program(PROGRAMS / "cnn.pt2", shapes={"image": [2, 3, 16, 16]})
    (conv,) = {leaf for op in module.walk() for leaf in leaves(op.location) if leaf_name(leaf) == "stem.conv/conv2d"}
    inner, outer = positions(conv)
    assert SOURCE[inner.line - 1].strip() == "return F.relu(self.bn(self.conv(x)))"
    assert SOURCE[outer.line - 1].strip() == "x = F.max_pool2d(self.down(self.stem(image)), 3, 2, 1)"
    assert f'"stem.conv/conv2d"(callsite("networks.py":{inner.line}:0 at "networks.py":' in str(conv)
    span = Span.of(conv)
    assert span is not None
    assert span.location is conv


def test_what_a_write_does_belongs_to_it_and_views_to_their_own_lines():
    """The new contents, and what puts them back, are the write's; a view that is made again is the view's own."""
    module = from_exported_program(PROGRAMS / "writes.pt2", shapes={"x": [5, 4]})
    kinds: dict[str, set[str]] = {}
    for op in main_of(module).block.ops:
        if isinstance(op, Operator) and not isinstance(op, ConstantOp):
            (leaf,) = leaves(op.location)
            source = SOURCE[positions(leaf)[0].line - 1].partition("#")[0].strip()
            kinds.setdefault(source, set()).add(op.name.removeprefix("relay."))
    assert kinds["row.add_(1)"] == {"add", "expand_dims", "strided_slice", "concatenate", "copy"}
    assert kinds["row = y[:, 0]"] == {"strided_slice", "squeeze"}
    assert kinds["halves = y.split(2, dim=1)"] == {"strided_slice"}
    assert kinds["halves[1].mul_(3)"] == {"multiply", "strided_slice", "concatenate"}
    assert "multiply" in kinds["y = x * 2"]


def test_why_and_where_print_the_line_of_the_python_file(capsys: pytest.CaptureFixture[str]):
    for command, asked in (("why", ["--all"]), ("where", ["--layer", "stem.conv/conv2d"])):
        assert main([command, str(PROGRAMS / "cnn.pt2"), *asked, "--input-shapes", "image:[1,3,16,16]"]) == 0
        answer = capsys.readouterr().out
        assert re.search(r"\n  networks\.py:19 +return F\.relu\(self\.bn\(self\.conv\(x\)\)\)\n", answer)
        assert "    from networks.py:34  x = F.max_pool2d(self.down(self.stem(image)), 3, 2, 1)\n" in answer


TRACE = """File "/home/me/net.py", line 12, in forward
    return self.layer(x)
  File "/usr/lib/python3.11/site-packages/timm/layers/mlp.py", line 40, in forward
    x = self.fc1(x)
  File "/usr/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 134, in forward
    return F.linear(input, self.weight, self.bias)"""


def test_the_innermost_line_that_is_no_part_of_torch():
    frames = frames_in(TRACE)
    assert frames[0] == Frame("/home/me/net.py", 12, "forward", "return self.layer(x)")
    assert [(at.file, at.line) for at in user_frames(frames)] == [("timm/layers/mlp.py", 40), ("/home/me/net.py", 12)]
    assert user_frames(frames[2:])[0][:2] == ("torch/nn/modules/linear.py", 134)
    assert user_frames(()) == ()


def test_stacks_of_modules():
    stack = "L__self__,,nets.Net;L__self__block,block,nets.Block"
    assert modules_in(stack) == (("", "nets.Net"), ("block", "nets.Block"))
    assert modules_in("_empty_nn_module_stack_from_metadata_hook,x,y") == ()


@pytest.mark.parametrize("name", ["counter", "cache"])
def test_states_have_the_names_of_the_module(name: str):
    executable = whence.compile(PROGRAMS / f"{name}.pt2")
    assert isinstance(executable, Stateful)
    assert set(executable.state) == {"counter": {"calls", "mean"}, "cache": {"keys"}}[name]
