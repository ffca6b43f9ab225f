from whence.autotvm.measure.kernels import extract_from_program as extract_from_program
from whence.autotvm.record import ApplyHistoryBest as ApplyHistoryBest

from . import dispatcher as dispatcher
from . import space as space
from . import task as task
from .dispatcher import ApplyConfig as ApplyConfig
from .dispatcher import DispatchContext as DispatchContext
from .dispatcher import FallbackContext as FallbackContext
from .dispatcher import get_config as get_config
from .space import ConfigEntity as ConfigEntity
from .space import ConfigSpace as ConfigSpace
from .space import FallbackConfigEntity as FallbackConfigEntity
from .task import Task as Task
from .task import compute_flop as compute_flop
from .task import create as create
from .task import template as template
