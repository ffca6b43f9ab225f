"""A function as a program of one call, so that it is shipped as models are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Protocol

import numpy as np
from xdsl.dialects.builtin import LocationAttr

from whence.dialects.sizes import Size
from whence.dialects.sizes.expr import symbol
from whence.lowering.cache import KernelCache
from whence.lowering.kernel.record import Kernel
from whence.lowering.kernel.tuned import Applied
from whence.lowering.llvm_to_native.compile import Native
from whence.lowering.llvm_to_native.target import Target
from whence.planning.artifact import Artifact, Assembly, Call
from whence.planning.build import compile_main
from whence.planning.export import Contents, export
from whence.planning.graph import GraphPlan
from whence.planning.lifetimes import Plan
from whence.planning.main_program import main_program
from whence.planning.size_values import SizeValues
from whence.provenance.ledger import Ledger
from whence.provenance.span import fuse, leaves
from whence.runtime.loading.elf import UNDEFINED, Elf
from whence.runtime.program import program
from whence.runtime.program.graph import Entry, Graph, Node, Ref
from whence.runtime.program.program import KernelEntry, Program, Slot
from whence.runtime.program.sizes import SizedSpec
from whence.runtime.values.open_specs import OPEN
from whence.runtime.values.tensors import TensorSpec
from whence.support.errors import PipelineError, expectation


class Exported(Protocol):
    """The parts of a function that its files need; see `whence.kernels.functions.Function`."""

    name: str
    target: Target
    sizes: tuple[str, ...]
    native: Native
    imports: dict[str, int]
    """The addresses in this process that its code may call, by symbol."""
    locations: list[list[LocationAttr]]
    """Per line of `tir` the locations of the ops on it."""

    tuned: Mapping[str, Applied]
    """Its name -> the decisions of tuning by which it was made."""

    @property
    def tir(self) -> str: ...
    @property
    def llvm(self) -> str: ...
    @property
    def open_arguments(self) -> list[tuple[str, tuple[Size, ...], np.dtype[np.generic]]]: ...
    @property
    def inputs(self) -> int: ...
    @property
    def order(self) -> list[int]: ...
    @property
    def workspace_bytes(self) -> int: ...


def export_function(
    function: Exported,
    path: Path,
    link: Callable[..., object] | None = None,
    addons: Sequence[str | PathLike[str]] = (),
    options: Sequence[str] = (),
) -> None:
    """Write a function to a .tar, .so or .o file; errors as `planning.export.export`.

    Of a function of open sizes, a call reads them off its inputs. Raises PipelineError for one whose sizes no input
    tells, and for one that reports to this process or calls functions of Python's.
    """
    artifact = artifact_of(function)
    from whence.planning.archive import archived

    # By its plain name code finds the library's own function, whatever else the process has under that.
    own = ["-Wl,-Bsymbolic"] if path.suffix == ".so" and link is None else []
    contents = Contents(_plan(function, artifact), function.name, {}, archived(artifact), entry=function.order)
    export(artifact, contents, path, link, [Path(addon) for addon in addons], [*own, *options])


def artifact_of(function: Exported) -> Artifact:
    """Return the program that calls a function once, with its code; errors as `export_function`."""
    what = f"export of function '{function.name}'"
    native, calls = function.native, function.imports
    undefined = {entry.name for entry in Elf.of(native.object, what).symbols if entry.section == UNDEFINED}
    if called := sorted(undefined.intersection(calls)):
        raise PipelineError(expectation(what, "code that needs nothing of this process", f"calls of {called[0]}"))
    slots: dict[LocationAttr, int] = {}
    for locations in function.locations:
        for leaf in leaves(fuse(locations)):
            slots.setdefault(leaf, len(slots))
    lines = tuple(
        tuple(dict.fromkeys(slots[leaf] for leaf in leaves(fuse(locations)))) for locations in function.locations
    )
    location = fuse(list(slots))
    values = SizeValues(function.sizes, {})
    specs = _specs(function, values, location)
    inputs, outputs = specs[: function.inputs], specs[function.inputs :]
    scratch = function.workspace_bytes
    run = program.Call(
        kernel=0,
        inputs=tuple(Slot("io", number) for number in range(len(inputs))),
        outputs=tuple(Slot("io", number) for number in range(len(inputs), len(specs))),
        workspace=Slot("arena", 0) if scratch else None,
        results=outputs,
        name=function.name,
        sizes=tuple(values.quantity(symbol(name), location) for name in function.sizes),
    )
    sizes = None
    if function.sizes:
        arena = values.number(scratch, location)
        shapes = [shape for _, shape, _ in function.open_arguments[: function.inputs]]
        sizes = values.done(shapes, [spec.name for spec in inputs], arena)
    kernel = Kernel(
        symbol=function.name,
        workspace=scratch,
        tir=function.tir,
        lines=lines,
        places=(),
        te="",
        schedule="",
        decisions={},
        llvm=function.llvm,
        ops={},
        located={},
        work=(),
        growth=(),
        typical=0,
        sites=(),
        sizes=len(function.sizes),
        refusal="",
        object=native.object,
        assembly=native.assembly,
    )
    assembly = Assembly(
        Program((run,), (), (KernelEntry(function.name, tiles=kernel.tiles),), inputs, outputs, scratch, sizes),
        (),
        (Call(run, tuple(slots), location),),
        Plan({}, (0 if scratch else -1,), scratch, scratch, "one call", ()),
        location,
        tuple(values.located()),
    )
    main = compile_main(main_program(assembly), function.target, KernelCache())
    return Artifact(
        **vars(assembly),
        kernels=(kernel,),
        main=main.object,
        target=function.target,
        ledger=Ledger(),
        main_assembly=main.assembly,
        tuned=function.tuned,
    )


def _specs(function: Exported, values: SizeValues, location: LocationAttr) -> tuple[TensorSpec, ...]:
    """Return the specifications of the arguments, under unique names."""
    specs: list[TensorSpec] = []
    names: set[str] = set()
    for position, (name, shape, dtype) in enumerate(function.open_arguments):
        name = name if name not in names else f"{name}_{position}"
        names.add(name)
        plain = tuple(extent if isinstance(extent, int) else OPEN for extent in shape)
        if function.sizes:
            numbers = tuple(values.quantity(extent, location) for extent in shape)
            specs.append(SizedSpec(name, plain, dtype, numbers, tuple(map(str, shape))))
        else:
            specs.append(TensorSpec(name, plain, dtype))
    return tuple(specs)


def _plan(function: Exported, artifact: Artifact) -> GraphPlan:
    """Return the graph of one node, which has the name of the function."""
    program = artifact.program
    inputs = [Node("null", spec.name) for spec in program.inputs]
    attrs = {
        "num_outputs": str(len(program.outputs)),
        "num_inputs": str(len(inputs)),
        "flatten_data": "0",
        "func_name": function.name,
    }
    node = Node("tvm_op", function.name, tuple(Ref(number) for number in range(len(inputs))), attrs)
    specs = (*program.inputs, *program.outputs)
    entries = tuple(Entry(spec.shape, spec.dtype.name, number) for number, spec in enumerate(specs))
    heads = tuple(Ref(len(inputs), number) for number in range(len(program.outputs)))
    graph = Graph((*inputs, node), tuple(range(len(inputs))), heads, entries)
    return GraphPlan(graph, {}, {function.name: 0}, {function.name: 0})
