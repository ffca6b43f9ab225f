"""The ops of StableHLO, and those of CHLO, which are what frameworks write of higher level beside them."""

from __future__ import annotations

from .formats import CHLO_FORMATS, STABLEHLO_FORMATS
from .region_syntax import ReduceSyntax, WhileSyntax
from .table import op_classes

STABLEHLO = op_classes(
    "stablehlo",
    """
    abs operand -> result
    add lhs rhs -> result
    after_all *inputs -> result
    all_gather *operands -> *results : all_gather_dim replica_groups channel_handle? use_global_device_ids?
    all_reduce *operands -> *results {computation} : replica_groups channel_handle? use_global_device_ids?
    all_to_all *operands -> *results : split_dimension concat_dimension split_count replica_groups channel_handle?
    and lhs rhs -> result
    atan2 lhs rhs -> result
    batch_norm_grad operand scale mean variance grad_output -> *results : epsilon feature_index
    batch_norm_inference operand scale offset mean variance -> result : epsilon feature_index
    batch_norm_training operand scale offset -> *results : epsilon feature_index
    bitcast_convert operand -> result
    broadcast operand -> result : broadcast_sizes
    broadcast_in_dim operand -> result : broadcast_dimensions
    case index -> *results {*branches}
    cbrt operand -> result : result_accuracy?
    ceil operand -> result
    cholesky a -> result : lower?
    clamp min operand max -> result
    collective_broadcast operand -> result : replica_groups channel_handle?
    collective_permute operand -> result : source_target_pairs channel_handle?
    compare lhs rhs -> result : comparison_direction compare_type?
    complex lhs rhs -> result
    composite *inputs -> *results : name composite_attributes? decomposition version?
    concatenate *inputs -> result : dimension
    constant -> result : value
    convert operand -> result
    convolution lhs rhs -> result : window_strides? padding? lhs_dilation? rhs_dilation? window_reversal? \
      dimension_numbers feature_group_count batch_group_count precision_config?
    cosine operand -> result : result_accuracy?
    count_leading_zeros operand -> result
    create_token -> result
    cross_replica_sum operand -> result : replica_groups
    custom_call *inputs -> *results : call_target_name has_side_effect? backend_config? api_version? \
      called_computations? operand_layouts? result_layouts? output_operand_aliases?
    divide lhs rhs -> result
    dot lhs rhs -> result : precision_config?
    dot_general lhs rhs -> result : dot_dimension_numbers precision_config? algorithm?
    dynamic_broadcast_in_dim operand output_dimensions -> result : broadcast_dimensions \
      known_expanding_dimensions? known_nonexpanding_dimensions?
    dynamic_conv lhs rhs padding -> result : window_strides? lhs_dilation? rhs_dilation? window_reversal? \
      dimension_numbers feature_group_count batch_group_count precision_config?
    dynamic_gather operand start_indices slice_sizes -> result : dimension_numbers indices_are_sorted?
    dynamic_iota output_shape -> result : iota_dimension
    dynamic_pad operand padding_value edge_padding_low edge_padding_high interior_padding -> result
    dynamic_reshape operand output_shape -> result
    dynamic_slice operand *start_indices -> result : slice_sizes
    dynamic_update_slice operand update *start_indices -> result
    einsum lhs rhs -> result : einsum_config
    exponential operand -> result : result_accuracy?
    exponential_minus_one operand -> result : result_accuracy?
    fft operand -> result : fft_type fft_length
    floor operand -> result
    gather operand start_indices -> result : dimension_numbers slice_sizes indices_are_sorted?
    get_dimension_size operand -> result : dimension
    get_tuple_element operand -> result : index
    if pred -> *results {true_branch false_branch}
    imag operand -> result
    infeed token -> *results : infeed_config? layout?
    iota -> result : iota_dimension
    is_finite x -> result
    log operand -> result : result_accuracy?
    log_plus_one operand -> result : result_accuracy?
    logistic operand -> result : result_accuracy?
    map *inputs -> result {computation} : dimensions
    maximum lhs rhs -> result
    minimum lhs rhs -> result
    multiply lhs rhs -> result
    negate operand -> result
    not operand -> result
    optimization_barrier *operand -> *results
    or lhs rhs -> result
    outfeed *inputs -> result : outfeed_config?
    pad operand padding_value -> result : edge_padding_low edge_padding_high interior_padding
    partition_id -> result
    popcnt operand -> result
    power lhs rhs -> result
    real operand -> result
    real_dynamic_slice operand start_indices limit_indices strides -> result
    recv token -> *results : channel_handle is_host_transfer? source_target_pairs?
    reduce *inputs *init_values -> *results {body} : dimensions
    reduce_precision operand -> result : exponent_bits mantissa_bits
    reduce_scatter operand -> result {computation} : scatter_dimension replica_groups channel_handle? \
      use_global_device_ids?
    reduce_window *inputs *init_values -> *results {body} : window_dimensions window_strides? base_dilations? \
      window_dilations? padding?
    remainder lhs rhs -> result
    replica_id -> result
    reshape operand -> result
    return *values
    reverse operand -> result : dimensions
    rng a b shape -> result : rng_distribution
    rng_bit_generator initial_state -> *results : rng_algorithm
    round_nearest_afz operand -> result
    round_nearest_even operand -> result
    rsqrt operand -> result : result_accuracy?
    scatter *inputs scatter_indices *updates -> *results {update_computation} : scatter_dimension_numbers \
      indices_are_sorted? unique_indices?
    select pred on_true on_false -> result
    select_and_scatter operand source init_value -> result {select scatter} : window_dimensions? \
      window_strides? padding?
    send *inputs -> result : channel_handle is_host_transfer? source_target_pairs?
    set_dimension_size operand size -> result : dimension
    shift_left lhs rhs -> result
    shift_right_arithmetic lhs rhs -> result
    shift_right_logical lhs rhs -> result
    sign operand -> result
    sine operand -> result : result_accuracy?
    slice operand -> result : start_indices limit_indices strides
    sort *inputs -> *results {comparator} : dimension? is_stable?
    sqrt operand -> result : result_accuracy?
    subtract lhs rhs -> result
    tan operand -> result : result_accuracy?
    tanh operand -> result : result_accuracy?
    torch_index_select operand index -> result : dim batch_dims
    transpose operand -> result : permutation
    triangular_solve a b -> result : left_side lower unit_diagonal transpose_a
    tuple *val -> result
    unary_einsum operand -> result : einsum_config
    uniform_dequantize operand -> result
    uniform_quantize operand -> result
    while *operand -> *results {cond body}
    xor lhs rhs -> result
    """,
    STABLEHLO_FORMATS,
    {"reduce": ReduceSyntax, "while": WhileSyntax},
)

_UNARY = "acos acosh asin asin_acos_kernel asinh atan atanh bessel_i1e conj cosh digamma erf erf_inv erfc is_inf \
      is_neg_inf is_pos_inf lgamma sinh square tan"
_BINARY = "next_after polygamma zeta"
_BROADCASTING = (
    "add and atan2 complex divide maximum minimum multiply next_after or polygamma power shift_left "
    "shift_right_arithmetic shift_right_logical subtract xor zeta remainder"
)
_ROWS = (
    *(f"{name} operand -> result" for name in _UNARY.split()),
    *(f"{name} lhs rhs -> result" for name in _BINARY.split()),
    *(f"broadcast_{name} lhs rhs -> result : broadcast_dimensions?" for name in _BROADCASTING.split()),
)

CHLO = op_classes(
    "chlo",
    "\n".join(
        (
            *_ROWS,
            "broadcast_compare lhs rhs -> result : broadcast_dimensions? comparison_direction compare_type?",
            "broadcast_select pred on_true on_false -> result",
            "constant -> result : value",
            "constant_like operand -> result : value",
            "ragged_dot lhs rhs group_sizes -> result : ragged_dot_dimension_numbers precision_config?",
            "scan *inputs -> *results {body} : dimension is_reverse? is_associative?",
            "top_k operand -> *results : k",
        )
    ),
    CHLO_FORMATS,
)
