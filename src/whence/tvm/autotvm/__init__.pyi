from . import callback as callback
from . import record as record
from .dispatcher import ApplyHistoryBest as ApplyHistoryBest
from .dispatcher import apply_history_best as apply_history_best
from .record import MeasureInput as MeasureInput
from .record import MeasureResult as MeasureResult
