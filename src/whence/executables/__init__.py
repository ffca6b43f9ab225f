"""Classes that run a compiled model and answer questions about it, one for each kind of program."""
