from . import autotuner as autotuner
from . import compiler as compiler
from . import frontends as frontends
from . import model as model
from . import result_utils as result_utils
from . import runner as runner
from . import shape_parser as shape_parser
from . import transform as transform
from .autotuner import tune_model as tune
from .compiler import compile_model as compile
from .frontends import load_model as load
from .model import TVMCException as TVMCException
from .model import TVMCModel as TVMCModel
from .model import TVMCPackage as TVMCPackage
from .model import TVMCResult as TVMCResult
from .runner import run_module as run

__all__ = ["compile", "load", "run", "tune"]
