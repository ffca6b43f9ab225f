"""Pass instruments, under TVM's path."""

from whence.instrument import PassInstrument as PassInstrument
from whence.instrument import PassTimingInstrument as PassTimingInstrument
from whence.instrument import PrintAfterAll as PrintAfterAll
from whence.instrument import PrintBeforeAll as PrintBeforeAll
from whence.instrument import pass_instrument as pass_instrument
