"""The assembly formats of ops, as StableHLO and CHLO declare them; an op without one is printed in generic form."""

from __future__ import annotations

_SAME = "custom<SameOperandsAndResultType>(type(operands), type(results))"
_ALL = "functional-type(operands, results)"

_STABLEHLO = {
    f"operands attr-dict `:` {_SAME}": """
        abs add after_all and atan2 cbrt ceil clamp convert cosine count_leading_zeros divide exponential
        exponential_minus_one floor log log_plus_one logistic maximum minimum multiply negate not or popcnt power
        remainder round_nearest_afz round_nearest_even rsqrt shift_left shift_right_arithmetic shift_right_logical sign
        sine sqrt subtract tan tanh xor
    """,
    f"operands attr-dict `:` {_ALL}": """
        bitcast_convert dynamic_pad dynamic_reshape dynamic_update_slice imag is_finite real real_dynamic_slice reshape
        uniform_dequantize uniform_quantize
    """,
    "attr-dict `:` type(results)": "create_token partition_id replica_id",
    f"$operand `,` `sizes` `=` custom<I64Array>($broadcast_sizes) attr-dict `:` {_ALL}": "broadcast",
    f"$operand `,` `dims` `=` custom<I64Array>($broadcast_dimensions) attr-dict `:` {_ALL}": "broadcast_in_dim",
    f"$operand `,` $output_dimensions `,` `dims` `=` custom<I64Array>($broadcast_dimensions) attr-dict `:` {_ALL}": (
        "dynamic_broadcast_in_dim"
    ),
    f"$a (`,` `lower` `=` $lower^)? attr-dict `:` {_SAME}": "cholesky",
    "custom<Enum>($comparison_direction) `,` $lhs `,` $rhs (`,` custom<Enum>($compare_type)^)? attr-dict "
    f"`:` {_ALL}": "compare",
    "operands attr-dict `:` custom<ComplexOpType>(type(operands), type(results))": "complex",
    f"$name operands attr-dict `:` {_ALL}": "composite",
    "custom<VariadicOperandWithAttribute>($inputs) `dim` `=` custom<I64>($dimension) attr-dict "
    f"`:` {_ALL}": "concatenate",
    "attr-dict custom<ConstantValue>($value, type(results))": "constant",
    "`(` operands `)` `dim_numbers` `=` custom<ConvolutionDimensions>($dimension_numbers) `,` `window` `=` `{` "
    "custom<WindowAttributes>($window_strides, $padding, $lhs_dilation, $rhs_dilation, $window_reversal) `}` attr-dict "
    f"`:` {_ALL}": "convolution",
    f"custom<CustomCallTarget>($call_target_name) `(` operands `)` attr-dict `:` {_ALL}": "custom_call",
    f"$lhs `,` $rhs (`,` `precision` `=` custom<PrecisionConfig>($precision_config)^)? attr-dict `:` {_ALL}": "dot",
    "$lhs `,` $rhs `,` custom<DotDimensionNumbers>($dot_dimension_numbers) "
    f"custom<PrecisionConfigAndAlgorithm>($precision_config, $algorithm) attr-dict `:` {_ALL}": "dot_general",
    f"$output_shape `,` `dim` `=` custom<I64>($iota_dimension) attr-dict `:` {_ALL}": "dynamic_iota",
    "$operand `,` custom<VariadicOperandWithAttribute>($start_indices) `sizes` `=` custom<I64Array>($slice_sizes) "
    f"attr-dict `:` {_ALL}": "dynamic_slice",
    f"$lhs `,` $rhs `,` `config` `=` $einsum_config attr-dict `:` {_ALL}": "einsum",
    "$operand `,` `type` `=` custom<Enum>($fft_type) `,` `length` `=` custom<I64Array>($fft_length) attr-dict "
    f"`:` {_ALL}": "fft",
    f"$operand `,` `dim` `=` custom<I64>($dimension) attr-dict `:` {_ALL}": "get_dimension_size",
    f"$operand `[` custom<I32>($index) `]` attr-dict `:` {_ALL}": "get_tuple_element",
    "`dim` `=` custom<I64>($iota_dimension) attr-dict `:` type(results)": "iota",
    "attr-dict ($operand^ `:` custom<PairwiseOpType>(type(operands), type(results))) : (`(` `)`)?": (
        "optimization_barrier"
    ),
    "$operand `,` $padding_value `,` `low` `=` custom<I64Array>($edge_padding_low) `,` "
    "`high` `=` custom<I64Array>($edge_padding_high) `,` `interior` `=` custom<I64Array>($interior_padding) attr-dict "
    f"`:` {_ALL}": "pad",
    f"$operand `,` `format` `=` custom<ExponentMantissa>($exponent_bits, $mantissa_bits) attr-dict `:` {_SAME}": (
        "reduce_precision"
    ),
    "operands attr-dict (`:` type(operands)^)?": "return",
    f"$operand `,` `dims` `=` custom<I64Array>($dimensions) attr-dict `:` {_SAME}": "reverse",
    f"$a `,` $b `,` $shape `,` `distribution` `=` custom<Enum>($rng_distribution) attr-dict `:` {_ALL}": "rng",
    f"$initial_state `,` `algorithm` `=` custom<Enum>($rng_algorithm) attr-dict `:` {_ALL}": "rng_bit_generator",
    "operands attr-dict `:` custom<SelectOpType>(type(operands), type(results))": "select",
    f"$operand `,` $size `,` `dim` `=` custom<I64>($dimension) attr-dict `:` {_ALL}": "set_dimension_size",
    f"$operand custom<SliceRanges>($start_indices, $limit_indices, $strides) attr-dict `:` {_ALL}": "slice",
    f"$operand `,` `dims` `=` custom<I64Array>($permutation) attr-dict `:` {_ALL}": "transpose",
    "operands attr-dict `:` custom<TupleOpType>(type(operands), type(results))": "tuple",
    f"$operand `,` `config` `=` $einsum_config attr-dict `:` {_ALL}": "unary_einsum",
}
_CHLO = {
    "operands attr-dict `:` type(operands) `->` type(results)": """
        acos acosh asin asinh atan atanh bessel_i1e conj cosh digamma erf erf_inv erfc is_inf is_neg_inf is_pos_inf
        lgamma next_after polygamma sinh square tan zeta
    """,
    f"operands attr-dict `:` {_ALL}": """
        broadcast_add broadcast_and broadcast_atan2 broadcast_compare broadcast_complex broadcast_divide
        broadcast_maximum broadcast_minimum broadcast_multiply broadcast_next_after broadcast_or broadcast_polygamma
        broadcast_power broadcast_remainder broadcast_select broadcast_shift_left broadcast_shift_right_arithmetic
        broadcast_shift_right_logical broadcast_subtract broadcast_xor broadcast_zeta
    """,
    "attr-dict custom<ConstantValue>($value, type(results))": "constant",
    "`(` $operand `,` `k` `=` custom<I64>($k) `)` attr-dict `:` type($operand) `->` `(` type(results) `)`": "top_k",
}


def _by_name(formats: dict[str, str]) -> dict[str, str]:
    return {name: text for text, names in formats.items() for name in names.split()}


STABLEHLO_FORMATS, CHLO_FORMATS = _by_name(_STABLEHLO), _by_name(_CHLO)
"""Name of an op, without its dialect -> its assembly format."""
