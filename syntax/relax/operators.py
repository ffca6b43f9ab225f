"""The table of operators: Relax's names and parameters, and the operators of relay that they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from .compositions import COMPOSED
from .forms import READ, WRITTEN
from .layouts import layout_transform
from .positions import POSITIONED
from .rows import Row, parameters

_CONV = 'strides={one} padding={pad} dilation={one} groups=1 data_layout="{d}" kernel_layout="{k}" out_layout=None'
_TRANSPOSED = (
    'strides={one} padding={pad} output_padding={pad} dilation={one} groups=1 data_layout="{d}" kernel_layout="{k}" '
    "out_layout=None"
)
_POOL = (
    'pool_size={one} strides={one} padding={pad} dilation={one} ceil_mode=False {count} layout="{d}" out_layout=None'
)
_RESIZE = (
    'data size[shape]=! roi=None layout="{d}" method="linear" coordinate_transformation_mode="half_pixel" '
    'rounding_method="round" cubic_alpha=-0.75 cubic_exclude=0 extrapolation_value=0.0 out_dtype=None'
)


def _windows() -> list[str]:
    rows: list[str] = []
    for rank in (1, 2, 3):
        axes = "DHW"[3 - rank :]
        words = {"one": str([1] * rank).replace(" ", ""), "pad": str([0] * rank).replace(" ", ""), "d": "NC" + axes}
        conv = _CONV.format(**words, k="OI" + axes)
        transposed = _TRANSPOSED.format(**words, k="IO" + axes)
        rows.append(f"nn.conv{rank}d nn.conv{rank}d data weight {conv} out_dtype=None")
        rows.append(f"nn.conv{rank}d_transpose nn.conv{rank}d_transpose data weight {transposed} out_dtype=None")
        average, greatest = f"count_include_pad={rank != 2}", ""
        rows.append(f"nn.avg_pool{rank}d nn.avg_pool{rank}d data {_POOL.format(**words, count=average)}")
        rows.append(f"nn.max_pool{rank}d nn.max_pool{rank}d data {_POOL.format(**words, count=greatest)}")
        adaptive = f"nn.adaptive_avg_pool{rank}d"
        rows.append(f'{adaptive} {adaptive} data output_size=None layout="{words["d"]}" out_layout=None')
    rows += [f"image.resize{rank}d image.resize{rank}d {_RESIZE.format(d='NC' + 'DHW'[3 - rank :])}" for rank in (2, 3)]
    return rows


_UNARY = (
    "abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh erf exp floor isfinite isinf isnan log logical_not "
    "negative round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
)
_BINARY = (
    "add subtract multiply divide floor_divide power mod floor_mod maximum minimum atan2 equal not_equal greater "
    "greater_equal less less_equal logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift "
    "right_shift"
)
_ALIGN = 'layout="NCHW" mode="avg"'
_NORM = "epsilon=1e-05 center=True scale=True"
_ROWS = f"""
nn.relu             nn.relu             data
nn.softmax          nn.softmax          data axis=-1
nn.log_softmax      nn.log_softmax      data axis=-1
nn.leakyrelu        nn.leaky_relu       data alpha=0.01
nn.prelu            nn.prelu            data alpha axis=1
nn.dropout          nn.dropout          data rate=0.5
nn.batch_flatten    nn.batch_flatten    data
nn.cross_entropy_with_logits nn.cross_entropy_with_logits predictions labels
nn.layer_norm       nn.layer_norm       data gamma beta axes=! {_NORM}
nn.rms_norm         nn.rms_norm         data weight axes=-1 epsilon=1e-05
image.grid_sample image.grid_sample data grid method="bilinear" layout="NCHW" padding_mode="zeros" align_corners=False
image.affine_grid   image.affine_grid   data size:target_shape[shape]=! align_corners=True
vision.roi_align vision.roi_align data rois pooled_size=! spatial_scale=! sample_ratio=-1 aligned=False {_ALIGN}
vision.roi_pool     vision.roi_pool     data rois pooled_size=! spatial_scale=! layout="NCHW"
argmax              cast                x axis=None keepdims=False
argmin              cast                x axis=None keepdims=False
astype              cast                x dtype=!
wrap_param          cast                data dtype="float32"
where               where               condition x1 x2
concat              concatenate         *tensors axis=0
stack               stack               *tensors axis=0
meshgrid            meshgrid            *tensors indexing="ij"
einsum              einsum              *operands subscripts:equation=!
permute_dims        transpose           x axes=None
reshape             reshape             x shape[shape]=!
broadcast_to        broadcast_to        x shape[shape]=!
collapse_sum_to     collapse_sum_to     data shape[shape]=!
collapse_sum_like   collapse_sum_like   data collapse_target
squeeze             squeeze             x axis=None
flip                reverse             data axis=!
tile                tile                data repeats:reps=!
split               split               x indices_or_sections=! axis=0
strided_slice       strided_slice       x axes[tuple]=! begin[tuple]=! end[tuple]=! strides[tuple]=None
take                take                x indices axis=None mode="fast"
gather_elements     gather              data indices axis=0
scatter_elements    scatter_elements    data indices updates axis=0 reduction="update"
reverse_sequence    reverse_sequence    data seq_lengths seq_axis=1 batch_axis=0
cumsum              cumsum              data axis=None dtype=None exclusive=False
cumprod             cumprod             data axis=None dtype=None exclusive=False
sort                sort                x axis=-1 descending:is_ascend[not]=False
argsort             argsort             data axis=-1 descending:is_ascend[not]=False dtype="int32"
topk                topk                data k=1 axis=-1 ret_type="both" largest:is_ascend[not]=True dtype="int32"
zeros               zeros               shape[shape]=! dtype=!
ones                ones                shape[shape]=! dtype=!
quantize            qnn.quantize        data scale zero_point axis=-1 out_dtype="int8"
dequantize          qnn.dequantize      data scale zero_point axis=-1 out_dtype="float32"
full                full                shape[shape]=! fill_value dtype=None
zeros_like          zeros_like          x dtype=None
ones_like           ones_like           x dtype=None
full_like           full_like           x fill_value dtype=None
clip                clip                x min=! max=!
sum                 sum                 x axis=None keepdims=False
mean                mean                x axis=None keepdims=False
max                 max                 x axis=None keepdims=False
min                 min                 x axis=None keepdims=False
prod                prod                x axis=None keepdims=False
variance            variance            x axis=None keepdims=False
repeat              repeat              data repeats=! axis=None
expand_dims         expand_dims         x axis=!
matmul              nn.matmul           x1 x2 out_dtype=None
linear              nn.dense            data weight bias? out_dtype=None
nn.pad              nn.pad              data pad_width=! pad_mode="constant" pad_value=0.0
nn.batch_norm       nn.batch_norm       data gamma beta moving_mean moving_var axis=! {_NORM} momentum=0.1 training=True
nn.group_norm       nn.group_norm       data gamma beta num_groups=! channel_axis=! axes=! {_NORM}
nn.instance_norm    nn.instance_norm    data gamma beta channel_axis=! axes=! {_NORM}
nn.nll_loss         nn.nll_loss         predictions targets weights? reduction="mean" ignore_index=-100
index_tensor        adv_index           data *indices
dynamic_strided_slice dyn.strided_slice x begin end strides
gather_nd           gather_nd           data indices batch_dims=0
scatter_nd          scatter_nd          data indices updates reduction="update"
one_hot             one_hot             indices on_value=! off_value=! depth=! axis=-1
arange              arange              start=! end=None step=1 dtype=None
tril                trilu               x k=0
triu                trilu               x k=0
"""
"""A parameter with relay's name or form is what `rows.py` says; rows in `READ` and `WRITTEN` convert themselves."""


def _row(text: str) -> Row:
    name, relay, *rest = text.split()
    own = name in READ or name in WRITTEN
    return Row(name, relay, parameters(" ".join(rest), "" if own else relay), READ.get(name), WRITTEN.get(name))


_LAYOUT = "layout_transform x index_map=! pad_value=None axis_separators=None input_axis_separators=None"


@cache
def rows() -> Mapping[str, Row]:
    """Return the rows by Relax's names."""
    texts = [line for line in _ROWS.splitlines() if line]
    texts += [f"{name} {name} x" for name in _UNARY.split()]
    texts += [f"{name} {name} x1 x2" for name in _BINARY.split()]
    result = {row.name: row for row in map(_row, (*texts, *_windows()))}
    for signature, read in {**COMPOSED, **POSITIONED, _LAYOUT: layout_transform}.items():
        name, _, rest = signature.partition(" ")
        result[name] = Row(name, "", parameters(rest, ""), read)
    return result


@cache
def by_relay() -> Mapping[str, Sequence[Row]]:
    """Return the rows for each operator of relay, by its name."""
    found: dict[str, list[Row]] = {}
    for row in rows().values():
        if row.relay:
            found.setdefault(row.relay, []).append(row)
    found["nn.batch_matmul"] = found["nn.matmul"]
    return found
