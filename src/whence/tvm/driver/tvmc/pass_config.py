"""Options of passes in texts of command lines."""

from __future__ import annotations

from collections.abc import Sequence

from whence.cli.options import configured
from whence.support.context import Option


def parse_configs(input_configs: Sequence[str] | None) -> dict[str, Option]:
    """The options of a PassContext in texts such as `tir.disable_vectorize=true`.

    `tir.add_lower_pass=1,tir.transform.UnrollLoop,2,package.my_pass` has passes, each behind its phase; several such
    texts add up. Raises PipelineError for another text, OptionError for an unknown option.
    """
    return configured(input_configs or (), "pass_context_configs")
