"""A reference in a process of its own, which a case may end or hang; one that breaks is begun anew. LiteRT is one."""

from __future__ import annotations

import os
import pickle
import resource
import select
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from children import shared
from numpy.typing import NDArray

Array = NDArray[Any]

_MEMORY = 4 << 30


@dataclass
class Judge:
    """What a reference says of cases.

    script: the file that is run, which calls `work`. seconds: what a case may take. fill: the byte that memory holds
    before anything is written to it, so that results which depend on what was there tell two judges apart.
    """

    script: str = __file__
    seconds: float = 20.0
    fill: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def __call__(self, *case: Any) -> Any:
        """The outputs, a text that says why it refuses the case, or None: it crashed, or took too long.

        case: what the script's function takes, for LiteRT the file's bytes, its inputs, and whether plain kernels run.
        """
        process = self._process = self._process or self._begin()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            pickle.dump(case, process.stdin)
            process.stdin.flush()
            if select.select([process.stdout], [], [], self.seconds)[0]:
                return pickle.load(process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            pass
        self.close()
        return None

    def _begin(self) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "MALLOC_PERTURB_": str(self.fill)}
        command = [sys.executable, self.script]
        pipe = subprocess.PIPE
        return shared(subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment))

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._process = None


def _run(data: bytes, inputs: Sequence[Array], reference: bool = True) -> list[Array]:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    kind = OpResolverType.BUILTIN_REF if reference else OpResolverType.AUTO
    runtime: Any = Interpreter(model_content=data, num_threads=1, experimental_op_resolver_type=kind)
    runtime.allocate_tensors()
    for detail, given in zip(runtime.get_input_details(), inputs, strict=True):
        runtime.set_tensor(detail["index"], given)
    runtime.invoke()
    return [runtime.get_tensor(detail["index"]) for detail in runtime.get_output_details()]


def work(run: Callable[..., list[Array]]) -> None:
    """Answer the cases that come, each with what `run` gives for it, or the last line of what it raises."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    # What kernels print is no answer.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            case = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            found: object = run(*case)
        except Exception as error:
            found = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        pickle.dump(found, answers)
        answers.flush()


if __name__ == "__main__":
    work(_run)
