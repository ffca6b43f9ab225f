"""The abilities of NVIDIA's devices, by their versions: programs for TVM ask before they use one."""


def parse_compute_version(compute_version: str) -> tuple[int, int]:
    """The two numbers of a compute capability, as in "7.5". Raises ValueError for another text."""
    major, _, minor = compute_version.partition(".")
    return int(major), int(minor or 0)


def have_fp16(compute_version: str) -> bool:
    """Return whether a device computes with halves: those from 5.3 on."""
    return parse_compute_version(compute_version) >= (5, 3)
