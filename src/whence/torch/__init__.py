# pyright: basic, reportMissingImports=false
"""`torch.compile(model, backend="whence")`: graphs that Dynamo captures, compiled; see docs/pytorch.md."""

from __future__ import annotations

from whence.torch.backend import backend as backend
from whence.torch.backend import executables as executables
from whence.torch.backend import repack as repack
from whence.torch.backend import sources as sources
