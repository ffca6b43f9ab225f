from . import relay_integration as relay_integration
from .relay_integration import compile_tir as compile_tir
from .relay_integration import tune_tir as tune_tir
