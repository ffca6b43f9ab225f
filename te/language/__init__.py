"""The te language: expressions of tensors, and the te.func that they become."""

from .text import text as text
