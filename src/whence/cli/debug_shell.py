"""The commands of `whence debug --step`."""

from __future__ import annotations

import cmd
from collections.abc import Callable

from whence.explorer.tensor_text import TensorText
from whence.runtime.debugger.module import GraphModuleDebug
from whence.runtime.debugger.step import Stop
from whence.support.errors import WhenceError


class DebugShell(cmd.Cmd):
    """Runs a graph by hand; `help` lists the commands."""

    intro = "stopped before the first node; help lists the commands"
    prompt = "(whence) "

    def __init__(self, module: GraphModuleDebug):
        super().__init__()
        self.module = module
        self.kept: dict[int, Stop] = {}

    def emptyline(self) -> bool:
        return self.do_step("")

    def default(self, line: str) -> None:
        self._say(f"unknown command {line.split()[0]!r}; help lists the commands")

    def _say(self, text: object) -> bool:
        self.stdout.write(f"{text}\n")
        return False

    def _try(self, action: Callable[[], object]) -> bool:
        try:
            return self._say(action())
        except WhenceError as error:
            return self._say(f"error: {error}")

    def _ran(self, stop: Stop | None) -> object:
        if stop is None:
            return "all nodes have run"
        self.kept[stop.place] = stop
        return stop

    def do_step(self, arg: str) -> bool:
        """step: run the next node (so does an empty line)"""
        return self._try(lambda: self._ran(self.module.step()))

    def do_break(self, arg: str) -> bool:
        """break NAME: stop after a node, or after every node that serves a layer"""
        return self._try(lambda: self.module.break_at(_name(arg)) or f"will stop after {arg}")

    def do_continue(self, arg: str) -> bool:
        """continue: run on to the next node with a breakpoint"""
        return self._try(lambda: self._ran(self.module.stepper.resume(self._ran)))

    def do_print(self, arg: str) -> bool:
        """print NAME: show the tensor of a layer or node that has run"""

        def found() -> object:
            value = self.module.stepper.value_of(_name(arg))
            stop = self.kept.get(value)
            if stop is None:
                return f"{arg} has not run"
            return TensorText.of(arg, self.module.stepper.shown(_name(arg), stop.outputs[0]))

        return self._try(found)

    def do_nan(self, arg: str) -> bool:
        """nan: run on to the first node that makes NaN or Inf"""

        def found() -> object:
            bad = self.module.stepper.first_bad()
            return "all numbers are finite" if bad is None else bad

        return self._try(found)

    def do_restart(self, arg: str) -> bool:
        """restart: go back before the first node"""
        self.module.restart()
        self.kept.clear()
        return self._say("stopped before the first node")

    def do_quit(self, arg: str) -> bool:
        """quit: leave (so does the end of the input)"""
        return True

    do_n, do_b, do_c, do_p, do_q, do_EOF = do_step, do_break, do_continue, do_print, do_quit, do_quit


def _name(text: str) -> str | int:
    return int(text) if text.isdecimal() else text
