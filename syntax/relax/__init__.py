"""Relax as a view of Relay expressions: a table of operators, types, and a printer of Relax's text."""
