"""A connection to a cluster of dask.distributed, and the workers of it that measure.

All that goes to them are functions of ours, by name, and bytes. Without TLS whoever reaches the scheduler's port runs
code on every worker.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple, cast

from ..runtime.loading.machine_facts import machine_facts
from ..runtime.loading.measuring_slot import measure
from ..support.errors import PipelineError, expectation
from .jobs import Part
from .machines import Facts, machine_here

RESOURCE = "measure"
"""The resource of a worker: the number of jobs that it measures at once."""
_FACTS_SECONDS = 60.0
"""Seconds in which workers say what they are: the first time they import the compiler."""
_CLOSE_SECONDS = 2.0
_WARNED = {"distributed.admin.large-graph-warning-threshold": "1 GiB"}
"""Jobs hold arrays, and are as large as these."""


class Disconnected(Exception):
    """The scheduler does not answer."""


class Worker(NamedTuple):
    """A worker that measures."""

    facts: Facts
    jobs: int
    """The number of jobs that it measures at once."""


class Connection:
    """A client of a scheduler.

    address: `tcp://host:8786` or `tls://..`. security: a `distributed.Security`; None: as dask's own files and
    environment say. seconds: in which a scheduler has to answer.
    Raises PipelineError without dask.distributed, and when no scheduler answers.
    """

    def __init__(self, address: str, security: object, seconds: float):
        self.address, self._security, self._seconds = address, security, seconds
        self._distributed = _library()
        self._facts: dict[tuple[str, str], Facts] = {}
        self._reasons: dict[str, str] = {}
        self._client: Any = None
        try:
            self.open()
        except Disconnected as error:
            raise PipelineError(str(error)) from error

    def open(self) -> None:
        """Connect, anew where there was a connection. Raises Disconnected."""
        self.close()
        try:
            self._client = self._distributed.Client(
                self.address, security=self._security, timeout=self._seconds, set_as_default=False
            )
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            # The innermost of several nested errors says most.
            cause: BaseException = error
            while (inner := cause.__cause__ or cause.__context__) is not None:
                cause = inner
            expected = f"a scheduler that answers within {self._seconds:g} s"
            why = str(cause) or type(cause).__name__
            raise Disconnected(expectation(f"cluster {self.address}", expected, f"none ({why})")) from error

    def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            with suppress(Exception):
                client.close(timeout=_CLOSE_SECONDS)

    def workers(self) -> dict[str, Worker]:
        """Return the workers that measure, by address, as the scheduler knows them now. Raises Disconnected."""
        client = self._client

        async def identity() -> Mapping[str, Any]:
            return await client.scheduler.identity(n_workers=-1)

        rows = cast("dict[str, dict[str, Any]]", dict(self._asked(identity, self._seconds)["workers"]))
        able = {address: row for address, row in rows.items() if row.get("resources", {}).get(RESOURCE, 0) >= 1}
        self._ask_facts({address: str(row["id"]) for address, row in able.items()})
        workers: dict[str, Worker] = {}
        self._reasons = {address: "no such resource" for address in rows.keys() - able.keys()} | self._reasons
        self._reasons = {address: why for address, why in self._reasons.items() if address in rows}
        for address, row in able.items():
            if (facts := self._facts.get((address, str(row["id"])))) is not None:
                workers[address] = Worker(facts, int(row["resources"][RESOURCE]))
        return workers

    @property
    def missing(self) -> str:
        """The error for a cluster where nobody measures."""
        start = f"dask worker {self.address} --nthreads 1 --resources {RESOURCE}=1"
        actual = "; ".join(f"{address}: {why}" for address, why in self._reasons.items()) or "no workers"
        return expectation(f"cluster {self.address}", f"a worker that measures (`{start}`)", actual)

    def submit(self, job: bytes, part: Part, addresses: Collection[str], done: Callable[[object], None]) -> Any:
        """Have one of some workers measure a part of a job; returns a future, with which `done` is called at its end.

        Raises Disconnected.
        """
        try:
            with _dask_config(_WARNED):
                future = self._client.submit(
                    measure,
                    *(job, part.first, part.end),
                    workers=list(addresses),
                    allow_other_workers=False,
                    resources={RESOURCE: 1},
                    # Equal jobs are measured as often as somebody asks.
                    pure=False,
                )
            future.add_done_callback(done)
        except (OSError, RuntimeError, ValueError) as error:
            raise Disconnected(str(error)) from error
        return future

    def result(self, future: Any) -> bytes:
        """Return the outcomes in JSON of a future that is done. Raises what befell it, TimeoutError if none come."""
        return future.result(timeout=self._seconds)

    def _ask_facts(self, names: Mapping[str, str]) -> None:
        """Ask workers for their facts, by address and name, unless they have said them before."""
        unknown = [address for address, name in names.items() if (address, name) not in self._facts]
        # A worker without the compiler says what can be known without.
        for function in (machine_here, machine_facts):
            if not unknown:
                return
            client, asked = self._client, tuple(unknown)

            async def facts(
                function: Callable[[], Facts] = function, client: Any = client, asked: tuple[str, ...] = asked
            ) -> Mapping[str, Any]:
                return await client.run(function, workers=list(asked), on_error="return")

            for address, answer in self._asked(facts, _FACTS_SECONDS).items():
                if isinstance(answer, Mapping):
                    self._facts[address, names[address]] = cast(Facts, answer)
                    unknown.remove(address)
                else:
                    self._reasons[address] = f"{type(answer).__name__}: {answer}"

    def _asked(self, question: Callable[[], Awaitable[Any]], seconds: float) -> Any:
        """Return the answer of the scheduler. Raises Disconnected."""
        if self._client is None:
            raise Disconnected("closed")
        try:
            return self._client.sync(question, callback_timeout=seconds)
        except (OSError, RuntimeError, ValueError, AttributeError) as error:
            raise Disconnected(f"{type(error).__name__}: {error}") from error


def _library() -> Any:
    try:
        return import_module("distributed")
    except ImportError as error:
        expected = 'dask.distributed (pip install "whence-compiler[cluster]")'
        raise PipelineError(expectation("cluster", expected, f"none ({error})")) from error


def _dask_config(values: Mapping[str, object]) -> Any:
    return import_module("dask").config.set(values)


def certificates(ca: str, cert: str, key: str) -> object:
    """The security of a client that shows a certificate, and trusts whoever `ca` signed; files in PEM.

    Raises PipelineError without dask.distributed, and for files that cannot be read.
    """
    library = _library()
    for file in (ca, cert, key):
        try:
            with open(file, "rb"):
                pass
        except OSError as error:
            raise PipelineError(expectation(f"certificate {file}", "a file", error.strerror or str(error))) from error
    return library.Security(tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key, require_encryption=True)
