"""More rows held against eager torch: statistics, matrices, losses, groups of rows, projections, and other names."""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whence
from whence.frontends.torch import from_exported_program
from whence.support.errors import FrontendError

torch = pytest.importorskip("torch")

from against_eager import check, exported, numbers, whole  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")

F = torch.nn.functional
X, N = numbers(3, 4, 5), whole(3, 4, 5)
P = X.sigmoid()
V, W = numbers(6), numbers(5)
M = numbers(4, 4) + 4 * torch.eye(4)
GAPS = torch.tensor([[1.0, float("nan"), 3.0], [float("inf"), 2.0, -float("inf")], [0.0, -1.0, float("nan")]])
T = whole(3, 4, most=2) * 2 - 1

CASES: dict[str, tuple[Any, ...]] = {
    "histograms": (lambda a: (a.histc(7, -1, 1), a.histc(5)), V.repeat(9)),
    "the last bin has its end": (lambda a: a.histc(4, 0, 3), whole(30, most=4).float()),
    "close": (
        lambda a, b: (torch.isclose(a, b), torch.isclose(a, a, equal_nan=True), torch.isclose(a > 0, b > 0)),
        GAPS,
        GAPS.flip(0),
    ),
    "infinities": (lambda a, n: (a.isposinf(), a.isneginf(), n.isneginf()), GAPS, N),
    "without NaN": (lambda a, n: (a[:, :1].nansum(), a[::2].nanmean(1), n.nansum(1)), GAPS, N),
    "quantiles": (lambda a: (a.quantile(0.3, 1), a.quantile(torch.tensor([0.1, 0.5]), 0, True), a.quantile(0.9)), X),
    "quantiles between": (lambda a: [a.quantile(0.4, 1, interpolation=k) for k in ("lower", "nearest", "midpoint")], X),
    "medians": (lambda a: (a.median(), a.msort()), X),
    "integrals": (lambda a, x: (torch.trapezoid(a, dx=0.5), torch.trapezoid(a, x.cumsum(0))), X, W.abs()),
    "inverse of erf": (lambda a: torch.erfinv(a), torch.tensor([-1.0, -0.9999, -0.5, -1e-5, 0.0, 1e-8, 0.3, 0.999, 1])),
    "rare functions": (lambda a: (torch.sinc(a), torch.special.entr(a), torch.special.ndtr(a)), X),
    "logarithms of sums": (lambda a, b: (torch.logaddexp2(a, b), torch.special.xlog1py(a, b.abs())), X, X.flip(0)),
    "float_power": (lambda a, n: (torch.float_power(n, 2), torch.float_power(a.abs(), a)), X, N),
    "xlogy with a number": (lambda a: (torch.xlogy(a, 2.0), torch.special.xlogy(2.0, a.abs())), X),
    "turned": (lambda a: (a.rot90(1, (0, 2)), a.rot90(2), a.rot90(3, (1, 2)), a.fliplr(), a.flipud()), X),
    "cross": (lambda a: torch.cross(a, a.flip(1), dim=0), X),
    "sum to a size": (lambda a: (a.sum_to_size(4, 1), a.sum_to_size(1, 4, 5)), X),
    "spaces": (lambda a: a + torch.logspace(-1, 2, 5), X),
    "extremes so far": (lambda a, g: (*a.cummax(1), *a.cummin(-1), *g.cummax(0)), X, GAPS),
    "signs": (lambda a, b: (a.signbit(), torch.copysign(b, -a), torch.angle(a), torch.ldexp(a, b)), X, X.flip(0)),
    "extremes but NaN": (lambda g: (torch.fmax(g, g.flip(0)), torch.fmin(g, g.flip(1))), GAPS),
    "what changes nothing": (
        lambda a, n: (
            F.embedding(n, a[0], padding_idx=1),
            torch.argsort(a, stable=True, descending=True),
            torch.topk(a, 5, sorted=False).values.sum(-1),
            torch.cdist(a, a.flip(0), compute_mode="donot_use_mm_for_euclid_dist"),
            torch.gather(a, 0, n[:1] % 3, sparse_grad=True),
            torch.isin(n[0, 0], torch.arange(2), assume_unique=True),
            torch.repeat_interleave(a, 2, 0, output_size=6),
            torch.ops.aten.native_group_norm(a, None, None, 3, 4, 5, 2, 1e-5)[0],
            torch.ops.aten._reshape_alias(a, (12, 5), (5, 1)),
            a.new_empty_strided((2, 3), (1, 2)).zero_(),
        ),
        X,
        N.clamp(max=3),
    ),
    "norms of halves, with statistics": (
        lambda h: (
            *torch.ops.aten.native_layer_norm(h, [4], None, None, 1e-5),
            *torch.ops.aten.native_group_norm(h, None, None, 3, 4, 4, 2, 1e-5),
            *torch.ops.aten._native_batch_norm_legit.no_stats(h, None, None, True, 0.1, 1e-5),
            torch.ops.aten._native_batch_norm_legit_no_training(h, None, None, h[0, :, 0], h[0, :, 2], 0.1, 1e-5)[0],
        ),
        torch.tensor([1.0, -1, 4, -4]).half().repeat(3, 4, 1),
    ),
    "axes of scalars": (
        lambda s: (
            *(s.softmax(0), s.log_softmax(-1), s.cumsum(0), s.logcumsumexp(0), s.gather(0, torch.tensor(0))),
            *(s.cummax(0)[0], s.min(0, True)[0], s.sort(0, True)[0], s.topk(1, 0, False)[0]),
        ),
        torch.tensor(2.5),
    ),
    "cosines of vectors that broadcast": (lambda a: F.cosine_similarity(a[:1], a[:, :1], dim=-2), X),
    "parts of an axis": (lambda a: (*a.hsplit(2), *a.vsplit([1]), *a.dsplit([2, 4])), X),
    "raised": (lambda a: (*torch.atleast_3d(a[0], a[0, 0]), torch.dstack([a[0], a[0]])), X),
    "pairs": (lambda a, b: (torch.cartesian_prod(a, b), torch.dist(a[:5], b, 3)), V, W),
    "addbmm": (lambda a, b: torch.addbmm(a[0, :, :4], a, b, alpha=0.5), X, numbers(3, 5, 4)),
    "shifts": (lambda n: (n << 2, torch.bitwise_right_shift(n, 1)), N),
    "a mean of integers": (lambda n: F.avg_pool2d(n - 2, 3, 2, 1), whole(1, 2, 7, 8)),
    "one element varies by nothing": (lambda a: (a[:1, :1].var(0), a[:1, :1, :1].std()), X),
    "differences": (lambda a: (a.diff(0), a.diff(9, dim=1), a.diff(dim=0, prepend=a[:1])), X),
    "rows that are minus infinity": (
        lambda a: torch.ops.aten._safe_softmax(a.where(a > 9, -float("inf")), 1),
        X,
    ),
    "a mask of more axes": (lambda a, m: a.masked_scatter(m, a.expand(4, 5)), W, X[0] > 0),
    "scalars have one place": (lambda a: (*a.topk(1), *a.median(0), a.index_fill(0, torch.tensor([0]), 2.0)), V[0]),
    "heads of queries of one batch": (lambda q, k: F.scaled_dot_product_attention(q, k, k), X, numbers(2, 3, 6, 5)),
    "addr": (lambda a, b, m: torch.addr(m, a, b, beta=0.5, alpha=2), V, W, numbers(6, 5)),
    "inner": (lambda a, b: (torch.inner(a, b), torch.linalg.vecdot(a[0], a[1])), X, numbers(2, 5)),
    "kron": (lambda a, b: torch.kron(a, b), numbers(2, 3), numbers(4, 2)),
    "powers of matrices": (lambda m: (torch.linalg.matrix_power(m, 3), torch.linalg.multi_dot([m, m, m])), M / 4),
    "diagonals in": (lambda a, m: (a.diag_embed(1), a.diag_embed(-2, 0, 2), m.diag(-1), m[0].diag(1)), X, M),
    "diagonals flat": (lambda a, m: (a.diagflat(-1), m.trace()), numbers(2, 3), M),
    "norms of matrices": (
        lambda m, a: (torch.linalg.norm(m), torch.linalg.norm(m, 1), torch.linalg.matrix_norm(a, float("inf"))),
        M,
        X,
    ),
    "distances": (
        lambda a, b: (torch.cdist(a, b), torch.cdist(a, b, p=1), torch.pdist(a[0], 3), F.pairwise_distance(a, b)),
        X,
        X.flip(0),
    ),
    "determinants": (lambda m: (*torch.slogdet(m), torch.logdet(m), torch.linalg.solve(m, m.T)), M),
    "losses of probabilities": (lambda a, b: F.binary_cross_entropy(a, b, reduction="none"), P, P.flip(0)),
    "losses with margins": (
        lambda a, b, t: (
            F.soft_margin_loss(a, t),
            F.margin_ranking_loss(a, b, t, margin=0.3),
            F.hinge_embedding_loss(a, t),
            F.cosine_embedding_loss(a, b, t[:, 0], margin=0.1),
            F.triplet_margin_loss(a, b, a.flip(0), swap=True),
        ),
        X[..., 0],
        X[..., 1],
        T,
    ),
    "losses of counts": (lambda a, n: (F.poisson_nll_loss(a, n), F.poisson_nll_loss(a.abs(), n, False)), X, N),
    "probabilities as targets": (
        lambda a, b: F.cross_entropy(a, b.softmax(1), label_smoothing=0.1),
        numbers(3, 5),
        numbers(5, 3).T,
    ),
    "bags": (
        lambda w, i, o: [F.embedding_bag(i, w, o, mode=m) for m in ("sum", "mean", "max")],
        numbers(9, 4),
        whole(7, most=9),
        torch.tensor([0, 2, 2, 5]),
    ),
    "weighted bags": (
        lambda w, i, o, s: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s, padding_idx=0),
        numbers(9, 4),
        whole(7, most=9),
        torch.tensor([0, 3]),
        numbers(7),
    ),
    "repeated by numbers": (
        lambda a, n: a.repeat_interleave(n, 1, output_size=9),
        X,
        torch.tensor([3, 0, 4, 2]),
    ),
    "an LSTM with projections": (torch.nn.LSTM(5, 16, 2, proj_size=7, bidirectional=True).eval(), X),
    "other names": (
        lambda a, n: (
            torch.arctan2(a, a.flip(0)),
            torch.greater_equal(a, 0.5),
            torch.special.expit(a),
            torch.special.softmax(a, 1),
            torch.concatenate([a, a], 1),
            torch.moveaxis(a, 0, 2),
            torch.fix(a),
            torch.special.logsumexp(a, 1),
            torch.isin(n, 2),
        ),
        X,
        N,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_operators(name: str):
    function, *arguments = CASES[name]
    check(function, *arguments)


def test_products_of_groups_of_rows():
    rows, weights = numbers(10, 16).bfloat16(), numbers(4, 16, 8).bfloat16()
    ends = torch.tensor([3, 3, 7, 10], dtype=torch.int32)

    def grouped(x: Any, w: Any, ends: Any) -> Any:
        return torch._grouped_mm(x, w, ends).float()

    expected = torch.cat(
        [rows[a:b].float() @ weights[g].float() for g, (a, b) in enumerate([(0, 3), (3, 3), (3, 7), (7, 10)])]
    )
    check(grouped, rows, weights, ends, expected=[expected], tolerance=1e-2)


def test_boxes_that_better_ones_cover_are_left_out():
    pytest.importorskip("torchvision")
    rng = np.random.default_rng(0)
    corners = rng.uniform(0, 10, (20, 2))
    boxes = np.concatenate([corners, corners + rng.uniform(1, 6, (20, 2))], 1).astype(np.float32)
    scores = rng.standard_normal(20).astype(np.float32)

    def overlap(a: Any, b: Any) -> float:
        shared = np.prod(np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0))
        return float(shared / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - shared))

    kept: list[int] = []
    for at in np.argsort(-scores):
        if all(overlap(boxes[at], boxes[other]) <= 0.3 for other in kept):
            kept.append(int(at))

    def suppressed(boxes: Any, scores: Any) -> Any:
        return torch.ops.torchvision.nms(boxes, scores, 0.3)

    program = exported(suppressed, torch.from_numpy(boxes), torch.from_numpy(scores))
    np.testing.assert_array_equal(whence.compile(program)(boxes, scores), kept)


def test_places_of_what_is_true_and_rows_that_values_count():
    def chosen(x: Any) -> Any:
        rows, columns = torch.where(x > 0)
        return rows, columns, torch.argwhere(x > 1)

    x = numbers(4, 5)
    results: Any = whence.compile(exported(chosen, x))(x.numpy())
    for result, expected in zip(results, chosen(x), strict=True):
        np.testing.assert_array_equal(result, expected.numpy())


def test_elements_at_distances():
    def overlapping(x: Any) -> Any:
        return x.as_strided((3, 4), (2, 1), 1), (x * 2).as_strided((2,), (3,))

    check(overlapping, numbers(5, 3))
    with pytest.raises(FrontendError, match="a contiguous tensor"):
        check(lambda x: x.t().as_strided((2,), (1,)), numbers(5, 3))


HIDDEN = {
    0: torch.ones(5, 5, dtype=torch.bool).triu(1),
    1: torch.arange(5)[None] >= torch.tensor([[5], [3]]),
    2: torch.zeros(2, 2, 5, 5).masked_fill(torch.ones(5, 5, dtype=torch.bool).triu(1), -1e9),
}


@pytest.mark.parametrize("kind", HIDDEN)
def test_layers_of_an_encoder_as_one_operator(kind: int):
    """Eager has no rule for all kinds of masks on the CPU: the layer's slow path says what is right."""
    layer = torch.nn.TransformerEncoderLayer(8, 2, 12, batch_first=True, norm_first=kind == 1).eval()
    own = layer.self_attn
    weights = [own.in_proj_weight, own.in_proj_bias, own.out_proj.weight, own.out_proj.bias]
    norms = [layer.norm1.weight, layer.norm1.bias, layer.norm2.weight, layer.norm2.bias]
    dense = [layer.linear1.weight, layer.linear1.bias, layer.linear2.weight, layer.linear2.bias]

    def fast(x: Any, mask: Any, *rest: Any) -> Any:
        first, second = rest[:4], rest[4:]
        return (
            torch._transformer_encoder_layer_fwd(x, 8, 2, *first, False, kind == 1, 1e-5, *second, mask, kind),
            *torch._native_multi_head_attention(x, x, x, 8, 2, *first, mask, True, True, kind),
        )

    x, mask = numbers(2, 5, 8), HIDDEN[kind]
    with torch.no_grad():
        names = {0: "src_mask", 1: "src_key_padding_mask", 2: "src_mask"}
        torch.backends.mha.set_fastpath_enabled(False)
        whole_mask = mask.flatten(0, 1) if kind == 2 else mask
        expected = [layer(x, **{names[kind]: whole_mask})]
        attended = {"key_padding_mask": mask} if kind == 1 else {"attn_mask": whole_mask}
        expected += own(x, x, x, **attended)
        torch.backends.mha.set_fastpath_enabled(True)
        check(fast, x, mask, *weights, *norms, *dense, expected=expected)


def test_dropout_of_attention_in_training_is_refused():
    class Attention(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5)

    program = torch.export.export(Attention().train(), (numbers(1, 2, 3, 4),))
    with pytest.raises(FrontendError, match="dropout in training mode"):
        from_exported_program(program)


@pytest.mark.parametrize("number", [1.5, 0.0])
def test_the_points_of_a_scalar_have_no_coordinates(number: float):
    class Points(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.nonzero(x)

    x = torch.tensor(number)
    points: Any = whence.compile(torch.export.export(Points(), (x,)))(x.numpy())
    assert points.shape == tuple(torch.nonzero(x).shape)
