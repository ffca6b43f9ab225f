"""The files of the page: modules and styles in an explicit table, and the policy that allows nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from whence.explorer.page_files import MAIN, framed, hash_source, import_map, modules, page_files

_KINDS = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}


@dataclass(frozen=True)
class File:
    """A file that anybody on this machine may read."""

    kind: str
    """Its content type."""
    text: str


class StaticPage:
    """The files of the page by the path of their request."""

    @cached_property
    def files(self) -> dict[str, File]:
        """Path of a request -> file."""
        texts = page_files()
        table = {f"/app/{path}": File(_KINDS[path[path.rindex(".") :]], text) for path, text in texts.items()}
        return {"/": File("text/html; charset=utf-8", self._page), **table}

    @cached_property
    def _map(self) -> str:
        return import_map({name: f"/app/{path}" for name, path in modules(page_files()).items()})

    @cached_property
    def _page(self) -> str:
        texts = page_files()
        styles = [f'<link rel="stylesheet" href="/app/{path}">' for path in texts if path.endswith(".css")]
        main = f'<script type="module" src="/app/{modules(texts)[MAIN]}"></script>'
        return framed("Whence", "\n".join([*styles, f'<script type="importmap">{self._map}</script>', main]), "")

    @cached_property
    def policy(self) -> str:
        """The content policy: files of this server, and the one script inside the page, the map of its modules."""
        return (
            f"default-src 'none'; script-src 'self' {hash_source(self._map)}; style-src 'self'; img-src 'self' data:; "
            "connect-src 'self'; worker-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
        )
