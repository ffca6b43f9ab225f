"""What operators mean: tables of operators by family, each with its spellings in the formats and one expected result.

PYTHONPATH=src:tests/support python -m meanings [--holes] [--compiled] [--formats onnx,keras] [--only REGEX]
"""
