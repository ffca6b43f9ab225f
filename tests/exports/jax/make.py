"""Writes the programs beside this file, in the generic form of StableHLO, with what JAX computes of their inputs.

`printed/` has each program in the form that JAX prints, and `forms.mlir`, as jaxlib prints what is in
`forms_generic.mlir`: ops in all their forms.

    PYTHONPATH=tests/support python tests/exports/jax/make.py

The weights are random. Files that locations name are relative to the folder of this project, or to that of packages.
`expected.npz` has inputs and results of all programs; `perceptron.npz` has the weights that its file leaves out.
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax_networks import PROGRAMS, WEIGHTS, floats
from jax import export
from jax.interpreters import mlir
from jaxlib.mlir import ir

from whence.frontends.stablehlo.jax_objects import text_of
from whence.frontends.stablehlo.load import flat

HERE = Path(__file__).parent
NAMES = (
    *(
        "attention",
        "branches",
        "cnn",
        "contractions",
        "gradients",
        "indexed",
        "inverses",
        "logarithms",
        "loops",
        "order",
    ),
    *("perceptron", "running"),
)
EXPORTED = ("inverses",)
"""Programs that come from `jax.export`, which writes them otherwise than `lower`."""


def write(name: str, program: Any) -> None:
    """Write the texts of a program, with files relative to folders that are the same everywhere."""
    printed = program.mlir_module() if isinstance(program, export.Exported) else program.as_text(debug_info=True)
    for path, text in ((HERE / f"{name}.mlir", text_of(program)), (HERE / "printed" / f"{name}.mlir", printed)):
        whole = text.replace(f'"{HERE.parents[2]}/', '"')
        path.write_text(re.sub(r'"/[^"]*/((?:flax|jax)/)', r'"\1', whole))


def print_forms() -> None:
    """Write what jaxlib prints of ops in generic form."""
    with mlir.make_ir_context():
        module = ir.Module.parse((HERE / "printed" / "forms_generic.mlir").read_text())
        (HERE / "printed" / "forms.mlir").write_text(str(module))


def opened(x: Any, y: Any) -> Any:
    """Rows of any number and length."""
    x = jax.nn.softmax(x @ jnp.ones((4, 4)) + y[:, None], axis=1)
    return x.reshape(x.shape[0], -1), jnp.concatenate([x, x], 1).mean(1)


def main() -> None:
    print_forms()
    jax.config.update("jax_traceback_in_locations_limit", 4)
    expected: dict[str, Any] = {}

    def keep(name: str, function: Any, inputs: Any) -> None:
        results = jax.tree.leaves(jax.jit(function)(*inputs))
        leaves = jax.tree.leaves(inputs[1:] if name == "perceptron" else inputs)
        expected.update({f"{name}/in_{at}": np.asarray(value) for at, value in enumerate(leaves)})
        expected.update({f"{name}/out_{at}": np.asarray(value) for at, value in enumerate(results)})

    for name in NAMES:
        function, inputs = PROGRAMS[name]
        jitted: Any = jax.jit(function)
        write(name, export.export(jitted)(*inputs) if name in EXPORTED else jitted.lower(*inputs))
        keep(name, function, inputs)
    weights: dict[str, Any] = dict(flat({"weights": WEIGHTS}))
    np.savez_compressed(HERE / "perceptron.npz", **weights)
    batch, length = export.symbolic_shape("batch, length", constraints=["length <= 16"])
    shapes = jax.ShapeDtypeStruct((batch, length, 4), jnp.float32), jax.ShapeDtypeStruct((batch, 4), jnp.float32)
    write("opened", export.export(jax.jit(opened))(*shapes))
    for rows, columns in ((1, 3), (5, 16)):
        keep(f"opened_{rows}", opened, (floats(rows, columns, 4), floats(rows, 4, seed=2)))
    np.savez_compressed(HERE / "expected.npz", **expected)


if __name__ == "__main__":
    main()
