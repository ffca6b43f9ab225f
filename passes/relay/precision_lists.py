"""The operators that compute in half precision: TVM's lists for ToMixedPrecision, and operators that TVM lacks."""

ALWAYS = frozenset(
    """
    nn.conv1d nn.conv2d nn.conv3d nn.conv1d_transpose nn.conv2d_transpose nn.conv3d_transpose nn.dense nn.batch_matmul
    nn.matmul nn.contrib_conv2d_NCHWc nn.contrib_depthwise_conv2d_NCHWc nn.contrib_dense_pack
    """.split()
)
"""Products, which halves make faster, and whose sums are kept in float32."""

FOLLOW = frozenset(
    """
    nn.pad nn.batch_flatten concatenate zeros ones full split squeeze transpose expand_dims reshape reshape_like
    contrib_reverse_reshape broadcast_to broadcast_to_like strided_slice slice_like take gather gather_nd argwhere topk
    where repeat tile stack reverse layout_transform scatter_elements scatter_nd nn.depth_to_space nn.space_to_depth
    nn.mirror_pad zeros_like ones_like full_like
    less greater less_equal greater_equal equal not_equal
    copy cast cast_like
    add subtract multiply divide negative abs nn.bias_add nn.batch_norm sqrt shape_of ndarray_size
    max min maximum minimum argmax argmin nn.relu nn.leaky_relu nn.prelu nn.dropout
    sigmoid tanh fast_tanh fast_exp fast_erf clip
    nn.max_pool1d nn.max_pool2d nn.max_pool3d nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d nn.global_max_pool2d
    nn.adaptive_max_pool1d nn.adaptive_max_pool2d nn.adaptive_max_pool3d image.resize2d
    """.split()
)
"""Operators that are as good on halves, where all that they read is halves already, or a constant or argument."""

NEVER = frozenset(
    """
    exp log power erf rsqrt nn.cross_entropy nn.cross_entropy_with_logits nn.softmax nn.log_softmax nn.fast_softmax
    nn.l2_normalize nn.layer_norm nn.instance_norm nn.group_norm nn.rms_norm nn.lrn arange
    nn.global_avg_pool2d nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d
    sum mean variance prod cumsum cumprod
    """.split()
)
"""Functions whose results are much larger than what they read, and long sums."""
