"""`whence explore` as a server for one user on this machine, until it is interrupted."""

from __future__ import annotations

import argparse
import sys
import webbrowser
from contextlib import suppress
from typing import TYPE_CHECKING

from whence.reading.models import model_path
from whence.support.errors import PipelineError, expectation

if TYPE_CHECKING:
    from whence.explorer.session.document import Session
    from whence.exploring.request import Request

_PROGRAM = ("-m", "whence", "explore")


def serve(args: argparse.Namespace, request: Request | None, session: Session | None) -> int:
    """Serve the page of a session until Ctrl-C; without a session, the request is run first.

    request: the request that the page can run again; None for none.
    Raises FrontendError for a missing model, and PipelineError if the port is taken or the server does not answer.
    """
    from whence.exploring.server import Server, running
    from whence.exploring.site import new_site
    from whence.exploring.warm import COMPILER
    from whence.support.files import scratch_folder

    model_path(args.model)
    with scratch_folder("whence-explore-") as folder:
        commands = [name for name in sys.modules if name.startswith(f"{__package__}.")]
        site = new_site(_PROGRAM, folder, modules=(*COMPILER, *commands))
        try:
            server = Server(site, args.port)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise PipelineError(expectation("--port", "a free port", f"{args.port}: {reason}")) from error
        with running(server):
            site.jobs.warm.begin()
            if session is not None:
                site.store.add(session, request, "")
            elif request is not None:
                site.jobs.start(request, "")
            print(f"Explorer of {args.model}: {server.address} (Ctrl-C ends it)", flush=True)
            if not args.no_browser:
                webbrowser.open(server.address)
            with suppress(KeyboardInterrupt):
                server.stopped.wait()
                raise PipelineError(f"expected the server to answer until it is interrupted, got {server.failure}")
    return 0
