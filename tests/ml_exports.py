"""Exported estimators of scikit-learn, LightGBM and XGBoost against onnxruntime.

    python tests/ml_exports.py [FOLDER] [NAME ...]

FOLDER: where `tests/exports/ml/make.py` has written them; without, those that are kept there. Prints a line for each
that differs or fails, and the sum; exits with 1 when there is one. What onnxruntime refuses does not count.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "support"))

from exported_estimators import KEPT, check


def main(arguments: Sequence[str]) -> int:
    warnings.simplefilter("ignore")
    folder, names = Path(arguments[0]) if arguments else KEPT, arguments[1:]
    counts = Counter[str]()
    for file in sorted(folder.glob("*.onnx")):
        if names and file.stem not in names:
            continue
        try:
            counts[check(file)] += 1
        except Exception as error:
            refused = type(error).__module__.startswith("onnxruntime")
            counts["refused by onnxruntime" if refused else "bad"] += 1
            print(f"{file.stem}: {type(error).__name__}: {' '.join(str(error).split())[:200]}", flush=True)
    print(", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    return 1 if counts["bad"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
