"""Random programs that write in place, traced: views of views, inputs and a buffer, as eager torch has them."""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from random_torch_programs import differing, generated  # noqa: E402
from torch_scripts import array, infos_of, traced  # noqa: E402

from whence import relay  # noqa: E402
from whence.dialects.relay.interpret import evaluate_module  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("seed", range(2000, 2040))
def test_writes_are_those_of_torch(seed: int, tmp_path: Path):
    path = tmp_path / f"program_{seed}.py"
    path.write_text(generated(seed).source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(seed)
    inputs = (torch.randn(4, 6), torch.randn(3, 2))
    net, again = module.Net().eval(), module.Net().eval()
    first = net.kept.clone()
    with torch.no_grad():
        try:
            results = again(*(value.clone() for value in inputs))
        except RuntimeError:
            pytest.skip("torch itself refuses one of its writes")
        script = traced(net, *inputs)
        script.kept.copy_(first)
    wanted = [array(value) for value in (results if isinstance(results, tuple) else (results,))]
    lowered, params = relay.frontend.from_pytorch(script, infos_of(inputs))
    found = evaluate_module(lowered.module, [*map(array, inputs), *params.values()])
    assert differing(tuple(found), wanted) == ""
