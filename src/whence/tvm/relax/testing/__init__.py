"""Helpers for tests by Relax's names."""

from whence.relax.testing import relay_translator as relay_translator
