"""Meanings of operators, written once over terms, with no word of a format: rows decode, and call these."""
