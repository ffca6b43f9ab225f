// Ops in generic form; forms.mlir has what jaxlib prints of them.
func.func @abs_0(%a: tensor<4xf32>) {
  %0 = "stablehlo.abs"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func @abs_1(%a: tensor<4xcomplex<f32>>) {
  %0 = "stablehlo.abs"(%a) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return
}
func.func @exponential_2(%a: tensor<4xf32>) {
  %0 = "stablehlo.exponential"(%a) <{result_accuracy = #stablehlo.result_accuracy<atol = 1.0e-5, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}> {mhlo.x = 1 : i32}: (tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func @sqrt_4(%a: tensor<4xf32>) {
  %0 = "stablehlo.sqrt"(%a) <{result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func @add_5(%a: tensor<4xf32>, %b: tensor<?xf32>) {
  %0 = "stablehlo.add"(%a, %b) : (tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
  return
}
func.func @add_6(%a: tensor<4xf32>, %b: tensor<4xf32>) {
  %0 = "stablehlo.add"(%a, %b) {mhlo.frontend_attributes = {a = "b"}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func @after_all_7(%t: !stablehlo.token) {
  %0 = "stablehlo.after_all"(%t, %t) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
  return
}
func.func @create_token_8(%t: tensor<4xf32>) {
  %0 = "stablehlo.create_token"() : () -> !stablehlo.token
  return
}
func.func @all_gather_9(%a: tensor<4xf32>) {
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0,1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>}> : (tensor<4xf32>) -> tensor<8xf32>
  return
}
func.func @batch_norm_inference_10(%a: tensor<4xf32>, %b: tensor<f32>) {
  %0 = "stablehlo.batch_norm_inference"(%a, %a, %a, %a, %a) <{epsilon = 1.0e-3 : f32, feature_index = 0 : i64}> : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func @bitcast_convert_11(%a: tensor<4xf32>) {
  %0 = "stablehlo.bitcast_convert"(%a) : (tensor<4xf32>) -> tensor<4xi32>
  return
}
func.func @broadcast_12(%a: tensor<4xf32>) {
  %0 = "stablehlo.broadcast"(%a) <{broadcast_sizes = array<i64: 2, 3>}> : (tensor<4xf32>) -> tensor<2x3x4xf32>
  return
}
func.func @broadcast_in_dim_13(%a: tensor<4xf32>) {
  %0 = "stablehlo.broadcast_in_dim"(%a) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>) -> tensor<3x4xf32>
  return
}
func.func @cholesky_14(%a: tensor<4x4xf32>) {
  %0 = "stablehlo.cholesky"(%a) <{lower = true}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}
func.func @cholesky_15(%a: tensor<4x4xf32>) {
  %0 = "stablehlo.cholesky"(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}
func.func @clamp_16(%a: tensor<4xf32>, %m: tensor<f32>) {
  %0 = "stablehlo.clamp"(%m, %a, %m) : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}
func.func @clamp_17(%a: tensor<4xf32>) {
  %0 = "stablehlo.clamp"(%a, %a, %a) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func @compare_18(%a: tensor<4xf32>) {
  %0 = "stablehlo.compare"(%a, %a) <{comparison_direction = #stablehlo<comparison_direction LT>}> {a = 1 : i32} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return
}
func.func @compare_19(%a: tensor<4xf32>) {
  %0 = "stablehlo.compare"(%a, %a) <{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type TOTALORDER>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return
}
func.func @complex_20(%a: tensor<4xf32>) {
  %0 = "stablehlo.complex"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
  return
}
func.func @real_21(%a: tensor<4xcomplex<f32>>) {
  %0 = "stablehlo.real"(%a) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return
}
func.func @imag_22(%a: tensor<4xcomplex<f32>>) {
  %0 = "stablehlo.imag"(%a) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return
}
func.func @concatenate_24(%a: tensor<4xf32>) {
  %0 = "stablehlo.concatenate"(%a, %a) <{dimension = 0 : i64}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}
func.func @constant_25(%a: tensor<4xf32>) {
  %0 = "stablehlo.constant"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
  return
}
func.func @constant_26(%a: tensor<4xf32>) {
  %0 = "stablehlo.constant"() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> {foo = 1 : i32} : () -> tensor<2xf32>
  return
}
func.func @convert_28(%a: tensor<4xf32>) {
  %0 = "stablehlo.convert"(%a) : (tensor<4xf32>) -> tensor<4xi32>
  return
}
func.func @convert_29(%a: tensor<4xf32>) {
  %0 = "stablehlo.convert"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func @convolution_30(%a: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x4xf32>) {
  %0 = "stablehlo.convolution"(%a, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, padding = dense<1> : tensor<2x2xi64>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x8x8x4xf32>
  return
}
func.func @convolution_31(%a: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x4xf32>) {
  %0 = "stablehlo.convolution"(%a, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_reversal = array<i1: true, false>, padding = dense<[[1,1],[1, 1]]> : tensor<2x2xi64>}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x8x8x4xf32>
  return
}
func.func @convolution_32(%a: tensor<1x3xf32>, %k: tensor<3x4xf32>) {
  %0 = "stablehlo.convolution"(%a, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<1x3xf32>, tensor<3x4xf32>) -> tensor<1x4xf32>
  return
}
func.func @dynamic_conv_33(%a: tensor<?x8x8x3xf32>, %k: tensor<3x3x3x4xf32>, %p: tensor<2x2xi64>) {
  %0 = "stablehlo.dynamic_conv"(%a, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 1, 1>}> : (tensor<?x8x8x3xf32>, tensor<3x3x3x4xf32>, tensor<2x2xi64>) -> tensor<?x8x8x4xf32>
  return
}
func.func @cosine_34(%a: tensor<4xf32>) {
  %0 = "stablehlo.cosine"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func @count_leading_zeros_35(%a: tensor<4xi32>) {
  %0 = "stablehlo.count_leading_zeros"(%a) : (tensor<4xi32>) -> tensor<4xi32>
  return
}
func.func @custom_call_37(%a: tensor<4xf32>) {
  %0 = "stablehlo.custom_call"(%a, %a) <{call_target_name = "my.target", has_side_effect = true, backend_config = "abc", api_version = 2 : i32, operand_layouts = [dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>], result_layouts = [dense<0> : tensor<1xindex>], called_computations = [@g]}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func @custom_call_38(%a: tensor<4xf32>) {
  %0:2 = "stablehlo.custom_call"(%a) <{call_target_name = "my target", backend_config = {a = 1 : i64}, api_version = 4 : i32}> {mhlo.frontend_attributes = {}} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}
func.func @custom_call_39(%a: tensor<4xf32>) {
  "stablehlo.custom_call"() <{call_target_name = "x"}> : () -> ()
  return
}
func.func @dot_40(%a: tensor<4xf32>, %b: tensor<4x3xf32>) {
  %0 = "stablehlo.dot"(%a, %b) <{precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]}> : (tensor<4xf32>, tensor<4x3xf32>) -> tensor<3xf32>
  return
}
func.func @dot_41(%a: tensor<4xf32>, %b: tensor<4x3xf32>) {
  %0 = "stablehlo.dot"(%a, %b) : (tensor<4xf32>, tensor<4x3xf32>) -> tensor<3xf32>
  return
}
func.func @dot_general_42(%a: tensor<2x4x5xf32>, %b: tensor<2x5x3xf32>) {
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x4x5xf32>, tensor<2x5x3xf32>) -> tensor<2x4x3xf32>
  return
}
func.func @dot_general_43(%a: tensor<2x4x5xf32>, %b: tensor<2x5x3xf32>) {
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>}> : (tensor<2x4x5xf32>, tensor<2x5x3xf32>) -> tensor<2x4x3xf32>
  return
}
func.func @dot_general_44(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<>}> {a = 1 : i32} : (tensor<2xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}
func.func @dynamic_broadcast_in_dim_45(%a: tensor<4xf32>, %s: tensor<2xi32>) {
  %0 = "stablehlo.dynamic_broadcast_in_dim"(%a, %s) <{broadcast_dimensions = array<i64: 1>, known_expanding_dimensions = array<i64: 0>}> : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x4xf32>
  return
}
func.func @dynamic_gather_46(%a: tensor<2x4xf32>, %i: tensor<2x1xi32>, %s: tensor<2xi32>) {
  %0 = "stablehlo.dynamic_gather"(%a, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<2x4xf32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<?x4xf32>
  return
}
func.func @dynamic_iota_47(%s: tensor<2xi32>) {
  %0 = "stablehlo.dynamic_iota"(%s) <{iota_dimension = 1 : i64}> : (tensor<2xi32>) -> tensor<?x?xf32>
  return
}
func.func @dynamic_pad_48(%a: tensor<4xf32>, %v: tensor<f32>, %s: tensor<1xi32>) {
  %0 = "stablehlo.dynamic_pad"(%a, %v, %s, %s, %s) : (tensor<4xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
  return
}
func.func @dynamic_reshape_49(%a: tensor<4xf32>, %s: tensor<2xi32>) {
  %0 = "stablehlo.dynamic_reshape"(%a, %s) : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  return
}
func.func @dynamic_slice_50(%a: tensor<4x5xf32>, %s: tensor<i32>) {
  %0 = "stablehlo.dynamic_slice"(%a, %s, %s) <{slice_sizes = array<i64: 1, 2>}> : (tensor<4x5xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
  return
}
func.func @dynamic_slice_51(%a: tensor<f32>) {
  %0 = "stablehlo.dynamic_slice"(%a) <{slice_sizes = array<i64>}> : (tensor<f32>) -> tensor<f32>
  return
}
func.func @dynamic_update_slice_52(%a: tensor<4x5xf32>, %u: tensor<1x2xf32>, %s: tensor<i32>) {
  %0 = "stablehlo.dynamic_update_slice"(%a, %u, %s, %s) : (tensor<4x5xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x5xf32>
  return
}
func.func @einsum_53(%a: tensor<4x5xf32>) {
  %0 = "stablehlo.einsum"(%a, %a) <{einsum_config = "ab,ab->a"}> : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4xf32>
  return
}
func.func @unary_einsum_54(%a: tensor<4x5xf32>) {
  %0 = "stablehlo.unary_einsum"(%a) <{einsum_config = "ab->a"}> : (tensor<4x5xf32>) -> tensor<4xf32>
  return
}
func.func @fft_55(%a: tensor<4xf32>) {
  %0 = "stablehlo.fft"(%a) <{fft_type = #stablehlo<fft_type RFFT>, fft_length = array<i64: 4>}> : (tensor<4xf32>) -> tensor<3xcomplex<f32>>
  return
}
func.func @get_dimension_size_56(%a: tensor<?xf32>) {
  %0 = "stablehlo.get_dimension_size"(%a) <{dimension = 0 : i64}> : (tensor<?xf32>) -> tensor<i32>
  return
}
func.func @set_dimension_size_57(%a: tensor<?xf32>, %n: tensor<i32>) {
  %0 = "stablehlo.set_dimension_size"(%a, %n) <{dimension = 0 : i64}> : (tensor<?xf32>, tensor<i32>) -> tensor<?xf32>
  return
}
func.func @get_tuple_element_58(%a: tuple<tensor<f32>, tensor<i32>>) {
  %0 = "stablehlo.get_tuple_element"(%a) <{index = 0 : i32}> : (tuple<tensor<f32>, tensor<i32>>) -> tensor<f32>
  return
}
func.func @tuple_59(%a: tensor<f32>, %b: tensor<i32>) {
  %0 = "stablehlo.tuple"(%a, %b) : (tensor<f32>, tensor<i32>) -> tuple<tensor<f32>, tensor<i32>>
  return
}
func.func @if_60(%p: tensor<i1>, %b: tensor<i32>) {
  %0 = "stablehlo.if"(%p) ({ "stablehlo.return"(%b) : (tensor<i32>) -> () }, { "stablehlo.return"(%b) : (tensor<i32>) -> () }) : (tensor<i1>) -> tensor<i32>
  return
}
func.func @infeed_61(%t: !stablehlo.token) {
  %0:2 = "stablehlo.infeed"(%t) <{infeed_config = ""}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}
func.func @iota_62(%t: tensor<f32>) {
  %0 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<3x4xi32>
  return
}
func.func @is_finite_63(%a: tensor<4xf32>) {
  %0 = "stablehlo.is_finite"(%a) : (tensor<4xf32>) -> tensor<4xi1>
  return
}
func.func @map_64(%a: tensor<4xf32>) {
  %0 = "stablehlo.map"(%a) <{dimensions = array<i64: 0>}> ({ ^bb0(%x: tensor<f32>): "stablehlo.return"(%x) : (tensor<f32>) -> () }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func @optimization_barrier_65(%a: tensor<4xf32>, %b: tensor<2xi32>) {
  %0:2 = "stablehlo.optimization_barrier"(%a, %b) : (tensor<4xf32>, tensor<2xi32>) -> (tensor<4xf32>, tensor<2xi32>)
  return
}
func.func @optimization_barrier_66(%a: tensor<4xf32>, %b: tensor<2xi32>) {
  "stablehlo.optimization_barrier"() : () -> ()
  return
}
func.func @outfeed_67(%a: tensor<4xf32>, %t: !stablehlo.token) {
  %0 = "stablehlo.outfeed"(%a, %t) <{outfeed_config = ""}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return
}
func.func @pad_68(%a: tensor<4xf32>, %v: tensor<f32>) {
  %0 = "stablehlo.pad"(%a, %v) <{edge_padding_low = array<i64: 1>, edge_padding_high = array<i64: -1>, interior_padding = array<i64: 0>}> : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}
func.func @partition_id_69(%a: tensor<4xf32>) {
  %0 = "stablehlo.partition_id"() : () -> tensor<ui32>
  return
}
func.func @replica_id_70(%a: tensor<4xf32>) {
  %0 = "stablehlo.replica_id"() : () -> tensor<ui32>
  return
}
func.func @real_dynamic_slice_71(%a: tensor<4xf32>, %s: tensor<1xi32>) {
  %0 = "stablehlo.real_dynamic_slice"(%a, %s, %s, %s) : (tensor<4xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
  return
}
func.func @recv_72(%t: !stablehlo.token) {
  %0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}
func.func @reduce_73(%a: tensor<4x5xf32>, %v: tensor<f32>) {
  %0 = "stablehlo.reduce"(%a, %v) <{dimensions = array<i64: 0>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %s = "stablehlo.add"(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32> "stablehlo.return"(%s) : (tensor<f32>) -> () }) {foo = 1 : i32} : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
  return
}
func.func @reduce_74(%a: tensor<4x5xf32>, %v: tensor<f32>) {
  %0 = "stablehlo.reduce"(%a, %v) <{dimensions = array<i64: 0>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %s = "stablehlo.subtract"(%x, %y) : (tensor<f32>, tensor<f32>) -> tensor<f32> "stablehlo.return"(%s) : (tensor<f32>) -> () }) {foo = 1 : i32} : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
  return
}
func.func @reduce_75(%a: tensor<4x5xf32>, %v: tensor<f32>) {
  %0 = "stablehlo.reduce"(%a, %v) <{dimensions = array<i64: 0>}> ({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %s = "stablehlo.add"(%y, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32> "stablehlo.return"(%s) : (tensor<f32>) -> () }) {foo = 1 : i32} : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
  return
}
func.func @reduce_precision_76(%a: tensor<4xf32>) {
  %0 = "stablehlo.reduce_precision"(%a) <{exponent_bits = 8 : i32, mantissa_bits = 7 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func @reshape_77(%a: tensor<4xf32>) {
  %0 = "stablehlo.reshape"(%a) : (tensor<4xf32>) -> tensor<2x2xf32>
  return
}
func.func @reverse_78(%a: tensor<4xf32>) {
  %0 = "stablehlo.reverse"(%a) <{dimensions = array<i64: 0>}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func @rng_79(%a: tensor<f32>, %s: tensor<1xi64>) {
  %0 = "stablehlo.rng"(%a, %a, %s) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
  return
}
func.func @rng_bit_generator_80(%a: tensor<2xui64>) {
  %0:2 = "stablehlo.rng_bit_generator"(%a) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  return
}
func.func @select_81(%p: tensor<i1>, %a: tensor<4xf32>) {
  %0 = "stablehlo.select"(%p, %a, %a) : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func @select_82(%p: tensor<4xi1>, %a: tensor<4xf32>, %b: tensor<?xf32>) {
  %0 = "stablehlo.select"(%p, %a, %b) : (tensor<4xi1>, tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
  return
}
func.func @send_83(%t: !stablehlo.token, %a: tensor<4xf32>) {
  %0 = "stablehlo.send"(%a, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  return
}
func.func @slice_84(%a: tensor<4x5xf32>) {
  %0 = "stablehlo.slice"(%a) <{start_indices = array<i64: 1, 0>, limit_indices = array<i64: 3, 5>, strides = array<i64: 1, 2>}> : (tensor<4x5xf32>) -> tensor<2x3xf32>
  return
}
func.func @slice_85(%a: tensor<f32>) {
  %0 = "stablehlo.slice"(%a) <{start_indices = array<i64>, limit_indices = array<i64>, strides = array<i64>}> : (tensor<f32>) -> tensor<f32>
  return
}
func.func @tan_86(%a: tensor<4x5xf32>) {
  %0 = "stablehlo.tan"(%a) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  return
}
func.func @torch_index_select_87(%a: tensor<4x5xf32>, %i: tensor<2xi32>) {
  %0 = "stablehlo.torch_index_select"(%a, %i) <{dim = 0 : i64, batch_dims = 0 : i64}> : (tensor<4x5xf32>, tensor<2xi32>) -> tensor<2x5xf32>
  return
}
func.func @transpose_88(%a: tensor<4x5xf32>) {
  %0 = "stablehlo.transpose"(%a) <{permutation = array<i64: 1, 0>}> : (tensor<4x5xf32>) -> tensor<5x4xf32>
  return
}
func.func @triangular_solve_89(%a: tensor<4x4xf32>) {
  %0 = "stablehlo.triangular_solve"(%a, %a) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}
func.func @while_90(%a: tensor<f32>, %b: tensor<i32>) {
  %0:2 = "stablehlo.while"(%a, %b) ({ ^bb0(%x: tensor<f32>, %y: tensor<i32>): %c = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1> "stablehlo.return"(%c) : (tensor<i1>) -> () }, { ^bb0(%x: tensor<f32>, %y: tensor<i32>): "stablehlo.return"(%x, %y) : (tensor<f32>, tensor<i32>) -> () }) {foo = 1 : i32} : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
  return
}
func.func @while_91(%a: tensor<f32>, %b: tensor<i32>) {
  "stablehlo.while"() ({  %c = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1> "stablehlo.return"(%c) : (tensor<i1>) -> () }, {  "stablehlo.return"() : () -> () }) {foo = 1 : i32} : () -> ()
  return
}
func.func @acos_94(%a: tensor<4xf32>) {
  %0 = "chlo.acos"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func @is_inf_95(%a: tensor<4xf32>) {
  %0 = "chlo.is_inf"(%a) : (tensor<4xf32>) -> tensor<4xi1>
  return
}
func.func @zeta_96(%a: tensor<4xf32>) {
  %0 = "chlo.zeta"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func @next_after_97(%a: tensor<4xf32>) {
  %0 = "chlo.next_after"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func @broadcast_add_98(%a: tensor<4xf32>, %b: tensor<3x4xf32>) {
  %0 = "chlo.broadcast_add"(%a, %b) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}
func.func @broadcast_compare_99(%a: tensor<4xf32>, %b: tensor<3x4xf32>) {
  %0 = "chlo.broadcast_compare"(%a, %b) <{broadcast_dimensions = array<i64: 1>, comparison_direction = #chlo<comparison_direction LT>, compare_type = #chlo<comparison_type FLOAT>}> : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
  return
}
func.func @broadcast_select_100(%a: tensor<4xf32>, %b: tensor<4xi1>) {
  %0 = "chlo.broadcast_select"(%b, %a, %a) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func @constant_101(%a: tensor<4xf32>, %b: tensor<4xi1>) {
  %0 = "chlo.constant"() <{value = dense<1.0> : tensor<4xf32>}> : () -> tensor<4xf32>
  return
}
func.func @constant_like_102(%a: tensor<4xf32>, %b: tensor<4xi1>) {
  %0 = "chlo.constant_like"(%a) <{value = 1.0 : f32}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func @top_k_103(%a: tensor<4xf32>, %b: tensor<4xi1>) {
  %0:2 = "chlo.top_k"(%a) <{k = 2 : i64}> : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>)
  return
}
func.func @ragged_dot_104(%a: tensor<11x5xf32>, %b: tensor<3x5x7xf32>, %g: tensor<3xi32>) {
  %0 = "chlo.ragged_dot"(%a, %b, %g) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>, precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>]}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi32>) -> tensor<11x7xf32>
  return
}
func.func @erf_inv_106(%a: tensor<4xf32>) {
  %0 = "chlo.erf_inv"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func @square_107(%a: tensor<4xf32>) {
  %0 = "chlo.square"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func @polygamma_108(%a: tensor<4xf32>) {
  %0 = "chlo.polygamma"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }
func.func @composite(%a: tensor<4xf32>) { %0 = "stablehlo.composite"(%a) <{name = "my.op", decomposition = @f, composite_attributes = {n = 1 : i32}, version = 2 : i32}> : (tensor<4xf32>) -> tensor<4xf32> return }
