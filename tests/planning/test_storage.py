"""Storage ids by TVM's rules."""

from __future__ import annotations

import random

import numpy as np

from whence import cpu, relay
from whence.contrib.graph_executor import GraphModule
from whence.planning.storage import storage_ids
from whence.runtime.program.graph import Node, Ref


def argument(name: str) -> Node:
    return Node("null", name)


def call(*inputs: Ref | int, outputs: int = 1, function: str = "f") -> Node:
    refs = tuple(ref if isinstance(ref, Ref) else Ref(ref) for ref in inputs)
    return Node("tvm_op", "n", refs, {"num_outputs": str(outputs), "func_name": function})


def ids(nodes: list[Node], sizes: list[int], *heads: int) -> list[int]:
    return storage_ids(nodes, [[size] for size in sizes], [Ref(head) for head in heads])


def test_a_chain_takes_two_blocks_beside_its_arguments():
    """TVM's own test: exp of the second argument, a sum, and three more exps."""
    nodes = [argument("x"), argument("y"), call(1), call(0, 2), call(3), call(4), call(5)]
    assert ids(nodes, [40, 4, 4, 40, 40, 40, 40], 6) == [0, 1, 2, 3, 2, 3, 2]


def test_views_lie_where_their_input_does():
    """TVM's own test of reshapes."""
    view = "__nop"
    nodes = [argument("x"), call(0), call(1, function=view), call(1), call(3), call(3, function=view)]
    assert ids(nodes, [8] * 6, 2, 4, 5) == [0, 1, 1, 2, 3, 2]


def test_a_block_is_free_when_its_views_are_read():
    view = "__nop"
    nodes = [argument("x"), call(0), call(1, function=view), call(2), call(3), call(4, function=view)]
    assert ids(nodes, [8] * 6, 5) == [0, 1, 1, 2, 1, 1]


def test_the_graph_of_reshapes_is_tvms():
    x = relay.var("x", shape=(10, 4))
    y = relay.expand_dims(relay.abs(x), axis=1)
    t1 = relay.abs(y)
    z0 = relay.reshape(relay.reshape(y, (1, 40)), (2, 20))
    results = relay.Tuple([z0, relay.sqrt(t1), relay.reshape(t1, (1, 40))])
    lib = relay.build(relay.IRModule.from_expr(relay.Function([x], results)))
    assert [entry.storage for entry in lib.graph.entries] == [0, 1, 1, 2, 3, 2]
    assert [lib.graph.nodes[k].name for k in (2, 5)] == ["reshape_nop", "reshape_nop_1"]
    module = GraphModule(lib["default"](cpu()))
    given = np.random.default_rng(0).standard_normal((10, 4), np.float32)
    module.run(x=given)
    np.testing.assert_array_equal(module.get_output(0), np.abs(given).reshape(2, 20))
    np.testing.assert_allclose(module.get_output(1), np.sqrt(np.abs(given))[:, None], rtol=1e-6)
    np.testing.assert_array_equal(module.get_output(2), np.abs(given).reshape(1, 40))


def test_blocks_of_other_sizes_are_left_alone():
    nodes = [argument("x"), call(0), call(1), call(2)]
    assert ids(nodes, [1, 100, 1, 1616], 3) == [0, 1, 2, 3]
    assert ids(nodes, [1, 100, 1, 1615], 3) == [0, 1, 2, 1]


def test_the_smallest_that_fits_is_taken():
    nodes = [argument("x"), call(0, outputs=3), call(Ref(1, 0), Ref(1, 1), Ref(1, 2)), call(2), call(3)]
    sizes = [[1], [50, 20, 30], [999], [25], [26]]
    assert storage_ids(nodes, sizes, [Ref(4)]) == [0, 1, 2, 3, 4, 3, 1]


def test_outputs_and_arguments_are_kept():
    nodes = [argument("x"), call(0), call(0), call(0), call(3)]
    assert ids(nodes, [8] * 5, 1, 4) == [0, 1, 2, 2, 3]


def test_nothing_is_written_while_it_is_read():
    rng = random.Random(3)
    for _ in range(50):
        nodes, sizes = [argument("x"), argument("y")], [64, 64]
        for place in range(2, 40):
            nodes.append(call(*{rng.randrange(place) for _ in range(rng.randint(1, 3))}))
            sizes.append(rng.choice([8, 64, 256, 4096]))
        heads = rng.sample(range(40), 2)
        found = ids(nodes, sizes, *heads)
        last = {ref.node: place for place, node in enumerate(nodes) for ref in node.inputs} | dict.fromkeys(heads, 99)
        last |= dict.fromkeys((0, 1), 99)
        for place in range(2, 40):
            assert all(found[other] != found[place] or last.get(other, other) < place for other in range(place))
