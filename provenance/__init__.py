"""The origin of ops: spans, the located builder, the rewrite driver, the ledger and the audit."""

from . import culprit as culprit
