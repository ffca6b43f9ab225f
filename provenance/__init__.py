"""Where things come from: spans, the located builder, the rewrite driver, the ledger and the audit."""

from . import culprit as culprit
