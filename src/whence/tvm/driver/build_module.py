"""TVM's names at `driver.build_module`: kernels of schedules."""

from whence.kernels import build as build
from whence.kernels import lower as lower
