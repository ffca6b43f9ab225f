"""Session documents without what is secret in a model: names become hashes, values and hashes of files go.

What stays is what a bug needs: the structure, types of operators, layouts, dtypes and shapes, passes, loops and code. A
name has the same hash wherever it stands; that is keyed by the hash of the model, so that it can be guessed only by who
has the model, and two sessions of one model fit together. Links are untouched.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import repeat
from typing import Any, Literal, cast, get_origin

from ...support.names import shown
from .document import DOCUMENT, Session
from .ranges import kinds
from .reasons import headline
from .text import column

_QUOTED = r'"(?:[^"\\]|\\.)*"'
_SIGIL = re.compile(rf"[%@](?:{_QUOTED}|[\w.$-]+)|{_QUOTED}|#relay\.sizes<[^>]*>")
"""A value, a symbol, a text or sizes in a line of relay."""
_SIZES = len("#relay.sizes<")
_WORD = re.compile(r"[\w$](?:[\w./$:-]*[\w$])?")
_PLAIN = re.compile(r"\w+")
_KNOWN = re.compile(r"(?:[a-z]?(?:float|int|uint|bool|bf)\d*|f\d+|(?:\d*[NCHWDOIoicnhwdbMKk])+|)")
"""Dtypes, layouts, and nothing: texts in relay that say nothing of a model."""
_SAYS_NOTHING = re.compile(rf"[\d.x+-]*|\d[\dx]*{_KNOWN.pattern}|{_KNOWN.pattern}")
"""Numbers, dtypes and layouts: elsewhere than in the place of a name they are shapes and types."""
_NUMBERS = re.compile(r"True|False|None|[-+\d.eEx,\s\[\]()]*")
_TYPE = re.compile(r"\w+\[[^\]]*\]")
_TYPE_OF = re.compile(rf"({_TYPE.pattern}) (.*)", re.DOTALL)
"""A type, and the name of what has it."""
_LIST = re.compile(r"\[[-+\d.eE,\s\[\]]*(?:,[-+\d.eE\s\[\]]*){8,}\]")
"""A list of more than eight numbers."""
_NAMES = {
    *("layers.scope[]", "kernels[].symbol", "calls[].name", "memory[].name[]", "tensors[].name[]"),
    *("comparison.layers[].name", "graphs[].nodes.scope[]"),
}
"""The fields that are names and nothing else."""
_LISTS = {"graphs[].nodes.about[]", "made_by.notes[]"}
"""The fields in which names stand between commas."""
_CHOICES = {path for path, kind in kinds(Session) if get_origin(kind) is Literal}
"""The fields that have one of a few words of ours."""
_PATHS = {"passes[].source", "events.pattern_at[]", "schedules[].frames[].at"}
"""The fields that say where something is written; what is outside of Whence is secret."""
_OURS = re.compile(r"(?:passes|lowering|te|dialects|provenance|frontends|planning)/")
_EMPTY = {"made_by.sha256", "tensors[].inputs", "tensors[].reference", "comparison.headline"}
_SOURCES = {"stages[].body.edits", "layers.code[]", "comparison.departure.here", "comparison.departure.there"}
"""The lists of lines that are left out here."""
_PREFIX = "tvmgen_"
"""Symbols of kernels and of what belongs to one begin so."""
_FEWEST = 3
"""Letters of a name that is looked for outside of the places of names."""


def stripped(session: Session) -> Session:
    """Return a copy of a session without names of layers, tensors, files and functions, and without values."""
    veil = _Veil(session)
    result = DOCUMENT.decode(Session, veil.value(DOCUMENT.encode(session), ""), "session")
    for k, stage in enumerate(session.stages):
        edits, body = stage.body.edits, result.stages[k].body
        if stage.level == "model":
            lines: Iterator[str] = iter(veil.listing(k))
        elif stage.level == "python":
            lines = repeat("")
        else:
            line = veil.relay_line if stage.level == "relay" else veil.words
            lines = (line(_LIST.sub("[..]", text)) for _, _, texts in edits for text in texts)
        body.edits = [(first, removed, [next(lines) for _ in texts]) for first, removed, texts in edits]
    made_by = replace(result.made_by, command=f"whence explore {result.made_by.model}")
    if (compared := result.comparison) is not None:
        result.comparison = replace(compared, headline=headline(compared))
    tensors = [replace(of, sample=[[] for _ in of.sample]) for of in result.tensors]
    # Sentences of tours may be about anything.
    return replace(result, made_by=made_by, tensors=tensors, tours=[])


class _Veil:
    """Hashes in the place of names."""

    def __init__(self, session: Session):
        self._session = session
        layers = session.layers
        files = [session.made_by.model, *(source.file for source in session.sources)]
        files += [stage.name for stage in session.stages if stage.level == "python"]
        self._files = {name for file in files for name in (file, file.rpartition("/")[2])}
        own = {name for name, kind in zip(layers.name, layers.kind, strict=True) if kind != "lost"}
        own |= {call.name for call in session.calls} | {kernel.symbol for kernel in session.kernels}
        for graph in session.graphs:
            rows = zip(graph.nodes.label, graph.nodes.kind, strict=True)
            own |= {label for label, kind in rows if kind in ("input", "output")}
        self._names = own
        self._public = self._words_of_compiler()
        names = {*own, *(file.partition(".")[0] for file in self._files), *self._names_of_relay()}
        names |= {part for name in layers.name for part in name.split("/")}
        telling = (name for name in names - self._public if not _SAYS_NOTHING.fullmatch(name))
        self._secret = {name for name in telling if len(name) >= _FEWEST}
        odd = sorted((name for name in self._secret if not _WORD.fullmatch(name)), key=len, reverse=True)
        shown_too = dict.fromkeys(form for name in odd for form in (name, shown(name)))
        self._odd = re.compile("|".join(map(re.escape, shown_too))) if odd else None
        digest = session.made_by.sha256 or hashlib.sha256("\0".join(sorted(names)).encode(errors="replace")).hexdigest()
        self._key = digest.encode()[:64]
        self._hashes: dict[str, str] = {}

    def _words_of_compiler(self) -> set[str]:
        """Return operators, passes and patterns, and the parts of their names."""
        session = self._session
        words = {*session.ops.name, *session.layers.type, *(run.name for run in session.passes)}
        words |= {*session.events.pattern, *session.events.pass_name, *(level.level for level in session.stages)}
        parts = {part for word in words for part in (*word.split("."), *word.split("-"), word.partition(".")[2])}
        return words | parts | {"model", "input", "output", "node", "tensor", "kernel", "main", "data", "float32"}

    def _names_of_relay(self) -> Iterator[str]:
        """Names of values, symbols, texts and sizes in the program."""
        for stage in self._session.stages:
            if stage.level == "relay":
                for text in (text for _, _, texts in stage.body.edits for text in texts):
                    for token in _SIGIL.findall(text):
                        yield from _PLAIN.findall(token[_SIZES:]) if token[0] == "#" else [token.strip('%@"')]

    def name(self, name: str) -> str:
        """Return the hash of a name, of a scope's parts each."""
        if (hashed := self._hashes.get(name)) is None:
            hashed = self._hashes[name] = "/".join(self._hash(part) if part else "" for part in name.split("/"))
        return hashed

    def _hash(self, part: str) -> str:
        return f"n{hashlib.blake2b(part.encode(errors='replace'), digest_size=5, key=self._key).hexdigest()}"

    def words(self, text: str) -> str:
        """Return a text with the hashes of the names in it."""
        if self._odd is not None:
            text = self._odd.sub(lambda match: self.name(match[0]), text)
        return _WORD.sub(self._word, text)

    def _word(self, match: re.Match[str]) -> str:
        word = match[0]
        if word in self._public:
            return word
        if word in self._secret or word.startswith(_PREFIX):
            return self.name(word)
        return _PLAIN.sub(lambda part: self.name(part[0]) if part[0] in self._secret else part[0], word)

    def relay_line(self, text: str) -> str:
        """Return a line of the program, all its names hashed, in other places words as in any text."""
        parts: list[str] = []
        at = 0
        for match in _SIGIL.finditer(text):
            parts += [self.words(text[at : match.start()]), self._token(match[0])]
            at = match.end()
        return "".join([*parts, self.words(text[at:])])

    def _token(self, token: str) -> str:
        if token.startswith("#"):
            sizes = _PLAIN.sub(lambda part: part[0] if part[0].isdigit() else self.name(part[0]), token[_SIZES:])
            return token[:_SIZES] + sizes
        sigil = token[0] if token[0] in "%@" else ""
        body = token[len(sigil) :]
        quoted = body.startswith('"')
        body = body.strip('"')
        if (sigil and body.isdigit()) or (not sigil and self._is_public(body)):
            return token
        return f'{sigil}"{self.name(body)}"' if quoted else f"{sigil}{self.name(body)}"

    def _is_public(self, text: str) -> bool:
        return text not in self._names and (_KNOWN.fullmatch(text) is not None or text in self._public)

    def listing(self, k: int) -> list[str]:
        """Return the lines of the layers of a source: number, operator, and the hash of the name."""
        session, layers = self._session, self._session.layers
        sets = [session.sets[number] if number >= 0 else [] for number in column(session.stages[k].body.sets)]
        return [
            " ".join(f"{layers.ordinal[row]} {layers.type[row] or '?'} {self.name(layers.name[row])}" for row in rows)
            for rows in sets
        ]

    def value(self, value: Any, path: str) -> Any:
        """Return a JSON value with every text in it veiled, as its path asks for; texts of stages are left out."""
        if isinstance(value, str):
            return self._text(value, path)
        if isinstance(value, dict):
            items = cast("dict[str, Any]", value).items()
            return {key: self.value(item, f"{path}.{key}".removeprefix(".")) for key, item in items}
        if path in _SOURCES:
            return []
        if path == "layers.name":
            rows = zip(cast("list[str]", value), self._session.layers.kind, strict=True)
            return [self.words(name) if kind == "lost" else self.name(name) for name, kind in rows]
        if path == "graphs[].nodes.attributes[][]":
            return self._attribute(*value)
        if isinstance(value, list | tuple):
            values = cast("list[Any]", value)
            if {int, float, bool}.issuperset(map(type, values)):
                return values
            return [self.value(item, f"{path}[]") for item in values]
        return value

    def _text(self, text: str, path: str) -> str:
        if path in _EMPTY:
            return ""
        if path in _CHOICES:
            return text
        if path in _PATHS:
            return text if not text or _OURS.match(text) else self.name(text)
        if path in _NAMES:
            return self.name(text)
        if path in _LISTS:
            return ", ".join(self.name(part) if part in self._names else self.words(part) for part in text.split(", "))
        if text in self._files:
            suffix = re.search(r"(?:\.\w{1,8})?$", text)
            return self.name(text) + (suffix[0] if suffix else "")
        return self.name(text) if text in self._names else _LIST.sub("[..]", self.words(text))

    def _attribute(self, key: str, value: str) -> list[str]:
        """Numbers, types and known words of an attribute stay; other values are hashed."""
        key = self.name(key) if key in self._names else self.words(key)
        short = _LIST.sub("[..]", value)
        if self._is_public(value) or _NUMBERS.fullmatch(value) or short != value:
            return [key, short]
        if (named := _TYPE_OF.fullmatch(value)) is not None:
            return [key, f"{self.words(named[1])} {self.name(named[2])}"]
        return [key, self.words(value) if _TYPE.fullmatch(value) else self.name(value)]
