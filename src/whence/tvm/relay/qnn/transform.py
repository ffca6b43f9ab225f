"""The passes on operators on quantised tensors, by TVM's names."""

from __future__ import annotations

from whence import transform
from whence.relay.qnn.op import QNN_LEGALIZE


def CanonicalizeOps() -> transform.Pass:
    """Turn operators on quantised tensors into arithmetic, except products, which kernels compute directly."""
    return transform.QnnCanonicalize(written_out=True)


def Legalize() -> transform.Pass:
    """Replace operators by the results of the functions of `register_qnn_legalize`."""
    return transform.Legalize(QNN_LEGALIZE)
