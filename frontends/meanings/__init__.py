"""Meanings of operators, written once over terms, with no word of a format: rows of frontends decode, and call these."""
