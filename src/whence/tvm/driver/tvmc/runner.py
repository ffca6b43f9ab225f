"""Runs of packages, and inputs for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from whence.contrib.debugger.debug_executor import GraphModuleDebug
from whence.driver.tvmc.model import TVMCPackage, TVMCResult
from whence.reading.arrays import default_inputs, random_inputs
from whence.runtime.loading.loaded import load_module
from whence.runtime.program.timing import Timing
from whence.runtime.values.device import check_cpu
from whence.runtime.values.tensors import TensorSpec
from whence.support.dtypes import Array
from whence.support.errors import PipelineError, expectation

FILLS = ("random", "zeros", "ones", "ramp")


def filled(specs: Sequence[TensorSpec], arrays: Mapping[str, Array], mode: str, seed: int) -> dict[str, Array]:
    """Return the inputs, with generated values for missing ones. Values without an input stay, and are an error later.

    Raises PipelineError for another mode, FrontendError for open shapes that nothing was given for.
    """
    if mode not in FILLS:
        raise PipelineError(expectation("fill_mode", f"one of {', '.join(FILLS)}", repr(mode)))
    rest = [spec for spec in specs if spec.name not in arrays]
    values = random_inputs(rest, seed) if mode == "random" else default_inputs(rest)
    if mode in ("zeros", "ones"):
        fill = np.zeros_like if mode == "zeros" else np.ones_like
        values = {name: fill(array) for name, array in values.items()}
    return {**values, **arrays}


def generate_tensor_data(shape: Sequence[int], dtype: str, fill_mode: str) -> Array:
    """An array of a shape and dtype. fill_mode: random, zeros, ones or ramp; raises PipelineError for others."""
    return filled([TensorSpec("input", tuple(shape), np.dtype(dtype))], {}, fill_mode, 0)["input"]


def make_inputs_dict(
    shape_dict: Mapping[str, Sequence[int]],
    dtype_dict: Mapping[str, str],
    inputs: Mapping[str, Array] | None = None,
    fill_mode: str = "random",
) -> dict[str, Array]:
    """An array for each input of the shapes; those of `inputs` stay. Errors as `generate_tensor_data`.

    Raises PipelineError for an array that no input takes.
    """
    if strange := sorted((inputs or {}).keys() - shape_dict.keys()):
        raise PipelineError(expectation("inputs", f"names among {', '.join(shape_dict)}", ", ".join(strange)))
    specs = [TensorSpec(name, tuple(shape), np.dtype(dtype_dict[name])) for name, shape in shape_dict.items()]
    return filled(specs, inputs or {}, fill_mode, 0)


def run_module(
    tvmc_package: TVMCPackage,
    device: object = "cpu",
    rpc_key: str | None = None,
    hostname: str | None = None,
    port: int | str = 9090,
    inputs: Mapping[str, Array] | None = None,
    fill_mode: str = "random",
    repeat: int = 10,
    number: int = 10,
    profile: bool = False,
    end_to_end: bool = False,
    *,
    seed: int = 0,
    threads: int | None = None,
) -> TVMCResult:
    """Run a package once for its outputs, then measure `repeat` times `number` runs.

    fill_mode: the contents of missing inputs: random, zeros, ones or ramp. profile: print the time of each node.
    Raises PipelineError for another device than the CPU and for a remote one, FrontendError for inputs that do not fit.
    """
    if rpc_key is not None or hostname is not None:
        raise PipelineError(expectation("tvmc.run", "a model that runs here", "a remote device"))
    check_cpu(device, "tvmc.run")
    module = load_module(tvmc_package.package_path, threads=threads)
    values = filled(module.inputs, inputs or {}, fill_mode, seed)
    if profile:
        debug = GraphModuleDebug(module["debug_create"](module.libmod_name, "cpu"))
        print(debug.profile(**values))
        debug.exit()
    outputs = module.run(values)
    times = Timing(number, repeat).measure(lambda: module.run(values))
    numbered = {f"output_{index}": array for index, array in enumerate(outputs.values())}
    return TVMCResult(numbered, times, tuple(outputs))
