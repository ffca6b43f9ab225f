"""The shared part of frontends of model files: nodes become relay operators by the rows of tables, step by step."""
