"""Schedules to look at."""

from schedule_fixtures import argmax as argmax
from schedule_fixtures import gemm as gemm
from schedule_fixtures import kernels as kernels
from schedule_fixtures import replayed as replayed
from schedule_fixtures import scheduled as scheduled
from schedule_fixtures import softmax as softmax
