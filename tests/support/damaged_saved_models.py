"""Saved models that are damaged or hostile: bytes, messages, tables of variables, files, functions in functions."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from whence.frontends.tensorflow.convert import CONVERTERS
from whence.frontends.tensorflow.crc32c import masked_crc32c
from whence.frontends.tensorflow.messages import message, parse
from whence.frontends.tensorflow.sorted_table import entries

GRAPH, INDEX = Path("saved_model.pb"), Path("variables", "variables.index")
SHARD = Path("variables", "variables.data-00000-of-00001")
HUGE = (-(2**63), -1, 0, 7, 1 << 31, 1 << 40, 2**63 - 1)
Random = np.random.Generator


def _pick(rng: Random, items: Sequence[Any]) -> Any:
    return items[int(rng.integers(len(items)))]


def _bytes(data: bytes, rng: Random) -> bytes:
    """Return data with some bytes replaced, left out, doubled, in other places, or none."""
    a, b = sorted(rng.integers(0, len(data) + 1, 2).tolist())
    b = min(b, a + int(rng.integers(1, 200)))
    match int(rng.integers(7)):
        case 0 | 1 | 2:
            damaged = bytearray(data)
            for at in rng.choice(len(data), min(len(data), int(rng.integers(1, 9))), replace=False).tolist():
                damaged[at] = int(rng.integers(256))
            return bytes(damaged)
        case 3:
            return data[:a]
        case 4:
            return data[:a] + data[b:]
        case 5:
            return data[:b] + data[a:]
        case _:
            return data[:a] + rng.bytes(b - a) + data[b:]


def _of_file(path: Path) -> Callable[[Path, Random], None]:
    def damage(folder: Path, rng: Random) -> None:
        (folder / path).write_bytes(_bytes((folder / path).read_bytes(), rng))

    return damage


# Messages: a field of a node has another value.


def _attribute(value: Any, rng: Random, functions: Sequence[str]) -> None:
    """Change the value of an attribute."""
    match int(rng.integers(9)):
        case 0:
            value.Clear()
        case 1:
            value.i = _pick(rng, HUGE)
        case 2:
            value.type = _pick(rng, (0, 1, 3, 7, 8, 14, 20, 21, 23, 101, 999, -1))
        case 3:
            value.s = rng.bytes(int(rng.integers(20)))
        case 4:
            value.list.i.extend(rng.choice(HUGE, int(rng.integers(1, 9))).tolist())
        case 5:
            value.func.name = _pick(rng, functions)
        case 6:
            value.f = _pick(rng, (0.0, float("nan"), float("inf"), -1e30))
        case 7:
            value.shape.dim.add(size=_pick(rng, HUGE))
        case _:
            tensor = value.tensor
            tensor.dtype = _pick(rng, (tensor.dtype, 1, 3, 7, 9, 21))
            tensor.tensor_shape.dim.add(size=_pick(rng, HUGE))


def _node(folder: Path, rng: Random) -> None:
    """Change some nodes: the operator, an edge, an attribute, the name."""
    saved = parse("SavedModel", (folder / GRAPH).read_bytes(), "saved")
    graph = saved.meta_graphs[0].graph_def
    functions = [function.signature.name for function in graph.library.function]
    bodies = [graph.node, *(function.node_def for function in graph.library.function)]
    for _ in range(int(rng.integers(1, 5))):
        nodes = _pick(rng, [body for body in bodies if len(body)])
        node = _pick(rng, nodes)
        match int(rng.integers(8)):
            case 0:
                node.op = _pick(rng, [*sorted(CONVERTERS), "Nothing", "", "If", "While", "Case", "PartitionedCall"])
            case 1 if len(node.input):
                edges = [*(n.name for n in nodes), "", "^", "a:b:c", "x:-1"]
                node.input[int(rng.integers(len(node.input)))] = _pick(rng, edges)
            case 2 if len(node.input):
                del node.input[int(rng.integers(len(node.input))) :]
            case 3:
                node.input.append(_pick(rng, nodes).name)
            case 4:
                node.name = _pick(rng, [*(n.name for n in nodes), "", "a" * 100_000, "\x00"])
            case 5:
                del nodes[int(rng.integers(len(nodes)))]
            case _ if len(node.attr):
                _attribute(node.attr[_pick(rng, sorted(node.attr))], rng, functions)
            case _:
                nodes.add().CopyFrom(node)
    (folder / GRAPH).write_bytes(saved.SerializeToString())


def _signature(folder: Path, rng: Random) -> None:
    """Change what the signatures say."""
    saved = parse("SavedModel", (folder / GRAPH).read_bytes(), "saved")
    meta = saved.meta_graphs[0]
    infos = [info for s in meta.signature_def.values() for part in (s.inputs, s.outputs) for info in part.values()]
    info = _pick(rng, infos)
    match int(rng.integers(6)):
        case 0:
            info.name = _pick(rng, ["", "nowhere:0", ":", "a:b", "x:-5", info.name + "0", "NoOp:0", "saver_filename:0"])
        case 1:
            info.dtype = _pick(rng, (0, 3, 7, 20, 21, 1000, -3))
        case 2:
            info.tensor_shape.dim.add(size=_pick(rng, HUGE))
        case 3:
            meta.signature_def[_pick(rng, list(meta.signature_def))].Clear()
        case 4:
            del meta.meta_info_def.tags[:]
            saved.meta_graphs.add().CopyFrom(meta)
        case _:
            meta.saver_def.restore_op_name = _pick(rng, ["", "nowhere", info.name])
    (folder / GRAPH).write_bytes(saved.SerializeToString())


# Tables: well-formed ones with other entries.


def _varint(number: int) -> bytes:
    result = bytearray()
    while number > 127:
        result.append(number & 127 | 128)
        number >>= 7
    return bytes([*result, number])


def _block(pairs: Sequence[tuple[bytes, bytes]], kind: int = 0) -> bytes:
    content = b"".join(_varint(0) + _varint(len(k)) + _varint(len(v)) + k + v for k, v in pairs)
    content += struct.pack("<II", 0, 1) + bytes([kind])
    return content + struct.pack("<I", masked_crc32c(content))


def table(pairs: Sequence[tuple[bytes, bytes]], kind: int = 0) -> bytes:
    """Return the index file of a checkpoint: a block of entries, and one that says where that is."""
    first = _block(pairs, kind)
    handle = _varint(0) + _varint(len(first) - 5)
    second = _block([(b"\xff", handle)])
    places = _varint(len(first)) + _varint(0) + _varint(len(first)) + _varint(len(second) - 5)
    return first + second + places.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


def _entry(folder: Path, rng: Random) -> None:
    """Change what an entry says of a variable, or the header of all shards; the table itself is well-formed."""
    pairs = list(entries((folder / INDEX).read_bytes(), "index"))
    at, kind = int(rng.integers(len(pairs))), 0
    key, value = pairs[at]
    entry = parse("BundleEntryProto" if key else "BundleHeaderProto", value, "entry")
    if key:
        match int(rng.integers(7)):
            case 0:
                entry.size = _pick(rng, HUGE)
            case 1:
                entry.offset = _pick(rng, HUGE)
            case 2:
                entry.shard_id = _pick(rng, (-1, 1, 99_999, 2**31 - 1))
            case 3:
                entry.shape.dim.add(size=_pick(rng, HUGE))
            case 4:
                entry.dtype = _pick(rng, (0, 2, 7, 20, 999, -1))
            case 5:
                entry.slices.add()
            case _:
                key = _pick(rng, (b"../../etc/passwd", b"\xff\xfe", key + b"0"))
    else:
        entry.num_shards = _pick(rng, (-1, 0, 2, 99_999, 2**31 - 1))
        entry.endianness = _pick(rng, (0, 0, 1))
    if rng.random() < 0.1:
        kind = _pick(rng, (1, 4))
    pairs[at] = key, entry.SerializeToString()
    (folder / INDEX).write_bytes(table(pairs, kind))


# Files.


def _files(folder: Path, rng: Random) -> None:
    """Leave a file out, or have something else in its place."""
    path = folder / _pick(rng, (GRAPH, INDEX, SHARD, Path("variables"), Path("debug", "saved_model_debug_info.pb")))
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    match int(rng.integers(5)):
        case 0:
            path.mkdir()
        case 1:
            path.write_bytes(b"")
        case 2:
            path.write_bytes(rng.bytes(int(rng.integers(1, 5000))))
        case 3:
            path.symlink_to(_pick(rng, ("/etc/passwd", "/dev/null", path.name, "nowhere")))
        case _:
            pass


# Nesting.


def nested(depth: int, calls: int, op: str = "PartitionedCall") -> Any:
    """Return a saved model of functions, each of which calls the next one so many times, one call after the other."""
    saved = message("SavedModel")
    meta = saved.meta_graphs.add()
    meta.meta_info_def.tags.append("serve")
    graph = meta.graph_def
    x = graph.node.add(name="x", op="Placeholder")
    x.attr["dtype"].type = 1
    x.attr["shape"].shape.dim.add(size=2)
    c = graph.node.add(name="c", op="Const").attr["value"].tensor
    c.dtype = 10
    c.bool_val.append(True)

    run = {"StatelessIf": ("then_branch", "else_branch"), "StatelessWhile": ("cond", "body")}.get(op, ("f",))

    def call(nodes: Any, name: str, value: str, level: int) -> None:
        condition = "c" if nodes is graph.node else "c:output:0"
        node = nodes.add(name=name, op=op, input=[condition, value] if op == "StatelessIf" else [value])
        for attribute in run:
            node.attr[attribute].func.name = f"f{level}"

    for level in range(depth):
        function = graph.library.function.add()
        function.signature.name = f"f{level}"
        function.signature.input_arg.add(name="a", type=1)
        condition = function.node_def.add(name="c", op="Const").attr["value"].tensor
        condition.dtype = 10
        condition.bool_val.append(True)
        function.signature.output_arg.add(name="r", type=1)
        value = "a"
        for at in range(calls if level + 1 < depth else 1):
            if level + 1 < depth:
                call(function.node_def, f"n{at}", value, level + 1)
                value = f"n{at}:output:0"
            else:
                function.node_def.add(name="n", op="Neg", input=[value])
                value = "n:y:0"
        function.ret["r"] = value
    call(graph.node, "y", "x", 0)
    signature = meta.signature_def["serving_default"]
    for part, name in ((signature.inputs, "x"), (signature.outputs, "y")):
        part[name].name, part[name].dtype = f"{name}:0", 1
        part[name].tensor_shape.dim.add(size=2)
    return saved


def _nesting(folder: Path, rng: Random) -> None:
    """Functions in functions, or messages in messages."""
    if rng.random() < 0.3:
        inner = b""
        for _ in range(int(_pick(rng, (50, 150, 2000)))):
            inner = b"\x12" + _varint(len(inner)) + inner
        (folder / GRAPH).write_bytes((folder / GRAPH).read_bytes() + inner)
        return
    depth, calls = _pick(rng, ((3, 2), (99, 1), (150, 1), (3000, 1), (12, 2), (40, 2), (5, 9), (90, 3)))
    op = _pick(rng, ("PartitionedCall", "PartitionedCall", "StatelessIf", "StatelessWhile"))
    (folder / GRAPH).write_bytes(nested(depth, calls, op).SerializeToString())


KINDS: dict[str, Callable[[Path, Random], None]] = {
    "node": _node,
    "graph bytes": _of_file(GRAPH),
    "entry": _entry,
    "index bytes": _of_file(INDEX),
    "signature": _signature,
    "data bytes": _of_file(SHARD),
    "files": _files,
    "nesting": _nesting,
}


def damaged(number: int, sources: Sequence[Path], folder: Path) -> str:
    """Write the damaged model of a number into a folder, which must not be there; return what is wrong with it."""
    rng = np.random.default_rng(number)
    # Nesting takes longest.
    kind = "nesting" if number % 50 == 49 else list(KINDS)[number % (len(KINDS) - 1)]
    shutil.copytree(sources[number // len(KINDS) % len(sources)], folder)
    KINDS[kind](folder, rng)
    return kind
