from whence.autotvm.callback import log_to_file as RecordToFile
from whence.autotvm.measure.measure import MeasureInput as MeasureInput
from whence.autotvm.measure.measure import MeasureResult as MeasureResult
from whence.autotvm.measure.measure_methods import LocalBuilder as LocalBuilder
from whence.autotvm.measure.measure_methods import LocalRunner as LocalRunner
from whence.autotvm.record import ApplyHistoryBest as ApplyHistoryBest
from whence.autotvm.record import load_from_file as load_records

from . import search_task as search_task
from .search_task import SearchTask as SearchTask
from .search_task import SketchPolicy as SketchPolicy
from .search_task import TaskScheduler as TaskScheduler
from .search_task import TuningOptions as TuningOptions
from .search_task import create_task as create_task
from .search_task import extract_tasks as extract_tasks
from .search_task import register_workload as register_workload

__all__ = ["RecordToFile", "load_records"]
