"""What runs a compiled model and answers for it, a class for each kind of program."""
