"""From a module of the language to a program of steps.

Tensor operators are gathered: what does not depend on them, such as a call, goes before them, and what only names
values, such as a tuple, behind them. Let-blocks are flat, in the region that they stand in. Each region that reads a
constant has it itself, so that code is compiled for what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import FunctionType, LocationAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..dialects.relay.binding import Flavour, IfOp, LetOp
from ..dialects.relay.core import CallOp, ConstantOp, FuncOp, ReturnOp
from ..dialects.relay.data_types import ConstructOp, MatchOp, TypeDataOp
from ..dialects.relay.functions import FnOp, GlobalOp, InvokeOp, YieldOp
from ..dialects.relay.operator import Operator
from ..dialects.relay.references import RefCreateOp, RefReadOp, RefWriteOp
from ..dialects.relay.tuples import TupleGetItemOp, TupleOp
from ..dialects.relay.types import fits, signature_of
from ..passes.functions import COMPILER
from ..provenance.diagnostics import describe, fail
from ..runtime.interpreting import flow
from ..runtime.interpreting import language as steps
from ..runtime.interpreting.host import Task
from ..support.errors import PipelineError
from .liveness import settle
from .patterns import clause_of
from .stretches import Operators, is_decided


@dataclass(frozen=True, eq=False)
class Program:
    """A translated module."""

    module: ModuleOp
    functions: dict[str, flow.Region]
    """By name; one with several results, or none, gives them one by one."""
    regions: Sequence[flow.Region]
    """All regions, each before those inside it."""


def translate(module: ModuleOp) -> Program:
    """The program of a module, which must stay as it is.

    Raises VerifyException for what cannot be run: a call of a function that is not there, a value before it is made.
    """
    translator = _Translator(module)
    translator.run()
    settle(translator.regions, translator.names)
    return Program(module, translator.functions, translator.regions)


class _Part:
    """A region that is being filled."""

    def __init__(self, region: flow.Region, location: LocationAttr):
        self.region = region
        self.location = location
        """The location of the function around it."""
        self.native: Operators | None = None
        self.external: FuncOp | None = None
        """The function for an external compiler that it is."""
        self.made: set[SSAValue] = set()
        """By the operators gathered."""
        self.later: list[steps.Instruction] = []
        """Steps to come behind them."""
        self.named: set[SSAValue] = set()
        """Their results."""
        self.literals: set[SSAValue] = set()


class _Translator:
    def __init__(self, module: ModuleOp):
        self.module = module
        self.functions: dict[str, flow.Region] = {}
        self.callees: dict[str, FunctionType] = {}
        """The types of functions."""
        self.polymorphic: set[str] = set()
        self.types: dict[str, TypeDataOp] = {}
        self.regions: list[flow.Region] = []
        """Each before those inside it."""
        self.pending: list[tuple[flow.Region, Block, LocationAttr]] = []
        self.names: dict[SSAValue, str] = {}
        self.same: dict[SSAValue, SSAValue] = {}
        """Values that are others: what let-blocks yield, what is taken out of tuples that are known."""
        self.reads: dict[Operation, set[SSAValue]] = {}
        """For an op with regions, the values from outside that the regions read."""
        self._counts: dict[str, int] = {}
        self._emit: dict[type[Operation], Callable[[_Part, Operation], None]] = {
            TupleOp: self._tuple,
            TupleGetItemOp: self._get_item,
            IfOp: self._if,
            FnOp: self._fn,
            GlobalOp: self._global,
            InvokeOp: self._invoke,
            CallOp: self._call,
            RefCreateOp: lambda part, op: self._control(part, op, steps.CreateReference),
            RefReadOp: lambda part, op: self._control(part, op, steps.ReadReference),
            RefWriteOp: lambda part, op: self._control(part, op, steps.WriteReference),
            ConstructOp: self._construct,
            MatchOp: self._match,
        }

    def run(self) -> None:
        functions: list[FuncOp] = []
        for op in self.module.ops:
            match op:
                case TypeDataOp():
                    self.types[op.sym_name.data] = op
                case FuncOp():
                    functions.append(op)
                    self.functions[op.sym_name.data] = self._region(op.block, op.location)
                    self.callees[op.sym_name.data] = op.function_type
                    if op.type_names():
                        self.polymorphic.add(op.sym_name.data)
                    self._find_reads(op)
                case _:
                    fail(op, "a relay.func or relay.type_data in the module", op.name)
        if "main" not in self.functions:
            raise PipelineError("expected a module with a relay.func @main, got none")
        while self.pending:
            self._fill(*self.pending.pop())

    # Values.

    def resolved(self, value: SSAValue) -> SSAValue:
        root = value
        while (other := self.same.get(root)) is not None:
            root = other
        if root is not value:
            self.same[value] = root
        return root

    def name(self, value: SSAValue) -> str:
        """The name of a resolved value, unlike all others'."""
        if (name := self.names.get(value)) is None:
            hint = value.name_hint or "v"
            count = self._counts.get(hint, 0)
            self._counts[hint] = count + 1
            name = self.names[value] = f"{hint}.{count}" if count or hint == "v" else hint
        return name

    def read(self, part: _Part, values: Sequence[SSAValue]) -> tuple[str, ...]:
        """The names of values, with a step for each that is a constant."""
        names: list[str] = []
        for value in map(self.resolved, values):
            names.append(self.name(value))
            owner = value.owner
            if isinstance(owner, ConstantOp) and value not in part.literals:
                part.literals.add(value)
                layer = describe(owner.location)
                literal = steps.Literal((), (names[-1],), layer, array=owner.value(self.module))
                part.region.steps.append(literal)
        return tuple(names)

    def _find_reads(self, func: FuncOp) -> None:
        """Note what regions read of the values around them."""
        for op in func.walk():
            for value in op.operands:
                home = value.owner if isinstance(value.owner, Block) else value.owner.parent
                around = op.parent
                while around is not None and around is not home:
                    outer = around.parent_op()
                    assert outer is not None
                    self.reads.setdefault(outer, set()).add(value)
                    around = outer.parent

    # Regions.

    def _region(self, block: Block, location: LocationAttr) -> flow.Region:
        """The region of a block, filled when its turn comes."""
        region = flow.Region(tuple(map(self.name, block.args)), (), [], {})
        self.regions.append(region)
        self.pending.append((region, block, location))
        return region

    def _fill(self, region: flow.Region, block: Block, location: LocationAttr) -> None:
        part = _Part(region, location)
        around = block.parent_op()
        if isinstance(around, FuncOp) and COMPILER in around.attributes:
            part.external = around
        for op in self._flat(block):
            match op:
                case Operator():
                    self._gather(part, op)
                case ConstantOp():
                    pass
                case ReturnOp() | YieldOp():
                    _flush(part)
                    region.outputs = self.read(part, op.operands)
                case _ if (emit := self._emit.get(type(op))) is not None:
                    emit(part, op)
                case _:
                    fail(op, "an op of relay", op.name)

    def _flat(self, block: Block) -> Iterator[Operation]:
        """The ops of a block and of let-blocks in it, in the order in which they can run."""
        stack: list[Iterator[Operation]] = [iter(block.ops)]
        while stack:
            op = next(stack[-1], None)
            if op is None:
                stack.pop()
            elif isinstance(op, LetOp):
                yields = op.block.last_op
                assert isinstance(yields, YieldOp)
                self.same |= dict(zip(op.results, yields.values, strict=True))
                inner = list(op.block.ops)[:-1]
                if op.kind is Flavour.REC:
                    self.same |= dict(zip(op.block.args, yields.values, strict=True))
                    self._check_recursive(op, yields)
                    inner.sort(key=lambda member: isinstance(member, FnOp))
                stack.append(iter(inner))
            else:
                yield op

    def _check_recursive(self, op: LetOp, yields: YieldOp) -> None:
        functions = [member for member in op.block.ops if isinstance(member, FnOp)]
        results = {function.result for function in functions}
        defined = {*op.block.args, *results}
        for value in yields.values:
            if value not in results:
                fail(op, "functions yielded by a let-block that is rec", str(value.type))
        for member in op.block.ops:
            if (
                member is not yields
                and member not in functions
                and defined & {*member.operands, *self.reads.get(member, ())}
            ):
                fail(member, "functions alone to read each other in a let-block that is rec", member.name)

    # Steps.

    def _depends(self, part: _Part, op: Operation) -> bool:
        """Return whether an op reads what the gathered operators, or steps behind them, make."""
        read = map(self.resolved, (*op.operands, *self.reads.get(op, ())))
        return any(value in part.made or value in part.named for value in read)

    def _gather(self, part: _Part, op: Operator) -> None:
        operands = [self.resolved(value) for value in op.operands]
        if not is_decided(op, operands):
            inputs, outputs, layer = self.read(part, operands), tuple(map(self.name, op.results)), describe(op.location)
            self._plain(part, op, steps.Computed(inputs, outputs, layer, task=_task(op, layer)))
            return
        if any(value in part.named for value in operands):
            _flush(part)
        if part.native is None:
            part.native = Operators(self.module, part.location, part=part.external)
        for value in operands:
            self.name(value)
        for value in op.results:
            self.name(value)
        part.native.add(op, operands)
        part.made.update(op.results)

    def _plain(self, part: _Part, op: Operation, step: steps.Instruction) -> None:
        """A step that only makes a value of others: it may come behind the operators."""
        if self._depends(part, op):
            part.later.append(step)
            part.named.update(op.results)
        else:
            part.region.steps.append(step)

    def _control(self, part: _Part, op: Operation, kind: type[steps.Instruction]) -> None:
        self._ordered(part, op, lambda inputs, outputs, layer: kind(inputs, outputs, layer))

    def _ordered(
        self,
        part: _Part,
        op: Operation,
        make: Callable[[tuple[str, ...], tuple[str, ...], str], steps.Instruction],
    ) -> None:
        """A step that keeps its place among others of the kind."""
        if self._depends(part, op):
            _flush(part)
        inputs = self.read(part, op.operands)
        part.region.steps.append(make(inputs, tuple(map(self.name, op.results)), describe(op.location)))

    def _tuple(self, part: _Part, op: Operation) -> None:
        inputs = self.read(part, op.operands)
        self._plain(part, op, steps.MakeTuple(inputs, (self.name(op.results[0]),), describe(op.location)))

    def _get_item(self, part: _Part, op: Operation) -> None:
        assert isinstance(op, TupleGetItemOp)
        index, source = op.index.value.data, self.resolved(op.tuple_value)
        if isinstance(source.owner, TupleOp):
            self.same[op.result] = source.owner.fields[index]
            return
        step = steps.GetItem((self.name(source),), (self.name(op.result),), describe(op.location), index=index)
        self._plain(part, op, step)

    def _construct(self, part: _Part, op: Operation) -> None:
        assert isinstance(op, ConstructOp)
        name = op.constructor.string_value()
        tag = self._tags(op, op.result.type.definition.string_value(), name)
        inputs = self.read(part, op.operands)
        step = steps.Construct(inputs, (self.name(op.result),), describe(op.location), tag=tag, name=name)
        self._plain(part, op, step)

    def _tags(self, op: Operation, definition: str, constructor: str) -> int:
        if definition not in self.types:
            fail(op, f"a relay.type_data @{definition}", "none in the module")
        names = self.types[definition].names()
        if constructor not in names:
            fail(op, f"a constructor among {', '.join(names)}", constructor)
        return names.index(constructor)

    def _fn(self, part: _Part, op: Operation) -> None:
        """A closure; functions of a recursive let-block, which come one after the other, are made together."""
        assert isinstance(op, FnOp)
        around = op.parent_op()
        group = [op]
        if isinstance(around, LetOp) and around.kind is Flavour.REC:
            group = [function for function in around.block.ops if isinstance(function, FnOp)]
            if op is not group[0]:
                return
        if any(self._depends(part, function) for function in group):
            _flush(part)
        part.region.steps.append(
            steps.MakeClosures(
                (),
                tuple(self.name(function.result) for function in group),
                describe(op.location),
                names=tuple(function.result.name_hint or "a function" for function in group),
                regions=tuple(self._region(function.block, function.location) for function in group),
            )
        )

    def _callee(self, op: Operation, name: str) -> flow.Region:
        if name not in self.functions:
            fail(op, f"a relay.func named @{name}", "none in the module")
        return self.functions[name]

    def _global(self, part: _Part, op: Operation) -> None:
        """A function as a value; one of several results gives a tuple of them."""
        assert isinstance(op, GlobalOp)
        name, layer = op.symbol.string_value(), describe(op.location)
        region = self._callee(op, name)
        results = self.callees[name].outputs
        signature = signature_of(op.result.type)
        if signature is None or len(signature.inputs) != len(region.inputs):
            fail(op, f"a function of {len(region.inputs)} arguments", str(op.result.type))
        if len(results) != 1:
            inputs = tuple(f"{name}.in.{at}" for at in range(len(region.inputs)))
            outputs = tuple(f"{name}.out.{at}" for at in range(len(results)))
            call = steps.Call(inputs, outputs, layer, name=name, region=region)
            output = f"{name}.out"
            packed = steps.MakeTuple(outputs, (output,), layer)
            region = flow.Region(inputs, (output,), [call, packed], {})
            self.regions.append(region)
        step = steps.Global((), (self.name(op.result),), layer, name=name, region=region)
        part.region.steps.append(step)

    def _call(self, part: _Part, op: Operation) -> None:
        assert isinstance(op, CallOp)
        name = op.callee.string_value()
        region = self._callee(op, name)
        callee = self.callees[name]
        for what, wanted, actual in (
            ("arguments", callee.inputs.data, op.operand_types),
            ("results", callee.outputs.data, op.result_types),
        ):
            # Types that are open in the callee are for whoever checks types.
            pairs = zip(wanted, actual, strict=False)
            if len(wanted) != len(actual) or not (name in self.polymorphic or all(fits(a, b) for a, b in pairs)):
                fail(op, f"{what} {_listed(wanted)}", _listed(actual))
        self._ordered(
            part, op, lambda inputs, outputs, layer: steps.Call(inputs, outputs, layer, name=name, region=region)
        )

    def _invoke(self, part: _Part, op: Operation) -> None:
        self._control(part, op, steps.Invoke)

    def _if(self, part: _Part, op: Operation) -> None:
        assert isinstance(op, IfOp)
        regions = self._branches(part, (op.true_branch, op.false_branch))
        self._ordered(part, op, lambda inputs, outputs, layer: steps.Choose(inputs, outputs, layer, regions=regions))

    def _match(self, part: _Part, op: Operation) -> None:
        assert isinstance(op, MatchOp)
        regions = self._branches(part, op.clauses)
        clauses = [clause_of(op, pattern, self.types) for pattern in op.patterns]
        self._ordered(
            part,
            op,
            lambda inputs, outputs, layer: steps.Match(inputs, outputs, layer, regions=regions, clauses=clauses),
        )

    def _branches(self, part: _Part, regions: Sequence[Region]) -> tuple[flow.Region, ...]:
        return tuple(self._region(region.block, part.location) for region in regions)


def _task(op: Operator, layer: str) -> Task:
    """The work of Python for an operator whose values decide the shape of its result."""
    attributes = {name: op.signature.get(name) for name in op.declared_attributes()}
    return Task(op.name.removeprefix("relay."), attributes, layer)


def _listed(types: Sequence[Attribute]) -> str:
    return ", ".join(map(str, types)) or "none"


def _flush(part: _Part) -> None:
    """Put the gathered operators where they are, and behind them what was put off."""
    if part.native is not None:
        part.region.steps.append(steps.Native((), (), describe(part.location), source=part.native))
    part.region.steps += part.later
    part.native, part.later = None, []
    part.made.clear()
    part.named.clear()
