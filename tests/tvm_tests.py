"""The tests of a TVM checkout, run on Whence: those that held once go on holding.

    python tests/tvm_tests.py CHECKOUT [--relax] [--only TEXT] [--record] [--reasons]

CHECKOUT is of TVM 0.14, or, with `--relax`, of a release that has Relax. Prints, for each group of files, how many of
its tests hold. Exits with 1 when one that is listed in tests/tvm_tests.txt (tests/tvm_relax_tests.txt) does not;
`--record` writes the list anew. `--reasons` counts the errors of the others. Tests of devices, and of models that would
be fetched, are not among the groups.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
GROUPS = {
    "relay": ("relay/test_*.py", "relay/dyn/test_*.py", "relay/op/test_*.py", "relay/transform/test_*.py"),
    "te": ("unittest/test_te_*.py",),
    "tir": ("unittest/test_tir_*.py", "tir/**/test_*.py"),
    "arith": ("unittest/test_arith_*.py",),
    "autotvm": ("unittest/test_autotvm_*.py",),
    "runtime": ("unittest/test_runtime_*.py", "unittest/test_evaluator_*.py", "unittest/test_set_input_*.py"),
    "ir": (
        "unittest/test_ir_*.py",
        "unittest/test_node_*.py",
        "unittest/test_container_*.py",
        "unittest/test_object_path.py",
        "unittest/test_lower_build.py",
        "unittest/test_type_*.py",
        "unittest/test_format_*.py",
    ),
    "target": (
        "unittest/test_target_target.py",
        "unittest/test_target_codegen_llvm.py",
        "unittest/test_target_codegen_extern.py",
        "unittest/test_target_codegen_bool.py",
        "unittest/test_target_codegen_vm_basic.py",
        "unittest/test_target_parser_*.py",
    ),
    "testing": ("unittest/test_testing.py", "unittest/test_tvm_testing_*.py"),
    "script": ("unittest/test_tvmscript_*.py",),
    "driver": ("driver/tvmc/test_*.py",),
}
"""Group -> patterns of files below `tests/python`."""
RELAX_GROUPS = {
    "builder": ("relax/test_blockbuilder_*.py", "relax/test_expr*.py", "relax/test_type.py", "relax/test_utils.py"),
    "nn": ("relax/test_frontend_nn_*.py", "relax/test_frontend_common.py", "relax/test_testing_nn.py"),
    "vm": ("relax/test_vm_*.py", "relax/test_e2e_*.py", "relax/test_dlpack_*.py"),
    "binding": ("relax/test_bind*.py", "relax/test_inline_functions.py", "relax/test_pipeline.py"),
    "transform": ("relax/test_transform*.py", "relax/test_remove_redundant_reshape.py", "relax/test_fast_math*.py"),
    "patterns": ("relax/test_dataflow_pattern.py", "relax/test_dataflow_rewriter.py", "relax/test_analysis*.py"),
    "op": ("relax/test_op_*.py", "relax/test_relax_operators.py"),
    "script": ("relax/test_tvmscript_*.py",),
}
"""As `GROUPS`, of a checkout with Relax."""
SECONDS = 60
"""The limit of a test; a file may take ten times as much, and as often as it has tests that crash."""
CRASHES = 3


def run(root: Path, file: Path) -> list[dict[str, Any]]:
    """Run a file in a process of its own, and again without a test that ended it; return the outcomes."""
    skipped: list[str] = []
    rows: list[dict[str, Any]] = []
    for _ in range(CRASHES):
        with tempfile.TemporaryDirectory() as folder:
            results = Path(folder) / "results"
            results.touch()
            command = [
                *(sys.executable, "-m", "pytest", "-q", "-n", "0", "--noconftest", "-p", "no:cacheprovider"),
                *("-p", "tvm_checkout", "-p", "whence.testing.plugin", "-c", os.devnull, "--rootdir", str(root)),
                *("--import-mode", "prepend", "--results", str(results), "--seconds", str(SECONDS)),
                *(argument for test in skipped for argument in ("--deselect", test)),
                str(file),
            ]
            environment = os.environ | {"PYTHONPATH": f"{HERE / 'support'}:{root}", "PYTHONDONTWRITEBYTECODE": "1"}
            try:
                done = subprocess.run(
                    command, cwd=folder, env=environment, capture_output=True, timeout=10 * SECONDS, check=False
                )
            except subprocess.TimeoutExpired:
                done = None
            rows = [json.loads(line) for line in results.read_text().splitlines()]
        if done is not None and done.returncode in (0, 1, 5):
            return rows
        if not rows:
            tail = "" if done is None else done.stdout.decode(errors="replace").strip()[-300:]
            return [{"id": f"{file.relative_to(root)}", "outcome": "failed", "error": f"the file: {tail}"}]
        return rows
    return rows


def main(arguments: Sequence[str]) -> int:
    """Run the groups, and compare what holds with the list."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--relax", action="store_true", help="the tests of Relax")
    parser.add_argument("--only", default="", help="files whose path has this text")
    parser.add_argument("--record", action="store_true", help="write the list of the tests that hold")
    parser.add_argument("--reasons", action="store_true", help="count the errors of the tests that do not hold")
    options = parser.parse_args(arguments)
    root = options.checkout / "tests" / "python"
    if not root.is_dir():
        print(f"expected a checkout of TVM, got no folder {root}", file=sys.stderr)
        return 2
    groups = RELAX_GROUPS if options.relax else GROUPS
    record = HERE / ("tvm_relax_tests.txt" if options.relax else "tvm_tests.txt")
    held: set[str] = set()
    seen: set[str] = set()
    reasons: Counter[str] = Counter()
    for group, patterns in groups.items():
        counts: Counter[str] = Counter()
        files = sorted({file for pattern in patterns for file in root.glob(pattern)})
        for file in files:
            if options.only not in str(file):
                continue
            rows = run(root.resolve(), file.resolve())
            own = Counter(row["outcome"] for row in rows)
            print(f"{file.relative_to(root)}: {dict(own)}", flush=True)
            counts.update(own)
            seen.update(row["id"] for row in rows)
            held.update(row["id"] for row in rows if row["outcome"] == "passed")
            reasons.update(row["error"].splitlines()[0] for row in rows if row["error"] and row["outcome"] == "failed")
        if counts:
            print(f"== {group}: {counts['passed']} of {counts['passed'] + counts['failed']} hold", flush=True)
    if options.reasons:
        for reason, count in reasons.most_common(60):
            print(f"{count:5} {reason[:160]}")
    listed = set(record.read_text().split("\n")) - {""} if record.exists() else set[str]()
    if options.record:
        kept = listed - {test for test in listed if test.split("::")[0] in {one.split("::")[0] for one in seen}}
        record.write_text("".join(f"{test}\n" for test in sorted(kept | held)))
        return 0
    files_seen = {test.split("::")[0] for test in seen}
    lost = sorted(test for test in listed - held if test.split("::")[0] in files_seen)
    for test in lost:
        print(f"held once: {test}")
    print(f"{len(held)} hold, {len(held - listed)} of them new, {len(lost)} lost")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
