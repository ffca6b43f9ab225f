"""Models compiled: opened, made into kernels and programs, and the kind of program chosen."""
