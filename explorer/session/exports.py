"""A session document in the formats of other tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..exports import NO_LAYER, Part, Stack, TracedCall, chrome_trace, folded_stacks, node_data, speedscope
from .document import DOCUMENT, Graph, Session, Times
from .film_export import film_svg
from .model_graph import graph_dot, graph_svg, model_explorer, node_ids
from .text import calls_of, text_of_stage
from .views.choice import Choice, missing, names_of
from .views.model import shares_of_nodes


def _graphs(session: Session) -> dict[str, Graph]:
    """Return the graphs by an id of each, their nodes with the names of their layers."""
    if not session.graphs:
        raise missing(session, "graphs")
    programs = session.programs
    graphs: dict[str, Graph] = {}
    for graph in session.graphs:
        several = len(programs) > 1 and graph.program >= 0
        name = f"{graph.level}, {programs[graph.program].name}" if several else graph.level
        layers = [names_of(session, session.sets[k]) if k >= 0 else "" for k in graph.nodes.set]
        attributes = [
            [*rows, ("layers", names)] if names and not dict(rows).get("layers") else rows
            for rows, names in zip(graph.nodes.attributes, layers, strict=True)
        ]
        graphs[name] = replace(graph, nodes=replace(graph.nodes, attributes=attributes))
    return graphs


def _graph(session: Session, choice: Choice) -> tuple[str, Graph]:
    """Return the first graph of a level and its id: of kernel calls, or `--level model`."""
    graphs = _graphs(session)
    fits = [(name, graph) for name, graph in graphs.items() if graph.level == (choice.level or "calls")]
    return fits[0] if fits else next(iter(graphs.items()))


def _dot(session: Session, choice: Choice) -> str:
    return graph_dot(_graph(session, choice)[1])


def _svg(session: Session, choice: Choice) -> str:
    name, graph = _graph(session, choice)
    if not graph.nodes.x and graph.nodes.label:
        raise missing(session, "positions")
    return graph_svg(graph, f"{session.made_by.model}: {name}")


def _model_explorer(session: Session, choice: Choice) -> str:
    return model_explorer(_graphs(session), session.made_by.model) + "\n"


def _node_data(session: Session, choice: Choice) -> str:
    total = sum(sum(times.calls) for times in session.times)
    if not total:
        raise missing(session, "times")
    times: dict[str, list[tuple[str, float]]] = {}
    for name, graph in _graphs(session).items():
        shares = shares_of_nodes(session, graph)
        times[name] = [(node, share * total) for node, share in zip(node_ids(graph), shares, strict=True) if share]
    return node_data(times) + "\n"


def _measured(session: Session) -> list[Times]:
    if not session.times:
        raise missing(session, "times")
    return session.times


def _traced(session: Session) -> list[TracedCall]:
    """Return the calls of all measured programs, one after the other."""
    calls: list[TracedCall] = []
    for times in _measured(session):
        estimated = {layer: guessed for layer, _, guessed in times.layers}
        for row, spent, parts in zip(calls_of(session, times.program), times.calls, times.parts, strict=True):
            call, layers = session.calls[row], session.layers
            traced = [
                Part(layers.name[layer], layers.type[layer], seconds, estimated.get(layer, False))
                if layer >= 0
                else Part(NO_LAYER, "", seconds, False)
                for layer, seconds in parts
            ]
            calls.append(TracedCall(call.name, session.kernels[call.kernel].symbol, spent, traced))
    return calls


def _stacks(session: Session) -> list[Stack]:
    """Return what lines of TIR took: layer, call, line; of a call that was not sampled its layers alone."""
    stacks: list[Stack] = []
    for times in _measured(session):
        sampled = {of.call: of for of in times.lines if session.stages[of.stage].level == "tir"}
        for row, spent, parts in zip(calls_of(session, times.program), times.calls, times.parts, strict=True):
            name, of = session.calls[row].name, sampled.get(row)
            layers = [session.layers.name[layer] if layer >= 0 else NO_LAYER for layer, _ in parts]
            if of is None or not sum(of.samples):
                stacks += [((layer, name), seconds) for layer, (_, seconds) in zip(layers, parts, strict=True)]
                continue
            texts, total = text_of_stage(session, of.stage), sum(of.samples)
            for line, samples in zip(of.line, of.samples, strict=True):
                text = f"{line}: {texts[line - 1].strip()}" if line else "no line is known"
                stacks.append(((", ".join(layers) or NO_LAYER, name, text), spent * samples / total))
    return stacks


EXPORTS: Mapping[str, Callable[[Session, Choice], str]] = {
    "json": lambda session, choice: DOCUMENT.text(session) + "\n",
    "model-explorer": _model_explorer,
    "node-data": _node_data,
    "chrome-trace": lambda session, choice: chrome_trace(_traced(session)) + "\n",
    "speedscope": lambda session, choice: speedscope(_stacks(session), session.made_by.model) + "\n",
    "folded": lambda session, choice: folded_stacks((frames, seconds * 1e9) for frames, seconds in _stacks(session)),
    "dot": _dot,
    "svg": _svg,
    "film": film_svg,
}
"""Name -> text of a file for another tool; raises PipelineError where the document lacks what that shows.

Times are CPU seconds per run; in `folded` they are nanoseconds, as its counts are whole.
"""
