"""The table of all layers, and the loops of a kernel with theirs, against what `where` and `why` say of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from onnx import ModelProto, helper

import whence
from whence.explorer import index, where, why
from whence.explorer.layers import layers_of
from whence.explorer.loops import loops
from whence.explorer.overview import overview
from whence.explorer.times import Times
from whence.explorer.where import where_all
from whence.explorer.why import why_all
from whence.planning.artifact import Artifact


def test_a_row_says_what_where_says(compiled: whence.Executable):
    found = overview(compiled.artifact).rows
    assert [row.layer.name for row in found] == list(compiled.layers)
    for row in found:
        answer = compiled.where(row.layer.name)
        parts = answer.kernels
        assert row.calls == [part.call for part in parts]
        assert row.relay == sum(len(part.operators) for part in parts)
        assert row.te == sum(len(part.stages) for part in parts)
        assert row.tir == sum(len(part.lines) for part in parts)
        assert row.llvm == sum(part.llvm[0] for part in parts)
        assert row.native == sum(part.native[0] for part in parts)
        assert set(row.constants) == {call for param in answer.params for call in param.calls}


def test_layers_that_are_gone_say_where_to(compiled: whence.Executable):
    went = {row.layer.name: row.went for row in overview(compiled.artifact).rows}
    assert went["bias_maker"].startswith("constants of fused_nn_contrib_conv2d")
    assert went["dropout"] == "relay-simplify-inference: nn.dropout removed (inference lets the data through)"
    assert "fused_nn_contrib_conv2d" in went["conv1"]


def test_layers_have_the_types_of_their_nodes(source: ModelProto, compiled: whence.Executable):
    wanted = {node.name: node.op_type for node in source.graph.node}
    assert {layer.name: layer.type for layer in layers_of(compiled.artifact)} == wanted
    assert "layer conv1 (Conv, <memory>:1)" in str(compiled.where("conv1"))


@pytest.mark.parametrize("question", [where_all, why_all])
def test_each_layer_is_looked_at_once(
    question: Callable[[Artifact], Iterator[object]], monkeypatch: pytest.MonkeyPatch
):
    """Twice as many layers ask for as many locations per call as before: no walk over all of them for each."""
    modules, leaves = (index, where, why), index.leaves

    def asked(length: int) -> int:
        nodes = [helper.make_node("Softmax", [f"v{i}"], [f"v{i + 1}"], name=f"n{i}") for i in range(length)]
        values = [helper.make_tensor_value_info(f"v{i}", 1, [2, 8]) for i in (0, length)]
        graph = helper.make_graph(nodes, "chain", values[:1], values[1:])
        compiled = whence.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]))
        looked = 0

        def counted(*words: object) -> object:
            nonlocal looked
            looked += 1
            return leaves(*words)  # pyright: ignore[reportArgumentType]

        with monkeypatch.context() as patched:
            for module in modules:
                patched.setattr(module, "leaves", counted)
            answers = list(question(compiled.artifact))
        assert len(answers) == (length if question is where_all else len(compiled.artifact.kernels))
        return looked

    assert asked(16) == 2 * asked(8) > 0


def test_all_at_once_is_one_by_one(compiled: whence.Executable):
    wheres, whys = compiled.wheres(), compiled.whys()
    assert wheres == tuple(where_all(compiled.artifact)) == tuple(map(compiled.where, compiled.layers))
    assert wheres == tuple(where.where(compiled.artifact, name) for name in compiled.layers)
    assert whys == tuple(why_all(compiled.artifact)) == tuple(map(compiled.why, range(len(whys))))
    assert len(whys) == len(compiled.artifact.kernels)
    times = Times.of(compiled.artifact, [1.0] * len(compiled.kernels))
    timed = [answer.kernels for answer in where_all(compiled.artifact, times)]
    assert timed == [where.where(compiled.artifact, name, times).kernels for name in compiled.layers]
    parts = [part.time for kernels in timed for part in kernels]
    assert sum(own for own, _ in filter(None, parts)) == pytest.approx(len(compiled.kernels))


def test_lines_of_loops_have_the_layers_of_the_call(compiled: whence.Executable):
    first, second = [name for name in compiled.kernels if "conv2d" in name]
    for call, number in ((first, 1), (second, 2)):
        found = loops(compiled.artifact, call)
        assert (found.call, len(found.others)) == (call, 1)
        (answer,) = {line.layers for line in found.lines if "math.fma" in line.text}
        assert answer == (f"conv{number}",)
        for place, line in enumerate(found.lines, 1):
            told = compiled.why(call, line=place).line
            assert told is not None
            assert told.layers == ((call, line.layers),)
            assert len(told.instructions) == line.native
    assert loops(compiled.artifact, compiled.artifact.kernels[1].symbol, second).call == second
