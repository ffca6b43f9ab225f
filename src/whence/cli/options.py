"""Groups of options that commands share. An option has tvmc's name if tvmc has it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import zip_longest
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast

from whence.support.errors import PipelineError
from whence.support.names import did_you_mean

if TYPE_CHECKING:
    from whence.support.context import LowerPasses, Option
    from whence.support.instrument import PassInstrument

OPT_LEVEL, TARGET = 3, "native"
"""The defaults."""


class Parser(argparse.ArgumentParser):
    """An argument parser that raises PipelineError instead of printing its usage and exiting with 2."""

    trailing = ""
    """The name of an argument that may stand behind all options; "" for none."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # type: ignore[reportIncompatibleMethodOverride]
        """Parse arguments; argparse itself takes an optional last one only where it stands beside the others."""
        result, rest = super().parse_known_args(args, namespace)
        if self.trailing:
            last = rest.pop() if len(rest) == 1 and not rest[0].startswith("-") else None
            setattr(result, self.trailing, last)
        return result, rest

    def error(self, message: str) -> NoReturn:
        raise PipelineError(f"{hinted(message, self.option_names())} ({self.prog} --help explains)")

    def option_names(self) -> list[str]:
        """Return the options of the command and of its subcommands."""
        names = [name for action in self._actions for name in action.option_strings]
        for action in self._actions:
            if isinstance(action.choices, Mapping):
                parsers = cast("Mapping[str, object]", action.choices).values()
                names += [name for parser in parsers if isinstance(parser, Parser) for name in parser.option_names()]
        return list(dict.fromkeys(names))


def hinted(message: str, options: Sequence[str]) -> str:
    """Return a complaint of argparse with the names nearest to the wrong one: of choices, or of options."""
    if choice := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)", message):
        return message + did_you_mean(choice[1], [name.strip("' ") for name in choice[2].split(",")])
    unknown = re.findall(r"(?<![\w-])--?[a-z][\w-]*", message.partition("unrecognized arguments:")[2])
    return message + "".join(did_you_mean(word, options) for word in unknown[:1])


class Subparsers(Protocol):
    """The group of parsers to which a subcommand adds its own."""

    def add_parser(self, name: str, *, help: str, description: str, prog: str) -> Parser: ...


def whole(lowest: int) -> Callable[[str], int]:
    """Return the type of an option that is a whole number of at least `lowest`."""

    def read(text: str) -> int:
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdecimal()) or int(text) < lowest:
            raise argparse.ArgumentTypeError(f"expected a whole number of at least {lowest}, got {text!r}")
        return int(text)

    return read


def amount(text: str) -> float:
    """The type of an option that is a number, 0 or more."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not (isfinite(number) and number >= 0):
        raise argparse.ArgumentTypeError(f"expected a number, 0 or more, got {text!r}")
    return number


def identifier(text: str) -> str:
    """The type of an option that becomes part of names in code."""
    if not (text.isascii() and text.isidentifier()):
        raise argparse.ArgumentTypeError(f"expected a name of letters, digits and _, got {text!r}")
    return text


def new_file(text: str) -> Path:
    """Return the path of a file to write. Its folder must exist, so that a wrong path fails before the work."""
    path = Path(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"expected a file to write, got the folder {text}")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"expected a file in an existing folder, got {text}")
    return path


def command(commands: Subparsers, name: str, help: str, about: str, examples: Sequence[str]) -> Parser:
    """The parser of a subcommand, whose --help ends with examples."""
    lines = "".join(f"\n  whence {name} {example}" for example in examples)
    parser = commands.add_parser(name, help=help, description=about, prog=f"whence {name}")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = f"examples:{lines}"
    return parser


def add_passes(parser: argparse.ArgumentParser) -> None:
    """The switches of the compilation that go beyond the model: configuration and passes."""
    group = parser.add_argument_group("passes")
    about = "an option of the compiler, such as tir.disable_vectorize=1; may be repeated"
    group.add_argument("--pass-config", action="append", default=[], metavar="NAME=VALUE", help=about)
    group.add_argument("--disabled-pass", metavar="NAMES", help="passes to skip, separated by commas")
    group.add_argument("--print-pass-times", action="store_true", help="print the time of each pass on stderr")


def opt_level(args: argparse.Namespace) -> int:
    """Return the requested level, or the default."""
    return OPT_LEVEL if args.opt_level is None else args.opt_level


@contextmanager
def pass_context(
    args: argparse.Namespace, more: Mapping[str, Option] | None = None, instruments: Sequence[PassInstrument] = ()
) -> Generator[None]:
    """The PassContext that `add_passes`' arguments stand for. `more`: options beside those given."""
    import sys

    from whence.support.context import PassContext
    from whence.support.instrument import PassTimingInstrument

    timing = PassTimingInstrument()
    config = configured(args.pass_config) | dict(more or {})
    disabled = checked_passes([name.strip() for name in (args.disabled_pass or "").split(",") if name.strip()])
    around = [*([timing] if args.print_pass_times else []), *instruments]
    with PassContext(opt_level(args), (), disabled, config, around):
        yield
        if args.print_pass_times:
            print(timing.render(), end="", file=sys.stderr)


def checked_passes(names: Sequence[str], what: str = "--disabled-pass") -> Sequence[str]:
    """Return the names of passes. Raises PipelineError for an unknown one."""
    from whence.passes.registry import PASSES, find_row

    for name in names:
        if find_row(name) is None:
            near = did_you_mean(name, [row.name for row in PASSES])
            raise PipelineError(f"{what}: expected names of passes, got {name!r}{near}")
    return names


def configured(texts: Sequence[str], what: str = "--pass-config") -> dict[str, Option]:
    """Return options by name. Raises PipelineError unless each is `name=value` of the right type."""
    from whence.support.context import PassContext

    types = PassContext.list_configs()
    config: dict[str, Option] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise PipelineError(f"{what}: expected NAME=VALUE, got {text!r}")
        kind = types.get(name, {}).get("type")
        words = {"0": False, "1": True, "false": False, "true": True}
        default = PassContext().option(name)
        if isinstance(default, bool) and value.lower() in words:
            config[name] = words[value.lower()]
        elif kind == "IntImm" and not isinstance(default, bool) and value.removeprefix("-").isdecimal():
            config[name] = int(value)
        elif kind == "runtime.String":
            config[name] = value
        elif kind == "Array":
            config[name] = [*cast("LowerPasses", config.get(name, [])), *_lower_passes(value, f"{what} {name}")]
        else:
            expected = "true or false" if isinstance(default, bool) else "a whole number"
            raise PipelineError(f"{what} {name}: expected {expected}, got {value!r}")
    return config


def _lower_passes(text: str, what: str) -> LowerPasses:
    """The passes in a text such as `1,tir.transform.UnrollLoop,2,package.module.my_pass`, each with its phase.

    A pass is one of ours, by TVM's name or ours, or an object in a module that can be imported. Raises PipelineError
    for another text and for what cannot be imported.
    """
    from whence.passes.classes import pass_class
    from whence.passes.registry import find_row

    words = text.split(",")
    passes: LowerPasses = []
    for phase, name in zip_longest(words[::2], words[1::2]):
        if not phase.isdecimal() or not name:
            raise PipelineError(f"{what}: expected PHASE,PASS[,PHASE,PASS ..], got {text!r}")
        if (row := find_row(name.replace("tir.transform.", "tir."))) is not None:
            passes.append((int(phase), pass_class(row)()))
            continue
        module, _, attribute = name.rpartition(".")
        try:
            passes.append((int(phase), getattr(import_module(module), attribute)))
        except (ImportError, AttributeError, ValueError) as error:
            raise PipelineError(
                f"{what}: expected a pass, or the path of one to import, got {name!r}: {error}"
            ) from error
    return passes


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Add the option for the number of threads."""
    parser.add_argument("--threads", type=whole(1), metavar="N", help="threads to run on (default: all usable CPUs)")


def add_timing(parser: argparse.ArgumentParser, repeat: int, number: int) -> None:
    """Add the options for the number of runs."""
    group = parser.add_argument_group("timing")
    about = f"the number of measurements (default {repeat})"
    group.add_argument("--repeat", type=whole(1), default=repeat, metavar="N", help=about)
    about = f"runs per measurement, which is their mean (default {number})"
    group.add_argument("--number", type=whole(1), default=number, metavar="N", help=about)
    about = "repeat runs for one measurement until they take this long together"
    group.add_argument("--min-repeat-ms", type=amount, default=0.0, metavar="MS", help=about)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Return whether --json asks for data."""
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def add_output(parser: argparse.ArgumentParser, about: str) -> None:
    """The file that is written."""
    parser.add_argument("-o", "--output", type=new_file, metavar="FILE", help=about)
