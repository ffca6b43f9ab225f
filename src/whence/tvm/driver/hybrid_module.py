"""Hybrid scripts as modules: `te.hybrid.build` writes the loops of a schedule as the source of one."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from types import FunctionType
from typing import Any

from whence.driver.build_module import lower
from whence.support.doors import door
from whence.support.errors import ScheduleError
from whence.support.files import replacing
from whence.te.language.expr import Var
from whence.te.language.hybrid import script
from whence.te.language.tensor import Tensor
from whence.te.schedule.schedule import Schedule
from whence.tir.hybrid_text import hybrid_text

_HEAD = "from whence import te\n\n\n@te.hybrid.script\n"
_numbers = count()


class HybridModule:
    """A hybrid script as a module: its source can be saved and loaded, and a call gives what the script's does.

    src: the source of one function. name: the module's, otherwise the function's. Raises ScheduleError for a source
    that is not Python, or that has none or several functions.
    """

    def __init__(self, src: str | None = None, name: str | None = None):
        self.name = name
        self._source = ""
        self._function: Callable[..., Any] | None = None
        if src is not None:
            self._read(src, f"<hybrid script {next(_numbers)}>")

    @door()
    def __call__(self, *args: Any) -> Any:
        """Return the tensors of a call with tensors, or the arrays of one with arrays."""
        if self._function is None:
            raise ScheduleError("te.hybrid.HybridModule: expected a source, which `load` reads, got none")
        return self._function(*args)

    def get_source(self) -> str:
        """Return the source."""
        return self._source

    @door()
    def save(self, path: str) -> None:
        """Write the source to a file, whose name gets the ending .py. Raises PipelineError if it cannot be written."""
        with replacing(Path(path if path.endswith(".py") else f"{path}.py")) as file:
            file.write(self._source.encode())

    @door()
    def load(self, path: str) -> None:
        """Read the source of a file: of one function, whose decorator and imports do not matter."""
        try:
            text = Path(path).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise ScheduleError(f"te.hybrid.HybridModule: cannot read {path}: {error}") from error
        self._read(text, path)

    def _read(self, text: str, file: str) -> None:
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            raise ScheduleError(f"te.hybrid.HybridModule: {error.msg} ({file}:{error.lineno})") from error
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        if len(functions) != 1:
            names = ", ".join(function.name for function in functions) or "none"
            raise ScheduleError(f"te.hybrid.HybridModule: expected a source of one function, got {names} ({file})")
        (function,) = functions
        if function.args.defaults or any(function.args.kw_defaults):
            reason = f"expected a function without default values, got some of {function.name}"
            raise ScheduleError(f"te.hybrid.HybridModule: {reason} ({file}:{function.lineno})")
        # Nothing of a file is run: annotations stay texts, as in this module.
        function.decorator_list = []
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        scope: dict[str, Any] = {}
        exec(compile(ast.Module([function], []), file, "exec"), scope)
        made = scope[function.name]
        assert isinstance(made, FunctionType)
        self.name = self.name or made.__name__
        self._source, self._function = text, script(made)


@door()
def build(
    sch: Schedule, inputs: Sequence[Tensor | Var], outputs: Sequence[Tensor], name: str = "hybrid_func"
) -> HybridModule:
    """Return the loops of a schedule as a hybrid script, whose arguments are `inputs` and which gives `outputs`.

    The loops are those before all passes; notes on them are lost. Raises ScheduleError as `lower`, and for what no
    script can say.
    """
    tensors = [each for each in inputs if isinstance(each, Tensor)]
    func = lower(sch, [*tensors, *outputs], name, simple_mode=True)[name]
    buffers = iter(func.buffers)
    params = [next(buffers) if isinstance(each, Tensor) else each for each in inputs]
    return HybridModule(_HEAD + hybrid_text(name, params, list(buffers), func.body), name)
