"""Derivatives of te computes."""
