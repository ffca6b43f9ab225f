"""What looks at passes: `tvm.instrument`. Given to `PassContext(instruments=[..])`, it is called around each."""

from whence.support.instrument import PassInstrument as PassInstrument
from whence.support.instrument import PassTimingInstrument as PassTimingInstrument
from whence.support.instrument import PrintAfterAll as PrintAfterAll
from whence.support.instrument import PrintBeforeAll as PrintBeforeAll
from whence.support.instrument import pass_instrument as pass_instrument
