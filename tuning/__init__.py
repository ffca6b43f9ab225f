"""Tuning: candidates for kernels, and what measuring says of them."""
