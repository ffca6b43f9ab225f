"""Relay from Python, with TVM's names: expressions, builders of operator calls, modules, text, passes.

>>> from whence import relay
>>> x = relay.var("x", shape=(1, 4))
>>> mod = relay.IRModule.from_expr(relay.Function([x], relay.nn.relu(x + x)))
>>> exe = whence.compile(mod)
"""

import typing

from whence.relay.builders import builder
from whence.relay.composed import COMPOSED
from whence.relay.namespaces import NAMESPACES
from whence.support.errors import FrontendError
from whence.support.rooms import homes_in, name_in, reason_of


def __getattr__(name: str) -> typing.Any:
    if name.startswith("__") or name in homes_in(__name__):
        return name_in(__name__, name)
    for table in (NAMESPACES, COMPOSED):
        if name in table:
            return table[name]
    try:
        return builder(name)
    except FrontendError:
        raise AttributeError(f"module 'whence.relay' has no attribute '{name}'{reason_of(__name__, name)}") from None
