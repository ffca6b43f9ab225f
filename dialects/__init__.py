"""The dialects: the ops, types and attributes of each level."""

from .xdsl_text import install

install()
