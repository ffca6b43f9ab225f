"""What users give: models by name, modules as text, shapes of inputs."""
