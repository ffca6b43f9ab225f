"""`whence completion`: the script with which a shell completes the command line."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, cast

from whence.cli.answers import answer
from whence.cli.options import Subparsers, add_json, command

SHELLS = ("bash", "zsh", "fish")


def add(commands: Subparsers) -> None:
    """Add the subcommand."""
    about = "Print the script that makes a shell complete commands, options, and names of models."
    examples = (
        "bash > ~/.local/share/bash-completion/completions/whence",
        "zsh > ~/.zfunc/_whence",
        "fish > ~/.config/fish/completions/whence.fish",
    )
    parser = command(commands, "completion", "print the completion script of a shell", about, examples)
    parser.add_argument("shell", choices=SHELLS)
    add_json(parser)
    parser.set_defaults(command=_completion)


def _completion(args: argparse.Namespace) -> int:
    from whence.reading.models import shipped_models

    words, models = options(args.parser), shipped_models()
    data = {"commands": words, "models": models}
    answer(args, lambda: data, lambda: script(args.shell, words, " ".join(models)))
    return 0


def options(parser: argparse.ArgumentParser) -> dict[str, tuple[str, ...]]:
    """Command -> its options."""
    words_of: dict[str, tuple[str, ...]] = {}
    for action in cast("list[Any]", parser._actions):  # pyright: ignore[reportPrivateUsage]
        choices: Mapping[str, argparse.ArgumentParser] | None = getattr(action, "choices", None)
        if isinstance(choices, dict):
            for name, subparser in cast("dict[str, Any]", choices).items():
                words_of[name] = tuple(word for inner in subparser._actions for word in inner.option_strings)
    return words_of


def script(shell: str, options: Mapping[str, tuple[str, ...]], models: str) -> str:
    """The script for a shell."""
    names = " ".join(options)
    if shell == "fish":
        lines = [f'complete -c whence -n __fish_use_subcommand -a "{names}"']
        for name, words in options.items():
            seen = f'-n "__fish_seen_subcommand_from {name}"'
            lines.append(f'complete -c whence {seen} -a "{models}"')
            for word in words:
                kind = f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}"
                lines.append(f"complete -c whence {seen} {kind}")
        return "\n".join(lines)
    cases = "\n".join(f'    {name}) words="{" ".join(words)}" ;;' for name, words in options.items())
    begin = "#compdef whence\nautoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return f"""{begin}_whence() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" words
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{names}" -- "$current"))
    return
  fi
  case "${{COMP_WORDS[1]}}" in
{cases}
    *) words="" ;;
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
    *) COMPREPLY=($(compgen -f -W "{models}" -- "$current")) ;;
  esac
}}
complete -o filenames -F _whence whence"""
