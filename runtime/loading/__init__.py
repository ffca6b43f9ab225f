"""Files of code to load into this process: exported models and measuring jobs, their seal, package and linker."""
