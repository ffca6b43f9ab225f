"""Observers of passes: `tvm.instrument`. `PassContext(instruments=[..])` calls them around each pass."""

from whence.support.instrument import PassInstrument as PassInstrument
from whence.support.instrument import PassTimingInstrument as PassTimingInstrument
from whence.support.instrument import PrintAfterAll as PrintAfterAll
from whence.support.instrument import PrintBeforeAll as PrintBeforeAll
from whence.support.instrument import pass_instrument as pass_instrument
