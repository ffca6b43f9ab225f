"""Reads a serialised exported program as plain data: its graph, values and signature, with the type of each checked.

The schema is torch's own (torch/_export/serde/schema.py), major version 8. Errors state a path in the document:
`graph.nodes[3].inputs[1]`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias, cast

from ...support.errors import FrontendError
from ...support.names import shortened, shown
from ..importing.frames import Frame, frames_in

MAJOR = 8
"""The supported version of the schema."""


@dataclass(frozen=True)
class Name:
    """The name of a value of the graph: a tensor, or a number that the program computes."""

    name: str
    number: bool = False
    element: int = 5
    """The schema's element type of a number: 5 for integers, 8 for floats, 12 for booleans."""


@dataclass(frozen=True)
class ScalarType:
    """An element type, by its number in the schema."""

    code: int


@dataclass(frozen=True)
class Unread:
    """An argument that no operator on a CPU reads: a device, a layout, a memory format."""

    kind: str
    value: object = field(compare=False)


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph, the main one or one that a node runs."""

    inputs: Sequence[Argument]
    outputs: Sequence[Argument]
    nodes: Sequence[Node]
    tensors: Mapping[str, TensorMeta]
    where: str
    numbers: Mapping[str, Size] = field(default_factory=dict[str, "Size"])
    """The exporter's expressions for integers that are computed or inputs."""


@dataclass(frozen=True, eq=False)
class Node:
    """A call of an operator."""

    name: str
    target: str
    """torch's name of the operator, `torch.ops.aten.conv2d.default`."""
    arguments: Mapping[str, Argument]
    """The arguments that differ from the operator's defaults, by the names in its schema."""
    outputs: Sequence[Sequence[str]]
    """The names of the values of each output, several for a list."""
    modules: Sequence[tuple[str, str]]
    """Path and class of the modules around it, the outermost first."""
    frames: Sequence[Frame]
    """File, line and function of the calls around it, the outermost first."""
    where: str
    numbered: bool = False
    """True if its name is unique in all graphs, and so is the whole name of its layer."""


Size: TypeAlias = "int | str"
"""An extent: a number, or an expression in sympy's own text."""


@dataclass(frozen=True)
class TensorMeta:
    """The exporter's metadata of a tensor."""

    dtype: int
    sizes: tuple[Size, ...]
    strides: tuple[Size, ...]
    offset: Size = 0


Argument: TypeAlias = (
    "bool | int | float | complex | str | Name | ScalarType | Unread | Graph | tuple[Argument, ...] | None"
)


@dataclass(frozen=True)
class InputSpec:
    """An input of the graph: its kind, its value, and the module's name for it."""

    kind: str
    """`parameter`, `buffer`, `tensor_constant`, `user_input`, `constant_input`, `custom_obj` or `token`."""
    value: Argument
    target: str = ""
    persistent: bool = True


@dataclass(frozen=True)
class OutputSpec:
    """An output of the graph: its kind, its value, and the tensor that it replaces, if any."""

    kind: str
    value: Argument
    target: str = ""


@dataclass(frozen=True)
class TensorEntry:
    """A tensor of the archive: the file of its storage, and the layout of its elements in it."""

    path: str
    meta: TensorMeta
    pickled: bool


@dataclass(frozen=True, eq=False)
class Program:
    """An exported program."""

    graph: Graph
    inputs: Sequence[InputSpec]
    outputs: Sequence[OutputSpec]
    ranges: Mapping[str, tuple[int, int | None]]
    """The least and greatest value of each symbol."""
    guards: Sequence[str]
    out_spec: str
    """The structure of the results, as JSON, or ""."""
    torch: str
    """The version of torch that wrote it."""
    in_spec: str = ""
    """The structure of the arguments, as JSON, or ""."""
    arguments: Sequence[str] = ()
    """The names of the parameters of positional arguments."""
    fields: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """Kind of named tuple among results -> the names of its fields."""


class Reader:
    """Reads the parts of one document."""

    def __init__(self, file: str):
        self.file = file

    def fail(self, where: str, expected: str, actual: object) -> NoReturn:
        text = shown(actual) if isinstance(actual, str) else repr(actual)
        where = shortened(shown(where), 300)
        raise FrontendError(f"{self.file}: {where}: expected {expected}, got {shortened(text, 80)}")

    # Kinds of JSON.

    def get(self, table: Mapping[str, Any], key: str, where: str) -> Any:
        if key not in table:
            self.fail(where, f"a field '{key}'", "none")
        return table[key]

    def object(self, raw: object, where: str) -> Mapping[str, Any]:
        if not isinstance(raw, dict):
            self.fail(where, "a JSON object", raw)
        return cast("dict[str, Any]", raw)

    def list(self, raw: object, where: str) -> Sequence[Any]:
        if not isinstance(raw, list):
            self.fail(where, "a list", raw)
        return cast("list[Any]", raw)

    def text(self, raw: object, where: str) -> str:
        if not isinstance(raw, str):
            self.fail(where, "a text", raw)
        return raw

    def named(self, raw: object, where: str) -> str:
        """Return a text that is a name."""
        name = self.text(raw, where)
        if len(name) > _LONGEST_NAME:
            self.fail(where, f"a name of at most {_LONGEST_NAME} characters", name)
        return name

    def int(self, raw: object, where: str) -> int:
        if not isinstance(raw, int) or isinstance(raw, bool) or not -(1 << 63) <= raw < 1 << 63:
            self.fail(where, "an integer of 64 bits", raw)
        return raw

    def bool(self, raw: object, where: str) -> bool:
        if not isinstance(raw, bool):
            self.fail(where, "true or false", raw)
        return raw

    def float(self, raw: object, where: str) -> float:
        """Return a number; one that is not finite is a text in JSON."""
        if isinstance(raw, str) and raw in ("Infinity", "-Infinity", "NaN"):
            return float(raw.replace("Infinity", "inf"))
        if not isinstance(raw, int | float) or isinstance(raw, bool):
            self.fail(where, "a number", raw)
        return float(raw)

    def union(self, raw: object, where: str) -> tuple[str, Any]:
        """Return the present member of a union."""
        table = self.object(raw, where)
        present = [(key, value) for key, value in table.items() if value is not None or key == "as_none"]
        if len(present) != 1:
            self.fail(where, "one member of a union", ", ".join(map(str, table)) or "none")
        return present[0]

    def name(self, raw: object, where: str) -> Name:
        return Name(self.named(self.get(self.object(raw, where), "name", where), f"{where}.name"))

    # Sizes and tensors.

    def size(self, raw: object, where: str) -> Size:
        kind, value = self.union(raw, where)
        if kind == "as_int":
            return self.int(value, where)
        if kind != "as_expr":
            self.fail(where, "as_int or as_expr", kind)
        return self.text(self.get(self.object(value, where), "expr_str", where), f"{where}.expr_str")

    def meta(self, raw: object, where: str) -> TensorMeta:
        table = self.object(raw, where)
        sizes, strides = (
            tuple(
                self.size(item, f"{where}.{key}[{at}]")
                for at, item in enumerate(self.list(self.get(table, key, where), where))
            )
            for key in ("sizes", "strides")
        )
        if len(sizes) != len(strides):
            self.fail(where, f"{len(sizes)} strides", str(len(strides)))
        dtype = self.int(self.get(table, "dtype", where), f"{where}.dtype")
        offset = self.size(table["storage_offset"], f"{where}.storage_offset") if table.get("storage_offset") else 0
        if (layout := table.get("layout", _STRIDED)) != _STRIDED:
            self.fail(f"{where}.layout", "a dense tensor", f"layout {layout}")
        return TensorMeta(dtype, sizes, strides, offset)

    # Arguments.

    def argument(self, raw: object, where: str) -> Argument:
        kind, value = self.union(raw, where)
        match kind:
            case "as_none":
                return None
            case "as_tensor" | "as_custom_obj":
                return self.name(value, where)
            case "as_tensors" | "as_custom_objs":
                return tuple(self.name(item, f"{where}[{at}]") for at, item in enumerate(self.list(value, where)))
            case "as_optional_tensor":
                return self.argument(value, where)
            case "as_optional_tensors":
                return tuple(self.argument(item, f"{where}[{at}]") for at, item in enumerate(self.list(value, where)))
            case "as_nested_tensors":
                rows = enumerate(self.list(value, where))
                return tuple(self.argument({"as_tensors": row}, f"{where}[{at}]") for at, row in rows)
            case "as_int":
                return self.int(value, where)
            case "as_ints":
                return tuple(self.int(item, where) for item in self.list(value, where))
            case "as_int_lists":
                return tuple(
                    tuple(self.int(item, where) for item in self.list(row, where)) for row in self.list(value, where)
                )
            case "as_float":
                return self.float(value, where)
            case "as_floats":
                return tuple(self.float(item, where) for item in self.list(value, where))
            case "as_bool":
                return self.bool(value, where)
            case "as_bools":
                return tuple(self.bool(item, where) for item in self.list(value, where))
            case "as_string" | "as_operator":
                return self.text(value, where)
            case "as_strings":
                return tuple(self.text(item, where) for item in self.list(value, where))
            case "as_complex":
                table = self.object(value, where)
                real, imaginary = (self.float(self.get(table, part, where), where) for part in ("real", "imag"))
                return complex(real, imaginary)
            case "as_sym_int" | "as_sym_bool" | "as_sym_float":
                return self.number(value, where, _NUMBERS[kind])
            case "as_sym_ints" | "as_sym_bools" | "as_sym_floats":
                items = enumerate(self.list(value, where))
                return tuple(self.number(item, f"{where}[{at}]", _NUMBERS[kind[:-1]]) for at, item in items)
            case "as_scalar_type":
                return ScalarType(self.int(value, where))
            case "as_graph":
                table = self.object(value, where)
                return self.graph(self.get(table, "graph", where), f"{where}.{table.get('name', 'graph')}")
            case "as_memory_format" | "as_layout" | "as_device":
                return Unread(kind, value)
            case _:
                self.fail(where, "a known kind of argument", kind)

    def number(self, raw: object, where: str, element: int) -> Argument:
        """Return a number, or the name of a computed number."""
        kind, value = self.union(raw, where)
        match kind:
            case "as_name":
                return Name(self.named(value, where), number=True, element=element)
            case "as_int":
                return self.int(value, where)
            case "as_bool":
                return self.bool(value, where)
            case "as_float":
                return self.float(value, where)
            case _:
                self.fail(where, "as_name, as_int, as_bool or as_float", kind)

    # Graphs.

    def graph(self, raw: object, where: str) -> Graph:
        table = self.object(raw, where)
        lists: dict[str, Sequence[Any]] = {
            key: self.list(self.get(table, key, where), f"{where}.{key}") for key in ("inputs", "outputs", "nodes")
        }
        metas = self.object(table.get("tensor_values", {}), f"{where}.tensor_values")
        numbers = self.object(table.get("sym_int_values") or {}, f"{where}.sym_int_values")
        return Graph(
            tuple(self.argument(item, f"{where}.inputs[{at}]") for at, item in enumerate(lists["inputs"])),
            tuple(self.argument(item, f"{where}.outputs[{at}]") for at, item in enumerate(lists["outputs"])),
            tuple(self.node(item, at, f"{where}.nodes[{at}]") for at, item in enumerate(lists["nodes"])),
            {name: self.meta(item, f"{where}.tensor_values['{name}']") for name, item in metas.items()},
            where,
            {name: self.size(item, f"{where}.sym_int_values['{name}']") for name, item in numbers.items()},
        )

    def node(self, raw: object, index: int, where: str) -> Node:
        table = self.object(raw, where)
        arguments: dict[str, Argument] = {}
        for at, item in enumerate(self.list(self.get(table, "inputs", where), where)):
            entry = self.object(item, f"{where}.inputs[{at}]")
            name = self.text(self.get(entry, "name", where), f"{where}.inputs[{at}].name") or f"arg{at}"
            if name in arguments:
                name = f"{name}{at}"
            arguments[name] = self.argument(self.get(entry, "arg", where), f"{where}.inputs[{at}]")
        outputs: list[Sequence[str]] = []
        for at, item in enumerate(self.list(self.get(table, "outputs", where), where)):
            value = self.argument(item, f"{where}.outputs[{at}]")
            outputs.append(
                [
                    part.name if isinstance(part, Name) else ""
                    for part in (value if isinstance(value, tuple) else (value,))
                ]
            )
        metadata = self.object(table.get("metadata", {}), f"{where}.metadata")
        texts = {key: self.text(value, f"{where}.metadata.{key}") for key, value in metadata.items()}
        first = next((name for names in outputs for name in names if name), "")
        return Node(
            self.named(table.get("name") or first or f"node_{index}", f"{where}.name"),
            self.named(self.get(table, "target", where), f"{where}.target"),
            arguments,
            outputs,
            modules_in(texts.get("nn_module_stack", "")),
            frames_in(texts.get("stack_trace", "")),
            where,
        )

    # Programs.

    def input(self, raw: object, where: str) -> InputSpec:
        kind, value = self.union(raw, where)
        table = self.object(value, where)
        if kind == "user_input":
            return InputSpec(kind, self.argument(self.get(table, "arg", where), where))
        if kind == "constant_input":
            return InputSpec(
                kind, self.constant(self.get(table, "value", where), where), self.text(table.get("name", ""), where)
            )
        names = {"parameter": "parameter_name", "buffer": "buffer_name", "tensor_constant": "tensor_constant_name"}
        key = names.get(kind) or ("custom_obj_name" if kind == "custom_obj" else "")
        target = self.named(self.get(table, key, where), where) if key else ""
        return InputSpec(
            kind, self.name(self.get(table, "arg", where), where), target, bool(table.get("persistent", True))
        )

    def constant(self, raw: object, where: str) -> Argument:
        """Return the value that an input has in every call."""
        return self.argument(raw, where)

    def output(self, raw: object, where: str) -> OutputSpec:
        kind, value = self.union(raw, where)
        table = self.object(value, where)
        if kind in ("user_output", "loss_output"):
            return OutputSpec(kind, self.argument(self.get(table, "arg", where), where))
        keys = {"buffer_mutation": "buffer_name", "parameter_mutation": "parameter_name"}
        keys |= {"user_input_mutation": "user_input_name"}
        if kind not in keys:
            self.fail(where, "an output of inference", kind)
        target = self.named(self.get(table, keys[kind], where), where)
        return OutputSpec(kind, self.name(self.get(table, "arg", where), where), target)

    def program(self, document: Mapping[str, Any]) -> Program:
        version = self.object(self.get(document, "schema_version", "document"), "schema_version")
        major = self.int(self.get(version, "major", "schema_version"), "schema_version.major")
        if major != MAJOR:
            self.fail("schema_version", f"an exported program of schema {MAJOR}", f"schema {major}")
        module = self.object(self.get(document, "graph_module", "document"), "graph_module")
        signature = self.object(self.get(module, "signature", "graph_module"), "signature")
        inputs, outputs = (
            self.list(self.get(signature, key, "signature"), f"signature.{key}")
            for key in ("input_specs", "output_specs")
        )
        ranges: dict[str, tuple[int, int | None]] = {}
        for symbol, raw in self.object(document.get("range_constraints", {}), "range_constraints").items():
            table = self.object(raw, f"range_constraints['{symbol}']")
            low, high = (table.get(key) for key in ("min_val", "max_val"))
            where = f"range_constraints['{symbol}']"
            ranges[symbol] = (
                0 if low is None else self.int(low, where),
                None if high is None else self.int(high, where),
            )
        guards = self.list(document.get("guards_code") or [], "guards_code")
        return Program(
            self.graph(self.get(module, "graph", "graph_module"), "graph"),
            tuple(self.input(item, f"signature.input_specs[{at}]") for at, item in enumerate(inputs)),
            tuple(self.output(item, f"signature.output_specs[{at}]") for at, item in enumerate(outputs)),
            ranges,
            tuple(self.text(item, f"guards_code[{at}]") for at, item in enumerate(guards)),
            *self._signature(module, self.text(document.get("torch_version", ""), "torch_version")),
            self._fields(module),
        )

    def _fields(self, module: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
        """Return the names of the fields of each kind of named tuple."""
        where = "treespec_namedtuple_fields"
        fields: dict[str, tuple[str, ...]] = {}
        for kind, raw in self.object(module.get(where) or {}, where).items():
            names = self.list(self.get(self.object(raw, where), "field_names", where), where)
            fields[kind] = tuple(self.text(name, where) for name in names)
        return fields

    def _signature(self, module: Mapping[str, Any], version: str) -> tuple[str, str, str, tuple[str, ...]]:
        """Return out_spec, `version`, in_spec and the names of the parameters of the outermost module."""
        for at, item in enumerate(self.list(module.get("module_call_graph", []), "module_call_graph")):
            entry = self.object(item, f"module_call_graph[{at}]")
            if entry.get("fqn") == "" and entry.get("signature"):
                signature = self.object(entry["signature"], f"module_call_graph[{at}].signature")
                where = f"module_call_graph[{at}].signature"
                specs = [self.text(signature.get(key, ""), f"{where}.{key}") for key in ("out_spec", "in_spec")]
                names = self.list(signature.get("forward_arg_names") or [], where)
                return specs[0], version, specs[1], tuple(self.text(name, where) for name in names)
        return "", version, "", ()

    def tensors(self, document: Mapping[str, Any], where: str) -> dict[str, TensorEntry]:
        """Return the tensors in a table of weights or constants."""
        entries: dict[str, TensorEntry] = {}
        for name, item in self.object(self.get(document, "config", where), where).items():
            position = f"{where}['{name}']"
            entry = self.object(item, position)
            if entry.get("tensor_meta") is None:
                continue
            path = self.named(self.get(entry, "path_name", position), position)
            meta = self.meta(entry["tensor_meta"], position)
            entries[name] = TensorEntry(path, meta, bool(entry.get("use_pickle", False)))
        return entries


_LONGEST_NAME = 1000
_STRIDED = 7
_NUMBERS = {"as_sym_int": 5, "as_sym_float": 8, "as_sym_bool": 12}
"""Kind of number -> its element type."""
_EXPORTED = re.compile(r"_export_root(?:\.|$)")
"""The name of the outermost module in graphs that nodes run, in strict exports."""
_HOOK = "_empty_nn_module_stack_from_metadata_hook"


def modules_in(text: str) -> tuple[tuple[str, str], ...]:
    """Return the path and class of each module of a stack, which the schema writes as `key,path,class;..`."""
    modules: list[tuple[str, str]] = []
    for entry in filter(None, text.split(";")):
        parts = entry.split(",")
        if len(parts) >= 3 and parts[0] != _HOOK:
            modules.append((_EXPORTED.sub("", parts[1]), parts[-1]))
    return tuple(modules)
