"""Readers of the user's inputs: models by name, modules as text, shapes of inputs."""
