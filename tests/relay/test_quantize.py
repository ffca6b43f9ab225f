"""Float modules that are quantised after training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whence
from whence import relay
from whence.dialects.relay.interpret import evaluate_module
from whence.provenance.span import leaf_name, leaves
from whence.relay import quantize
from whence.relay.quantize.scales import Magnitudes, weight_steps
from whence.support.errors import FrontendWarning, PipelineError

ops: Any = relay
ALL: dict[str, Any] = {"skip_conv_layers": [], "skip_dense_layer": False}


def random_net(rng: np.random.Generator) -> Any:
    """A network of convolutions, biases, sums, pools and a dense layer, with random sizes and weights."""

    def weight(*shape: int) -> Any:
        return relay.const((rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32))

    def bias(channels: int) -> Any:
        return relay.const(rng.normal(0, 0.1, channels).astype(np.float32))

    channels, size = int(rng.choice([3, 4, 8])), int(rng.choice([8, 10, 12]))
    y: Any = relay.var("data", shape=(1, channels, size, size))
    shape = channels, size
    for _ in range(rng.integers(1, 4)):
        inputs, width = shape[0], int(rng.choice([4, 8, 16]))
        made = ops.nn.bias_add(ops.nn.conv2d(y, weight(width, inputs, 3, 3), padding=(1, 1)), bias(width))
        if width == inputs and rng.random() < 0.7:
            made = made + y
        y = ops.nn.relu(made) if rng.random() < 0.8 else ops.tanh(made)
        if rng.random() < 0.4 and shape[1] % 2 == 0:
            y = ops.nn.max_pool2d(y, (2, 2), (2, 2))
            shape = width, shape[1] // 2
        shape = width, shape[1]
    flat = ops.nn.batch_flatten(ops.nn.avg_pool2d(y, (2, 2), (2, 2)))
    dense = ops.nn.dense(flat, weight(6, shape[0] * (shape[1] // 2) ** 2))
    module = relay.IRModule.from_expr(ops.nn.bias_add(dense, bias(6)))
    samples = [{"data": rng.standard_normal((1, channels, size, size)).astype(np.float32)} for _ in range(4)]
    return module, samples


def relative_error(module: Any, quantized: Any, samples: Any) -> float:
    run = whence.compile(quantized)
    wanted = np.concatenate([evaluate_module(module.module, [sample["data"]])[0] for sample in samples])
    return float(np.linalg.norm(np.concatenate([run(s["data"]) for s in samples]) - wanted) / np.linalg.norm(wanted))


@pytest.mark.parametrize("seed", range(6))
def test_random_networks_keep_their_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    module, samples = random_net(rng)
    mode = ("kl_divergence", "percentile", "global_scale")[seed % 3]
    with quantize.qconfig(calibrate_mode=mode, weight_scale=("max", "power2")[seed % 2], **ALL):
        quantized = quantize.quantize(module, None, samples)
    counts = relay.analysis.list_op_freqs(quantized)
    assert counts["qnn.conv2d"] == relay.analysis.list_op_freqs(module)["nn.conv2d"]
    assert counts["qnn.dense"] == 1
    assert not {"nn.conv2d", "nn.dense"} & counts.keys()
    assert relative_error(module, quantized, samples) < 0.06


def test_a_dense_layer_is_the_product_of_its_integers() -> None:
    rng = np.random.default_rng(1)
    w, x = (rng.standard_normal(shape).astype(np.float32) for shape in ((5, 32), (3, 32)))
    module = relay.IRModule.from_expr(ops.nn.dense(relay.var("x", shape=(3, 32)), relay.const(w)))
    with quantize.qconfig(global_scale=4.0, weight_scale="max", **ALL):
        run = whence.compile(quantize.quantize(module))
    numpy: Any = np
    integers = numpy.clip(numpy.round(x / np.float32(4 / 128)), -128, 127)
    scale = numpy.abs(w).max(1, keepdims=True) / 127
    wanted = integers @ numpy.round(w / scale).T * (4 / 128) * scale.T
    np.testing.assert_allclose(run(x), wanted, rtol=1e-5)


def test_layers_stay_known() -> None:
    x, w = relay.var("x", shape=(2, 8)), relay.const(np.ones((4, 8), np.float32))
    layer = ops.nn.dense(x, w)
    span = whence.Span(whence.SourceName("fc1"), 1, 1, 0, 0)
    module = relay.IRModule.from_expr(relay.Call(layer.op, layer.args, layer.attrs, span=span))
    with quantize.qconfig(**ALL):
        quantized = quantize.quantize(module)
    (function,) = [op for op in quantized.module.ops if hasattr(op, "sym_name")]
    made = [op for op in function.walk() if op.name.startswith("relay.qnn")]
    names = {leaf_name(leaf) for op in made for leaf in leaves(op.location)}
    assert names == {"fc1:1:0"}


def test_what_is_skipped_stays_on_floats() -> None:
    module, _ = random_net(np.random.default_rng(3))
    count = relay.analysis.list_op_freqs(module)["nn.conv2d"]
    counts = relay.analysis.list_op_freqs(quantize.quantize(module))
    assert (counts.get("nn.conv2d"), counts.get("qnn.conv2d", 0), counts["nn.dense"]) == (1, count - 1, 1)


def test_values_of_inputs_become_weights() -> None:
    x, w = relay.var("x", shape=(2, 8)), relay.var("w", shape=(4, 8))
    module = relay.IRModule.from_expr(ops.nn.dense(x, w))
    params = {"w": np.random.default_rng(2).standard_normal((4, 8)).astype(np.float32)}
    with quantize.qconfig(**ALL):
        quantized = quantize.quantize(module, params)
    assert [param.name_hint for param in quantized["main"].params] == ["x"]
    assert relay.analysis.list_op_freqs(quantized)["qnn.dense"] == 1


def loop_divergence(counts: np.ndarray[Any, Any], bins: int, levels: int) -> float:
    """The divergence, bin by bin."""
    kept = [float(count) for count in counts[:bins]]
    reference = [*kept[:-1], kept[-1] + float(sum(counts[bins:]))]
    spread = [0.0] * bins
    for level in range(levels):
        part = range(level * bins // levels, (level + 1) * bins // levels)
        filled = [k for k in part if kept[k] > 0]
        for k in filled:
            spread[k] = sum(kept[j] for j in part) / len(filled)
    total, others = sum(reference), sum(spread)
    pairs = [(p / total, max(q / others, 1e-12)) for p, q in zip(reference, spread, strict=True) if p > 0]
    return sum(p * np.log(p / q) for p, q in pairs)


def test_the_least_divergence_is_found() -> None:
    rng = np.random.default_rng(4)
    seen = Magnitudes()
    values = np.append(rng.standard_normal(40000), 30.0)
    seen.widen(values)
    seen.count(values)
    limit = seen.least_divergence(128)
    assert 2.0 < limit < 15.0
    chosen = round(limit / seen.largest * 2048)
    own = loop_divergence(seen.counts, chosen, 128)
    assert all(own <= loop_divergence(seen.counts, bins, 128) + 1e-9 for bins in range(128, 2049, 160))
    assert abs(seen.percentile(0.5) - np.median(np.abs(values))) < 0.05


def test_weights_of_fewer_bits_use_less_of_the_range() -> None:
    weight = np.array([[1.0, -0.6], [4.0, 3.0]], np.float32)
    steps: Any = weight_steps
    integers, scale = steps(weight, "max", 4, True)
    np.testing.assert_array_equal(integers, [[7, -4], [7, 5]])
    np.testing.assert_allclose(scale, [1 / 7, 4 / 7], rtol=1e-6)
    integers, scale = steps(weight, "power2", 8, False)
    assert (scale, integers.max()) == (0.03125, 127)


def test_senseless_configurations_are_refused() -> None:
    with pytest.raises(PipelineError, match="expected calibrate_mode among global_scale, kl_divergence, percentile"):
        quantize.qconfig(calibrate_mode="guess")
    with pytest.raises(PipelineError, match=r"expected options among .* got skip_convs"):
        quantize.qconfig(skip_convs=[1])
    module, samples = random_net(np.random.default_rng(5))
    with quantize.qconfig(calibrate_mode="percentile", **ALL):
        assert quantize.current_qconfig().calibrate_mode == "percentile"
        with pytest.raises(PipelineError, match="expected a dataset of samples for calibrate_mode percentile"):
            quantize.quantize(module)
        with pytest.raises(PipelineError, match="expected input data in sample 1, got none"):
            quantize.quantize(module, None, [samples[0], {}])
    assert quantize.current_qconfig().calibrate_mode == "global_scale"


def test_a_quantised_module_is_built_with_the_params_of_the_float_one() -> None:
    x, w = relay.var("x", shape=(2, 8)), relay.var("w", shape=(4, 8))
    params = {"w": np.random.default_rng(6).standard_normal((4, 8)).astype(np.float32)}
    with quantize.qconfig(**ALL):
        quantized = quantize.quantize(relay.IRModule.from_expr(ops.nn.dense(x, w)), params)
    with pytest.warns(FrontendWarning, match=r"expected arguments of @main \(x\), got 'w', which is left out"):
        built: Any = relay.build(quantized, "llvm", params=params)
    runner = whence.contrib.graph_executor.GraphModule(built["default"](whence.cpu()))
    data = np.random.default_rng(7).standard_normal((2, 8)).astype(np.float32)
    runner.run(x=data)
    np.testing.assert_allclose(runner.get_output(0).numpy(), whence.compile(quantized)(data))
