"""What frontends of model files share: nodes become relay operators by the rows of tables, step by step."""
