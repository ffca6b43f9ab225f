"""Modules as TVM's users hold them: functions of all levels, and data types, by name, on the ops of everything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from whence.relay.ty import GlobalTypeVar
from whence.support.errors import FrontendError
from whence.syntax.relax.printer import module_text
from whence.syntax.relax.spelling import NEWEST, SPELLINGS
from whence.syntax.relay.elaborate import elaborate
from whence.syntax.relay.expr import Expr, Function, GlobalVar, Program, TypeData, Var
from whence.syntax.relay.infer import infer
from whence.syntax.relay.nodes import free_vars
from whence.syntax.relay.view import view

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from whence.dialects.tir import PrimFuncOp
    from whence.tir.function import PrimFunc


class IRModule:
    """Global functions, of relay or kernels of tir, and data types.

    It is made of expressions and statements or of a module of ops, and makes the other form on demand. Types are
    checked when expressions become ops.
    """

    def __init__(
        self,
        functions: Mapping[Any, Function | PrimFunc] | None = None,
        type_definitions: Mapping[Any, TypeData] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ):
        self.attrs = dict(attrs or {})
        """The user's notes on the module, which passes keep and do not read."""
        self._program: Program | None = Program(
            {_name(key): function for key, function in (functions or {}).items() if isinstance(function, Expr)},
            {_name(key): data for key, data in (type_definitions or {}).items()},
        )
        self._kernels: dict[str, PrimFunc] | None = {
            _name(key): function for key, function in (functions or {}).items() if not isinstance(function, Expr)
        }
        self._module: ModuleOp | None = None
        self._params: Mapping[str, Sequence[Var]] = {}
        """The variables of the functions from which the ops were made."""
        self._notes: Mapping[str, Mapping[str, Any]] = {}
        """The attributes of the kernels from which the ops were made."""
        self._globals: dict[str, GlobalVar] = {key.name_hint: key for key in functions or {} if _is_global(key)}

    @staticmethod
    def from_expr(
        expr: Expr | PrimFunc,
        functions: Mapping[Any, Function] | None = None,
        type_defs: Mapping[Any, TypeData] | None = None,
    ) -> IRModule:
        """Return the module whose `@main` is a function, or returns an expression for values of its free variables.

        A kernel has the name that it says.
        """
        if not isinstance(expr, Expr):
            return IRModule({**(functions or {}), str(expr.attrs.get("global_symbol", "main")): expr}, type_defs)
        main = expr if isinstance(expr, Function) else Function(free_vars(expr), expr)
        return IRModule({**(functions or {}), "main": main}, type_defs)

    @staticmethod
    def of(module: ModuleOp | Program) -> IRModule:
        """Return the module of ops, which are not copied, or of a program."""
        result = IRModule()
        if isinstance(module, Program):
            result._program = module
        else:
            result._program, result._kernels, result._module = None, None, module
        return result

    def holding(self, module: ModuleOp, notes: Mapping[str, Mapping[str, Any]] | None = None) -> IRModule:
        """Return a module of other ops, not copied, with the attributes of this one.

        notes: the attributes of its kernels by name, where they are not those of this module's.
        """
        result = IRModule.of(module)
        result.attrs = dict(self.attrs)
        functions = self._program.functions if self._program is not None else None
        result._params = self._params if functions is None else {name: f.params for name, f in functions.items()}
        own = self._notes if self._kernels is None else {name: kernel.attrs for name, kernel in self._kernels.items()}
        result._notes = own if notes is None else notes
        return result

    def with_attr(self, attr_key: str, attr_value: Any) -> IRModule:
        """Return the same module with one more attribute."""
        return self.with_attrs({attr_key: attr_value})

    def with_attrs(self, attr_map: Mapping[str, Any]) -> IRModule:
        """Return the same module with more attributes."""
        result = self.shallow_copy()
        result.attrs.update(attr_map)
        return result

    def without_attr(self, attr_key: str) -> IRModule:
        """Return the same module without an attribute."""
        result = self.shallow_copy()
        result.attrs.pop(attr_key, None)
        return result

    def get_attr(self, attr_key: str) -> Any:
        """Return an attribute; None for a missing one."""
        return self.attrs.get(attr_key)

    @property
    def module(self) -> ModuleOp:
        """The ops. Raises FrontendError when expressions are ill-typed."""
        if self._module is None:
            self._module = elaborate(self._linked())
        return self._module

    @property
    def kernels(self) -> dict[str, PrimFunc]:
        """The functions that are statements on buffers, by name."""
        if self._kernels is None:
            assert self._module is not None
            self._kernels = {}
            for op in _prim_funcs(self._module):
                # A module of a network has none, and needs nothing of tir.
                from whence.tir.function import PrimFunc

                name = op.sym_name.data
                self._kernels[name] = PrimFunc.of(op, self._notes.get(name))
        return self._kernels

    @property
    def program(self) -> Program:
        """The expressions."""
        if self._program is None:
            assert self._module is not None
            self._program = view(self._module, self._params)
        return self._program

    @property
    def functions(self) -> dict[GlobalVar, Any]:
        """The functions by the variables that name them."""
        return {self.get_global_var(name): function for name, function in self._named().items()}

    def _linked(self) -> Program:
        """Return the expressions, with the kernels that they call."""
        self.program.kernels = self.kernels
        return self.program

    def _named(self) -> dict[str, Any]:
        return {**self.program.functions, **self.kernels}

    @property
    def type_definitions(self) -> dict[str, TypeData]:
        return dict(self.program.types)

    def _edited(self) -> tuple[Program, dict[str, PrimFunc]]:
        """The functions of relay and the kernels, to be changed: the ops are made anew of both."""
        parts = self.program, self.kernels
        self._module = None
        return parts

    def get_global_var(self, name: str) -> GlobalVar:
        """Return the variable that names a function; raises ValueError for an unknown name."""
        if name not in self:
            candidates = ", ".join(self._named()) or "none"
            raise ValueError(f'Cannot find global var "{name}" in the Module: candidates are: {candidates}')
        return self._globals.setdefault(name, GlobalVar(name))

    def get_global_vars(self) -> Sequence[GlobalVar]:
        return [self.get_global_var(name) for name in self._named()]

    def get_type(self, name: str) -> tuple[Any, ...]:
        """Return the name of a data type, to be called with types as in `List(a)`, and its constructors."""
        return (self.get_global_type_var(name), *self.program.types[name].constructors)

    def get_global_type_var(self, name: str) -> GlobalTypeVar:
        """Return the name of a data type; raises FrontendError for an unknown one."""
        if name not in self.program.types:
            raise FrontendError(f"expected a data type among {', '.join(self.program.types) or 'none'}, got {name}")
        return GlobalTypeVar(name)

    def get_global_type_vars(self) -> Sequence[GlobalTypeVar]:
        return [GlobalTypeVar(name) for name in self.program.types]

    def __getitem__(self, key: str | GlobalVar) -> Any:
        """Return a function, or the definition of a data type."""
        if not isinstance(key, GlobalVar) and key not in self and key in self.program.types:
            return self.program.types[key]
        name = self.get_global_var(_name(key)).name_hint
        if name in self.kernels:
            return self.kernels[name]
        function = self.program.functions[name]
        function.home = partial(infer, self._linked())
        return function

    def __setitem__(self, key: str | GlobalVar, function: Expr | TypeData | PrimFunc) -> None:
        name, (program, kernels) = _name(key), self._edited()
        if isinstance(function, TypeData):
            program.types[name] = function
            return
        if isinstance(function, Expr):
            kernels.pop(name, None)
            program.functions[name] = (
                function if isinstance(function, Function) else Function(free_vars(function), function)
            )
        else:
            program.functions.pop(name, None)
            kernels[name] = function
        if isinstance(key, GlobalVar):
            self._globals[key.name_hint] = key

    def __contains__(self, key: str | GlobalVar) -> bool:
        return _name(key) in self.program.functions or _name(key) in self.kernels

    def __delitem__(self, key: str | GlobalVar) -> None:
        name, (program, kernels) = _name(key), self._edited()
        functions = kernels if name in kernels else program.functions
        del functions[name]

    def update(self, other: IRModule | Mapping[Any, Function | PrimFunc]) -> None:
        """Add the functions and data types of another module; they replace those of the same names."""
        if isinstance(other, IRModule):
            self._edited()[0].types.update(other.program.types)
            other = other._named()
        for key, function in other.items():
            self[key] = function

    def update_func(self, var: str | GlobalVar, func: Function) -> None:
        """Give a name to another function."""
        self[var] = func

    def import_from_std(self, name: str) -> None:
        """Add the functions and data types of `prelude.rly`, or those of natural numbers, `nat.rly`.

        Raises FrontendError for another name, and when something of a name that the file has is there already.
        """
        from whence.syntax.text.prelude import import_standard

        import_standard(self._edited()[0], name)

    def shallow_copy(self) -> IRModule:
        """Return a copy whose set of functions can change without changing this module."""
        if self._module is not None and self._program is None:
            return self.holding(self._module.clone())
        return IRModule(self._named(), dict(self.program.types), self.attrs)

    def map_functions(self, change: Callable[[Function], Expr]) -> IRModule:
        """Return the module of the results of `change` for each function, with the same data types."""
        result = IRModule(dict(self.kernels), dict(self.program.types), self.attrs)
        for name, function in self.program.functions.items():
            result[self.get_global_var(name)] = change(function)
        return result

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """Return Relay text with its version line, and the constants that it names."""
        from whence.syntax.text import astext

        return astext(self.typed(), show_meta_data=show_meta_data, annotate=annotate)

    def typed(self) -> Program:
        """Return the expressions with their types."""
        _ = self.module
        return self.program

    def __str__(self) -> str:
        from whence.syntax.text import pretty_print

        relay = [pretty_print(self.typed())] if self.program.functions or self.program.types else []
        return "\n\n".join([*relay, *map(str, _prim_funcs(self.module))])

    def script(self, version: str = "0.27", show_meta: bool = False) -> str:
        """Return the text of the functions: relay's as Relax, and kernels as TVMScript.

        version: whose spelling, "0.27", or "0.19" with struct info; with "0.14", relay's functions are Relay text.
        Several kernels are a class, which `whence.script.from_source` reads, as it reads modules of Relax.
        show_meta: print the constants of more than a few elements, too. Raises FrontendError for what Relax cannot say,
        and errors as `PrimFunc.script`.
        """
        spelling = SPELLINGS.get(version, NEWEST)
        own = spelling.kernels if version in SPELLINGS else version
        kernels = [kernel.script(own) for kernel in self.kernels.values()]
        has_functions = bool(self.program.functions or self.program.types)
        if has_functions and version != "0.14":
            from whence.relay.own_kernels import kernel_text

            program = self.typed()
            program.kernels = self.kernels
            return module_text(program, kernels, spelling, show_meta, partial(kernel_text, version=own))
        if len(kernels) > 1:
            from whence.tir.script_text import class_text

            kernels = [class_text(kernels)]
        return "\n\n".join([*([self.astext()] if has_functions else []), *kernels])

    def show(self, version: str = "0.27", show_meta: bool = False) -> None:
        """Print `script()`."""
        print(self.script(version, show_meta))


def _prim_funcs(module: ModuleOp) -> list[PrimFuncOp]:
    return [cast("PrimFuncOp", op) for op in module.ops if op.name == "tir.prim_func"]


def _is_global(key: object) -> bool:
    return isinstance(key, GlobalVar)


def _name(key: Any) -> str:
    if isinstance(key, GlobalVar):
        return key.name_hint
    if not isinstance(key, str):
        raise TypeError(f"expected a name or a GlobalVar, got {type(key).__name__}")
    return key
