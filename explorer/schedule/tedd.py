"""TEDD: three drawings of a schedule, as DOT text for Graphviz. After TVM's tensor expression debug display.

The schedule tree shows which stage is computed in which loop, the itervar relationship graph how loops were made from
axes, the dataflow graph which stage reads which tensor. A snapshot is a schedule too: `s.snapshot(3)`.
"""

from __future__ import annotations

from html import escape
from math import lcm
from pathlib import Path as File
from typing import cast

from ...te.schedule.schedule import Schedule
from .dot import Cell, digraph, draw, statement, subgraph, table, wrapped
from .tedd_json import ITER_TYPES, IterVarEntry, Path, RelationEntry, ScheduleEntry, StageEntry, dump_json

_GREY = "lightgrey"
_THREAD = "#2980B9"
_EDGES = ("#000000", "#922B21", "#76448A", "#1F618D", "#148F77", "#B7950B", "#AF601A", "#F5B7B1", "#A9DFBF")
"""The colour of an attachment: to the root, then to each loop from the outermost."""
_PORTS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "Split_Relation": ({"Input": "parent"}, {"Outer": "outer", "Inner": "inner"}),
    "Fuse_Relation": ({"Outer": "outer", "Inner": "inner"}, {"Fused": "fused"}),
    "Singleton_Relation": ({}, {"Iter": "iter"}),
}
"""Per relation of fixed size the ports it takes and the ports it gives, each with the entry that it stands for."""
_IMAGES = {".svg": "svg", ".png": "png", ".pdf": "pdf"}


class Drawing(str):
    """SVG text that a notebook shows as the drawing it is."""

    def _repr_svg_(self) -> str:
        return str(self)


def viz_schedule_tree(
    sch: Schedule, show_svg: bool = False, dot_file_path: str = "", output_dot_string: bool = False
) -> str | None:
    """Stages with their loops, in loop order, and the loop that each is computed in.

    dot_file_path: write the DOT text there, or the drawing when the name ends in .svg, .png or .pdf.
    show_svg: return the drawing, which a notebook shows; beside output_dot_string, print it.
    output_dot_string: return the DOT text.
    """
    return _show(schedule_tree(dump_json(sch)), show_svg, dot_file_path, output_dot_string)


def viz_itervar_relationship_graph(
    sch: Schedule, show_svg: bool = False, dot_file_path: str = "", output_dot_string: bool = False
) -> str | None:
    """Per stage all iteration variables and the splits and fuses between them; arguments as `viz_schedule_tree`."""
    return _show(itervar_relationship_graph(dump_json(sch)), show_svg, dot_file_path, output_dot_string)


def viz_dataflow_graph(
    sch: Schedule, show_svg: bool = False, dot_file_path: str = "", output_dot_string: bool = False
) -> str | None:
    """Stages and the tensors between them; arguments as `viz_schedule_tree`."""
    return _show(dataflow_graph(dump_json(sch)), show_svg, dot_file_path, output_dot_string)


def _show(text: str, show_svg: bool, dot_file_path: str, output_dot_string: bool) -> str | None:
    if dot_file_path:
        file = File(dot_file_path)
        content = draw(text, _IMAGES[file.suffix]) if file.suffix in _IMAGES else text.encode()
        try:
            if content is not None:
                file.write_bytes(content)
        except OSError:
            print(f"Cannot open file: {dot_file_path}")
    if show_svg and (image := draw(text, "svg")) is not None:
        svg = Drawing(image.decode())
        if not output_dot_string:
            return svg
        print(svg)
    return text if output_dot_string else None


def _id(kind: str, path: Path) -> str:
    return "_".join([kind, *map(str, path)])


def _legend() -> str:
    rows = [(Cell("&nbsp;&nbsp;", color), Cell(name)) for name, color in ITER_TYPES]
    return subgraph("cluster_legend", [_node("legend", table(rows))], label="Legend")


def _node(name: str, label: str) -> str:
    return statement(name, label=label, margin="0", shape="none")


def _itervar_cells(itervar: IterVarEntry, port: str = "") -> tuple[Cell, Cell]:
    """The position in the colour of the type; name, type and range."""
    type_, color = ITER_TYPES[itervar["itervar_type"]]
    properties = itervar["properties"]
    text = wrapped(f"{itervar['name']}({type_})") + f"<br/>{escape(properties['range'] or 'range(N/A)')}"
    if properties["thread"] is not None:
        text += f'<br/><font color="{_THREAD}">({escape(properties["thread"])})</font>'
    if properties["intrin"] is not None:
        text += f"<br/>(tensor_intrin:{escape(properties['intrin'])})"
    return Cell(str(itervar["index"]), color, port), Cell(text)


def schedule_tree(sch: ScheduleEntry) -> str:
    """The DOT text of the schedule tree."""
    nodes: list[str] = []
    edges: list[str] = []
    for i, stage in enumerate(sch["stages"]):
        name = _id("Stage", [i])
        nodes.append(_node(name, table(_stage_rows(i, stage))))
        target, color = "ROOT", _EDGES[0]
        if (at := stage["attaching_to"]) is not None:
            position = sch["stages"][at[0]]["all_itervars"][at[1]]["index"]
            target = f"{_id('Stage', at[:1])}:{_id('IterVar', at)}"
            color = _EDGES[position + 1] if position + 1 < len(_EDGES) else _EDGES[0]
        edges.append(statement(f"{name} -> {target}", color=color))
    root = statement("ROOT", label="ROOT", margin="0", shape="oval")
    return digraph("Schedule Tree", [_legend(), *nodes, *edges, root], rankdir="BT")


def _stage_rows(index: int, stage: StageEntry) -> list[list[Cell]]:
    head = f"{wrapped(stage['name'])}<br/>Scope: {escape(stage['properties']['scope'])}"
    rows = [[Cell(head, _GREY, "stage", span=2)]]
    leaves = [(entry["index"], i) for i, entry in enumerate(stage["all_itervars"]) if entry["index"] >= 0]
    for _, i in sorted(leaves):
        rows.append(list(_itervar_cells(stage["all_itervars"][i], _id("IterVar", [index, i]))))
    if stage["compute"] is not None:
        rows.append([Cell(wrapped(stage["compute"]), span=2)])
    return rows


def itervar_relationship_graph(sch: ScheduleEntry) -> str:
    """The DOT text of the itervar relationship graph."""
    clusters = [_stage_cluster(i, stage) for i, stage in enumerate(sch["stages"])]
    return digraph("IterVar Relationship Graph", [_legend(), *clusters], rankdir="TB")


def _stage_cluster(index: int, stage: StageEntry) -> str:
    body = [
        _node(_id("IterVar", [index, i]), table([_itervar_cells(itervar)], port="itervar"))
        for i, itervar in enumerate(stage["all_itervars"])
    ]
    for i, relation in enumerate(stage["relations"]):
        body += _relation(_id(relation["type"], [index, i]), relation)
    roots = len(stage["all_itervars"]) - sum(len(_sides(relation)[1]) for relation in stage["relations"])
    if roots > 1:
        # Keeps the axes in order in one row.
        row = " -> ".join(_id("IterVar", [index, i]) for i in range(roots))
        body.append(f"{{ rank=same {statement(row, style='invis')} }}")
    if not body:
        body = [statement(_id("Stage", [index]), label="", style="invis")]
    return subgraph(f"cluster_{_id('Stage', [index])}", body, label=stage["name"])


def _sides(relation: RelationEntry) -> tuple[dict[str, Path], dict[str, Path]]:
    """The ports that a relation takes and those it gives, each with its iteration variable."""
    if relation["type"] == "Transform_Relation":
        sides = (("In", relation["originals"]), ("Out", relation["transformed"]))
        takes, gives = ({f"{side}_{i}": path for i, path in enumerate(paths)} for side, paths in sides)
        return takes, gives
    paths = cast(dict[str, Path], relation)
    takes, gives = ({port: paths[key] for port, key in ports.items()} for ports in _PORTS[relation["type"]])
    return takes, gives


def _relation(name: str, relation: RelationEntry) -> list[str]:
    """The node of a relation and its edges."""
    takes, gives = _sides(relation)
    width = lcm(len(takes) or 1, len(gives))
    title = relation["type"].removesuffix("_Relation")
    rows = [[Cell(port, port=port, span=width // len(ports)) for port in ports] for ports in (takes, gives) if ports]
    rows.insert(len(rows) - 1, [Cell(title, _GREY, span=width)])
    edges = [f"{_id('IterVar', path)}:itervar -> {name}:{port}" for port, path in takes.items()]
    edges += [f"{name}:{port} -> {_id('IterVar', path)}:itervar" for port, path in gives.items()]
    return [_node(name, table(rows)), *edges]


def dataflow_graph(sch: ScheduleEntry) -> str:
    """The DOT text of the dataflow graph."""
    nodes: list[str] = []
    edges: list[str] = []
    for i, stage in enumerate(sch["stages"]):
        name = _id("Stage", [i])
        nodes.append(_node(name, table(_ports(stage))))
        for k, path in enumerate(stage["input_tensors"]):
            edges.append(f"{_id('Tensor', path)} -> {name}:I_{k}")
        for k, tensor in enumerate(stage["output_tensors"]):
            id = _id("Tensor", [i, k])
            label = f"{tensor['shape']}\\n{tensor['data_type']}"
            nodes.append(statement(id, label=label, margin="0", shape="oval"))
            edges.append(f"{name}:O_{k} -> {id}")
    return digraph("Dataflow Graph", [*nodes, *edges], rankdir="LR")


def _ports(stage: StageEntry) -> list[list[Cell]]:
    """A row per input or output: the ports left and right of the name."""
    inputs, outputs = len(stage["input_tensors"]), len(stage["output_tensors"])
    head = f"{wrapped(stage['name'])}<br/>Scope: {escape(stage['properties']['scope'])}"
    rows = [[Cell(head, _GREY, "stage", span=2 if inputs else 1)]]
    for k in range(max(inputs, outputs)):
        row = [Cell(f"I_{k}", port=f"I_{k}") if k < inputs else Cell("")] if inputs else []
        rows.append([*row, Cell(f"O_{k}", port=f"O_{k}") if k < outputs else Cell("")])
    return rows
