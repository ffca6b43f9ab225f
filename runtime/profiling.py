"""Reports of profiled runs, where TVM has them."""

from .debugger.report import Report as Report

__all__ = ["Report"]
