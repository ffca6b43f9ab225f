"""Files of code brought into this process: exported models and jobs of measuring, their seal, package and linker."""
