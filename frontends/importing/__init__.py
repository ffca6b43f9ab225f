"""The shared part of all frontends: steps of a model become relay operators, one by one, by the rows of tables."""
