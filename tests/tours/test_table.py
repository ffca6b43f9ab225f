"""The classical tutorials of TVM 0.14, and the tests that tell them anew."""

from __future__ import annotations

import ast
from pathlib import Path

HERE = Path(__file__).parent
TOURS = {
    "Working with tensor expressions": "test_tensors.py::test_vector_add",
    "Optimising a product of matrices": "test_tensors.py::test_products_get_their_optimisations_one_by_one",
    "Schedule primitives": "test_tensors.py::test_schedule_primitives",
    "Reduction": "test_tensors.py::test_reductions",
    "Scan and recurrent kernels": "test_tensors.py::test_scan",
    "Tensorize": "test_tensors.py::test_tensorize",
    "External tensor functions": "test_tensors.py::test_external_functions",
    "Intrinsics and math functions": "test_tensors.py::test_intrinsics_and_math_functions",
    "Compute and reduce with tuple inputs": "test_tensors.py::test_tuple_inputs",
    "Hybrid script": "test_tensors.py::test_hybrid_script",
    "TEDD for visualisation": "test_tensors.py::test_pictures_of_schedules",
    "Introduction to TOPI": "test_tensors.py::test_operators_of_topi",
    "Quick start for models": "test_models.py::test_quick_start",
    "Deployment, cross compilation and RPC": "test_models.py::test_deployment_in_parts",
    "Using the pass infrastructure": "test_models.py::test_passes_and_sequences",
    "Writing a relay pass": "test_models.py::test_a_pass_of_ones_own",
    "Adding a compiler pass: constant folding": "test_models.py::test_folding_by_a_checker_and_a_mutator",
    "Pass instruments": "test_models.py::test_instruments_of_passes",
    "Writing a customised pass on loops": "test_models.py::test_a_pass_on_loops",
    "Deploying a quantised model": "test_models.py::test_quantisation_after_training",
    "Deploying a prequantised model": "test_models.py::test_a_model_that_is_quantised_already",
    "Bring your own codegen": "test_models.py::test_code_from_outside",
    "External libraries in relay": "test_models.py::test_external_libraries",
    "Virtual machine": "test_models.py::test_virtual_machine",
    "Relay visualizer": "test_models.py::test_pictures_of_relay",
    "Debugger and profiler": "test_models.py::test_debugger_and_profiler",
    "Pattern matching in relay": "test_models.py::test_an_expression_by_patterns",
    "Compile ONNX models": "test_formats.py::test_onnx",
    "Compile TFLite models": "test_formats.py::test_tflite",
    "Compile PyTorch models": "test_formats.py::test_pytorch",
    "Compile Keras models": "test_formats.py::test_keras",
    "Compile TensorFlow models": "test_formats.py::test_tensorflow",
    "TVMC in Python": "test_driver.py::test_tvmc_in_python",
    "TVMC on the command line": "test_driver.py::test_tvmc_in_the_shell",
    "AutoTVM: a template": "test_tuning.py::test_a_template_is_tuned",
    "AutoTVM: a network": "test_tuning.py::test_a_network_is_tuned_by_autotvm",
    "Auto-scheduling a product of matrices": "test_tuning.py::test_tensors_are_scheduled_without_a_template",
    "Auto-scheduling a network": "test_tuning.py::test_a_network_is_tuned_by_auto_scheduler",
    "Meta-schedule for a network": "test_tuning.py::test_a_network_is_tuned_by_meta_schedule",
}
"""Tutorial -> the test that tells it."""


def test_each_tutorial_has_a_test() -> None:
    there = {
        f"{path.name}::{node.name}"
        for path in HERE.glob("test_*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    assert set(TOURS.values()) <= there
    assert len(set(TOURS.values())) == len(TOURS) == 39
