"""Readers of models. Each kind of model has a folder."""
