"""What leaves the API is an error for people: with its layer, in one line, and never a bug in disguise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import whence
from whence import relay, te
from whence.cli import opt
from whence.support.doors import door, doors, turned
from whence.support.errors import FrontendError, InternalError, MemoryRefused, PipelineError, ScheduleError
from whence.support.hints import fits
from whence.support.instrument import PassInfo, PassInstrument

FLOAT = TensorProto.FLOAT


def model(nodes: Sequence[NodeProto], shape: Sequence[int | str] = (3,), output: int = FLOAT) -> ModelProto:
    """`nodes` from x to y."""
    inputs = [helper.make_tensor_value_info("x", FLOAT, shape)]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", output, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])


def test_a_module_without_main_has_a_program_for_each_function():
    programs: Any = whence.compile(relay.fromtext('#[version = "0.0.5"]\ndef @f() { 1f }\ndef @g() { 2f }'))
    assert programs.names == ["f", "g"]
    assert programs.function("g")() == 2
    with pytest.raises(PipelineError, match="expected a function among f, g, got main"):
        programs.function("main")
    module = relay.fromtext('#[version = "0.0.5"]\ntype Box { Box(int32) }')
    with pytest.raises(FrontendError, match="expected a function @main, got none"):
        whence.compile(module)


def test_what_breaks_a_rule_later_on_names_its_layer():
    nodes = [helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Transpose", ["a"], ["y"], perm=[0, 0])]
    expected = r"relay.transpose: expected axes that permute .*\(layer 'Transpose_0', <memory> node 1\)"
    with pytest.raises(FrontendError, match=expected):
        whence.compile(model(nodes))


def test_an_error_of_te_names_the_layer():
    module = relay.fromtext('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), bool]) { abs(%x) }')
    with pytest.raises(ScheduleError, match=r"te\.abs: expected a number, got bool; use astype \(from_string:2:\d+\)"):
        whence.compile(module)


def test_an_error_of_the_users_pass_stays_and_says_in_which_pass_and_at_which_layer():
    class Lookup(ModulePass):
        name = "look-up"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            for each in op.walk():
                if each.name == "relay.nn.relu":
                    {}[each.name]

    source = model([helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Relu", ["a"], ["y"], name="act")])
    with pytest.raises(KeyError) as caught:
        whence.compile(source, pipeline=[Lookup()])
    assert caught.value.__notes__ == ["raised in pass look-up, layer 'act', <memory> node 1"]
    assert str(turned(caught.value)) == "pass look-up: KeyError: 'relay.nn.relu' (layer 'act', <memory> node 1)"


def test_names_of_a_model_do_not_steer_the_terminal():
    with pytest.raises(FrontendError, match=r"got 'evil\\x1b\[31m', which the model does not define"):
        whence.compile(model([helper.make_node("Abs", ["evil\x1b[31m"], ["y"])]))


def test_a_result_of_too_many_dimensions_is_refused():
    axes = helper.make_node("Constant", [], ["axes"], value_ints=list(range(99)))
    nodes = [axes, helper.make_node("Unsqueeze", ["x", "axes"], ["y"])]
    expected = r"expected a result of at most 64 dimensions, got 100 \(layer 'Unsqueeze_0', <memory> node 1\)"
    with pytest.raises(FrontendError, match=expected):
        whence.load(model(nodes))


def test_arguments_of_other_types_are_named():
    with pytest.raises(PipelineError, match=r"source: expected a model: its file or bytes, .*, got 3\.5"):
        whence.load(3.5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(PipelineError, match="compile: missing a required argument: 'source'"):
        whence.compile()  # pyright: ignore[reportCallIssue]
    executable = whence.compile(model([helper.make_node("Relu", ["x"], ["y"])]))
    with pytest.raises(PipelineError, match=r"run: expected inputs by name, .*, got a int"):
        executable.run(3)  # pyright: ignore[reportArgumentType, reportCallIssue]


def test_primitives_name_arguments_that_make_no_sense():
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1, name="B")
    c = te.compute((8,), lambda i: b[i] + 1, name="C")
    schedule = te.create_schedule(c.op)
    with pytest.raises(ScheduleError, match="tile: missing a required argument: 'x'"):
        schedule[b].tile()  # pyright: ignore[reportCallIssue]
    with pytest.raises(ScheduleError, match="set_scope: expected a scope among global, shared, local, got 3"):
        schedule[b].set_scope(3)  # pyright: ignore[reportArgumentType]
    foreign = schedule[c].leaf[0]
    with pytest.raises(ScheduleError, match=r"expected an axis of the stage, got i \(stage 'B'"):
        schedule[b].handle(foreign)


def test_lists_of_several_lengths_are_no_arrays():
    executable = whence.compile(model([helper.make_node("Relu", ["x"], ["y"])], ["n", 3]), tier="symbolic")
    with pytest.raises(FrontendError, match=r"expected float32\[n, 3\] 'x', got a list that is no such array"):
        executable([[1, 2, 3], [4, 5]])  # pyright: ignore[reportArgumentType]


def test_names_of_shapes_may_be_anything():
    with pytest.raises(FrontendError, match="weren't found in the graph: 3"):
        whence.load(model([helper.make_node("Relu", ["x"], ["y"])], ["n"]), {3: [1]})  # pyright: ignore[reportArgumentType]


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModelProto]:
    """A model whose pass or converter has a bug."""

    def of(target: str) -> ModelProto:
        monkeypatch.setattr(target, None)
        return model([helper.make_node("Relu", ["x"], ["y"], "act")])

    return of


def test_a_bug_in_a_pass_says_so_with_its_cause(broken: Callable[[str], ModelProto]):
    bad = broken("whence.passes.relay.fuse_ops._Outliner")
    with pytest.raises(InternalError) as raised:
        whence.compile(bad)
    text = str(raised.value)
    assert text.startswith(
        "internal error in pass relay-fuse-ops: TypeError: 'NoneType' object is not callable (layer 'act', <memory> nod"
    )
    assert text.endswith("this is a bug of Whence")
    assert isinstance(raised.value.__cause__, TypeError)


def test_a_bug_in_a_converter_names_the_layer(broken: Callable[[str], ModelProto]):
    with pytest.raises(InternalError, match=r"internal error in whence\.frontends\..*\(layer 'act', <memory> node 0\)"):
        whence.load(broken("whence.frontends.importing.importer.Importer.bind"))


def test_what_a_callback_raises_is_its_own():
    class Instrument(PassInstrument):
        def run_before_pass(self, mod: object, info: PassInfo) -> None:
            raise ZeroDivisionError("mine")

    relu = model([helper.make_node("Relu", ["x"], ["y"])])
    with pytest.raises(ZeroDivisionError, match="mine"), whence.PassContext(instruments=[Instrument()]):
        whence.compile(relu)

    def progress(what: str, done: int, total: int) -> None:
        np.zeros(3).reshape(2)

    with pytest.raises(ValueError, match="cannot reshape"):
        whence.compile(relu, progress=progress)


def test_what_a_callback_does_wrong_with_us_is_told():
    a = te.placeholder((8,), name="A")

    def bad(i: Any) -> Any:
        te.create_schedule(3)  # pyright: ignore[reportArgumentType]
        return a[i]

    with pytest.raises(ScheduleError, match="create_schedule: expected"):
        te.compute((8,), bad)


def test_nesting_and_memory_have_errors_of_their_own():
    assert isinstance(turned(RecursionError("maximum recursion depth exceeded")), FrontendError)
    assert isinstance(turned(MemoryError()), MemoryRefused)
    assert str(turned(FileNotFoundError(2, "No such file", "a\nb"))) == "a\\nb: No such file"


def test_inside_an_error_stays_as_it_is():
    """A door that code of ours calls turns nothing, as that code may have an answer."""
    space: dict[str, Any] = {"__name__": "whence.inside", "door": door}
    exec("@door()\ndef inner():\n    raise KeyError('k')\ndef outer():\n    inner()\n", space)
    with pytest.raises(KeyError):
        space["outer"]()
    with pytest.raises(InternalError):
        space["inner"]()


def test_every_public_method_of_a_class_is_a_door():
    @doors(ScheduleError, besides=("hot",))
    class Kind:
        def method(self) -> None: ...

        def hot(self) -> None: ...

        def _own(self) -> None: ...

    doored = {name for name, value in vars(Kind).items() if hasattr(value, "__wrapped__")}
    assert doored == {"method"}


def test_values_are_held_against_types():
    names = {"Sequence": Sequence, "Callable": Callable}
    assert fits([1, 2], "Sequence[int]", names)
    assert not fits([1, "a"], "Sequence[int]", names)
    assert not fits("text", "Sequence[int]", names)
    assert fits(None, "Missing | None", names)
    assert not fits(3, "Missing | None", names)
    assert fits(np.int64(3), "int", names)
    assert fits(3, "float | None", names)
    assert not fits("3", "float | None", names)


def test_a_command_shows_a_bug_in_one_line(capsys: pytest.CaptureFixture[str], broken: Callable[[str], ModelProto]):
    broken("whence.passes.relay.fuse_ops._Outliner")
    assert opt.main(["light_squeezenet", "-p", "relay-fuse-ops"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "whence-opt: error: internal error in pass relay-fuse-ops: TypeError: 'NoneType' object is not callable"
    )
    assert line.endswith("(WHENCE_DEBUG=1 shows where)")


def test_an_operation_that_ends_while_it_is_made_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "m.mlir"
    file.write_text("func.func @f(%a: i32) {\n  %0 = arith.cmpi sgesge, %a, %a : i32\n}\n")
    assert opt.main([str(file)]) == 1
    assert capsys.readouterr().err.startswith("whence-opt: error: Unknown comparison mnemonic: sgesge")
