"""Bytes of workspace that each planner takes for the networks that onnx ships, beside the least possible."""

from __future__ import annotations

import time

import whence
from whence.planning.artifact import Artifact
from whence.planning.lifetimes import Lifetimes, Step
from whence.planning.plan import plan_lifetimes
from whence.planning.pools import place
from whence.planning.usmp import ALGORITHMS

NETWORKS = (
    *("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50"),
    *("shufflenet", "squeezenet", "vgg19", "zfnet512"),
)


def lifetimes(artifact: Artifact) -> Lifetimes:
    """Of the intermediate tensors of a compiled model; a place in its arena may hold several, one after the other."""
    written: dict[int, int] = {}
    steps: list[Step[int]] = []
    for call in artifact.program.calls:
        inputs = tuple(written[slot.place] for slot in call.inputs if slot.kind == "arena")
        outputs: list[tuple[int, int]] = []
        for slot, spec in zip(call.outputs, call.results, strict=True):
            if slot.kind == "arena":
                written[slot.place] = sum(len(step.outputs) for step in steps) + len(outputs)
                outputs.append((written[slot.place], spec.nbytes))
        steps.append(Step(inputs, tuple(outputs), artifact.kernels[call.kernel].workspace))
    return Lifetimes.of(steps)


def main() -> None:
    planners = ("default", *ALGORITHMS)
    print(f"{'network':14}{'at the peak':>13}" + "".join(f"{name:>22}" for name in planners))
    for name in NETWORKS:
        known = lifetimes(whence.compile(f"light_{name}", threads=1).artifact)
        shown: list[str] = []
        for planner in planners:
            start = time.perf_counter()
            found = plan_lifetimes(known) if planner == "default" else place(known, planner)
            took = time.perf_counter() - start
            shown.append(f"{found.arena_bytes} {1e3 * took:6.0f} ms")
        print(f"{name:14}{max(known.live()):>13}" + "".join(f"{text:>22}" for text in shown))


if __name__ == "__main__":
    main()
