from whence.autotvm import callback as callback

from . import ga_tuner as ga_tuner
from . import index_based_tuner as index_based_tuner
from . import tuner as tuner
from . import xgboost_tuner as xgboost_tuner
from .ga_tuner import GATuner as GATuner
from .index_based_tuner import GridSearchTuner as GridSearchTuner
from .index_based_tuner import IndexBaseTuner as IndexBaseTuner
from .index_based_tuner import RandomTuner as RandomTuner
from .tuner import Tuner as Tuner
from .xgboost_tuner import XGBTuner as XGBTuner
