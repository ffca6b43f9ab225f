"""Pictures of Relay in the terminal and as DOT, and expressions evaluated at once."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whence import relay
from whence.contrib import relay_viz
from whence.relay.module import IRModule
from whence.support.errors import PipelineError


def network() -> IRModule:
    """A call of another function, of a value that is used twice."""
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4))
    y = relay.var("y", shape=(2, 3))
    twice, main = relay.GlobalVar("twice"), relay.GlobalVar("main")
    dense = relay.nn.relu(relay.nn.dense(x, w, units=3))
    body = relay.Tuple([relay.Call(twice, [dense]), relay.add(dense, relay.const(1.0))])
    return IRModule({main: relay.Function([x, w], body), twice: relay.Function([y], relay.multiply(y, y))})


def drawn(mod: IRModule, *args: Any) -> list[str]:
    texts: list[str] = []
    relay_viz.RelayVisualizer(mod, *args, plotter=relay_viz.TermPlotter(texts.append)).render()
    return texts[0].splitlines()


def test_a_tree_per_function_in_the_terminal():
    lines = drawn(network(), {"w": np.ones((3, 4), np.float32)})
    (at,) = (number for number, line in enumerate(lines) if line == "@main")
    tree = lines[at : at + 12]
    assert tree[1:4] == ["`--Func", "   `--Tuple", "      |--Call"]
    assert "      |  |--Call nn.relu" in tree
    assert "      |  |     |--Var(x)" in tree
    assert "      |  |     `--Param(w)" in tree
    assert any(re.fullmatch(r"         \|--Call nn\.relu \(as above, node \d+\)", line) for line in tree)
    assert sum("Call nn.dense" in line for line in lines) == 1
    assert "   `--Call multiply" in lines


def test_a_long_chain_is_drawn_without_recursion(tmp_path: Path):
    value: Any = relay.var("x", shape=(2,))
    x = value
    for _ in range(3000):
        value = relay.nn.relu(value)
    mod = IRModule.from_expr(relay.Function([x], value))
    relay_viz.RelayVisualizer(mod).render(str(tmp_path / "chain.txt"))
    assert (tmp_path / "chain.txt").read_text().count("Call nn.relu") == 3000


def test_the_dot_text_has_all_nodes_and_edges(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plotter = relay_viz.DotPlotter(
        graph_attr={"rankdir": "LR"},
        edge_attr={"color": "red"},
        get_node_attr=lambda node: {"fillcolor": "blue"} if "dense" in node.type_name else {},
        render_kwargs={"format": "svg"},
    )
    relay_viz.RelayVisualizer(network(), {}, plotter, relay_viz.DotVizParser()).render(str(tmp_path / "net"))
    text = (tmp_path / "net_main.dot").read_text()
    names = dict(re.findall(r'(n\d+) \[.*label="?([^"\\\]]+)', text))
    edges = [(names[a], names[b]) for a, b in re.findall(r"(n\d+) -> (n\d+) \[color=red\]", text)]
    assert ("Call nn.dense", "Call nn.relu") in edges
    assert edges.count(("Call nn.relu", "Call add")) == 1
    assert "units: 3" in text
    assert text.count("fillcolor=blue") == 1
    assert "rankdir=LR" in text
    assert (tmp_path / "net_twice.dot").exists()
    assert (tmp_path / "net_main.svg").exists() == (shutil.which("dot") is not None)
    with pytest.raises(PipelineError, match="DotPlotter: expected format svg, png, pdf, got gif"):
        relay_viz.DotPlotter(render_kwargs={"format": "gif"})


def test_an_own_parser_and_graph_decide_what_is_drawn():
    class Short(relay_viz.DefaultVizParser):
        def get_node_edges(self, node: Any, relay_param: Any, node_to_id: Any) -> Any:
            if isinstance(node, relay.Var):
                return relay_viz.VizNode(node_to_id[node], "V", node.name_hint), []
            return super().get_node_edges(node, relay_param, node_to_id)

    lines = drawn(network())
    assert any("Var(x)" in line for line in lines)
    texts: list[str] = []
    relay_viz.RelayVisualizer(network(), {}, relay_viz.TermPlotter(texts.append), Short()).render()
    assert "--V x" in texts[0]
    assert "-Var(" not in texts[0]


def test_an_expression_is_evaluated_at_once():
    a, b = np.random.default_rng(0).standard_normal((2, 3, 4), np.float32)
    x = relay.var("x", shape=(3, 4))
    value = relay.testing.run_as_python(relay.Let(x, relay.const(a), relay.Tuple([relay.add(x, relay.const(b)), x])))
    np.testing.assert_allclose(value[0].numpy(), a + b, rtol=1e-6)
    np.testing.assert_array_equal(value[1].numpy(), a)
    parts = relay.testing.run_as_python(relay.split(relay.const(a), 2, axis=1))
    np.testing.assert_array_equal(np.concatenate([part.numpy() for part in parts], axis=1), a)
    function = relay.testing.run_as_python(relay.Function([x], relay.nn.relu(x)))
    np.testing.assert_array_equal(function(a).numpy(), np.maximum(a, 0))
    with pytest.raises(PipelineError, match="to_python: expected run_as_python"):
        relay.testing.to_python(x)
