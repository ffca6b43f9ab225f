"""From te schedules or TIR to functions on numpy arrays: tools of a kernel engineer."""

from whence.kernels.building import build as build
from whence.kernels.building import build_prim_func as build_prim_func
from whence.kernels.building import build_schedule as build_schedule
from whence.kernels.building import compiled_kernels as compiled_kernels
from whence.kernels.building import create_prim_func as create_prim_func
from whence.kernels.building import lower as lower
from whence.kernels.explanation import Explanation as Explanation
from whence.kernels.explanation import explain as explain
from whence.kernels.functions import Function as Function
from whence.kernels.schedule_text import ScheduleComparison as ScheduleComparison
from whence.kernels.schedule_text import compare_schedules as compare_schedules
from whence.kernels.schedule_text import read_schedule as read_schedule
from whence.kernels.tuning import TunedPrimFunc as TunedPrimFunc
from whence.kernels.tuning import tune_prim_func as tune_prim_func
