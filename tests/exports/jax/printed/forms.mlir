module {
  func.func @abs_0(%arg0: tensor<4xf32>) {
    %0 = stablehlo.abs %arg0 : tensor<4xf32>
    return
  }
  func.func @abs_1(%arg0: tensor<4xcomplex<f32>>) {
    %0 = stablehlo.abs %arg0 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    return
  }
  func.func @exponential_2(%arg0: tensor<4xf32>) {
    %0 = stablehlo.exponential %arg0 {mhlo.x = 1 : i32, result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-05, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
    return
  }
  func.func @sqrt_4(%arg0: tensor<4xf32>) {
    %0 = stablehlo.sqrt %arg0 {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4xf32>
    return
  }
  func.func @add_5(%arg0: tensor<4xf32>, %arg1: tensor<?xf32>) {
    %0 = stablehlo.add %arg0, %arg1 : (tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
    return
  }
  func.func @add_6(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) {
    %0 = stablehlo.add %arg0, %arg1 {mhlo.frontend_attributes = {a = "b"}} : tensor<4xf32>
    return
  }
  func.func @after_all_7(%arg0: !stablehlo.token) {
    %0 = stablehlo.after_all %arg0, %arg0 : !stablehlo.token
    return
  }
  func.func @create_token_8(%arg0: tensor<4xf32>) {
    %0 = stablehlo.create_token : !stablehlo.token
    return
  }
  func.func @all_gather_9(%arg0: tensor<4xf32>) {
    %0 = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
    return
  }
  func.func @batch_norm_inference_10(%arg0: tensor<4xf32>, %arg1: tensor<f32>) {
    %0 = "stablehlo.batch_norm_inference"(%arg0, %arg0, %arg0, %arg0, %arg0) <{epsilon = 1.000000e-03 : f32, feature_index = 0 : i64}> : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @bitcast_convert_11(%arg0: tensor<4xf32>) {
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<4xf32>) -> tensor<4xi32>
    return
  }
  func.func @broadcast_12(%arg0: tensor<4xf32>) {
    %0 = stablehlo.broadcast %arg0, sizes = [2, 3] : (tensor<4xf32>) -> tensor<2x3x4xf32>
    return
  }
  func.func @broadcast_in_dim_13(%arg0: tensor<4xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
    return
  }
  func.func @cholesky_14(%arg0: tensor<4x4xf32>) {
    %0 = stablehlo.cholesky %arg0, lower = true : tensor<4x4xf32>
    return
  }
  func.func @cholesky_15(%arg0: tensor<4x4xf32>) {
    %0 = stablehlo.cholesky %arg0 : tensor<4x4xf32>
    return
  }
  func.func @clamp_16(%arg0: tensor<4xf32>, %arg1: tensor<f32>) {
    %0 = stablehlo.clamp %arg1, %arg0, %arg1 : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    return
  }
  func.func @clamp_17(%arg0: tensor<4xf32>) {
    %0 = stablehlo.clamp %arg0, %arg0, %arg0 : tensor<4xf32>
    return
  }
  func.func @compare_18(%arg0: tensor<4xf32>) {
    %0 = stablehlo.compare LT, %arg0, %arg0 {a = 1 : i32} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    return
  }
  func.func @compare_19(%arg0: tensor<4xf32>) {
    %0 = stablehlo.compare LT, %arg0, %arg0, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    return
  }
  func.func @complex_20(%arg0: tensor<4xf32>) {
    %0 = stablehlo.complex %arg0, %arg0 : tensor<4xcomplex<f32>>
    return
  }
  func.func @real_21(%arg0: tensor<4xcomplex<f32>>) {
    %0 = stablehlo.real %arg0 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    return
  }
  func.func @imag_22(%arg0: tensor<4xcomplex<f32>>) {
    %0 = stablehlo.imag %arg0 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    return
  }
  func.func @concatenate_24(%arg0: tensor<4xf32>) {
    %0 = stablehlo.concatenate %arg0, %arg0, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
    return
  }
  func.func @constant_25(%arg0: tensor<4xf32>) {
    %cst = stablehlo.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
    return
  }
  func.func @constant_26(%arg0: tensor<4xf32>) {
    %cst = stablehlo.constant {foo = 1 : i32} dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
    return
  }
  func.func @convert_28(%arg0: tensor<4xf32>) {
    %0 = stablehlo.convert %arg0 : (tensor<4xf32>) -> tensor<4xi32>
    return
  }
  func.func @convert_29(%arg0: tensor<4xf32>) {
    %0 = stablehlo.convert %arg0 : tensor<4xf32>
    return
  }
  func.func @convolution_30(%arg0: tensor<1x8x8x3xf32>, %arg1: tensor<3x3x3x4xf32>) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]} : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x8x8x4xf32>
    return
  }
  func.func @convolution_31(%arg0: tensor<1x8x8x3xf32>, %arg1: tensor<3x3x3x4xf32>) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x8x8x4xf32>
    return
  }
  func.func @convolution_32(%arg0: tensor<1x3xf32>, %arg1: tensor<3x4xf32>) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x3xf32>, tensor<3x4xf32>) -> tensor<1x4xf32>
    return
  }
  func.func @dynamic_conv_33(%arg0: tensor<?x8x8x3xf32>, %arg1: tensor<3x3x3x4xf32>, %arg2: tensor<2x2xi64>) {
    %0 = "stablehlo.dynamic_conv"(%arg0, %arg1, %arg2) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 1, 1>}> : (tensor<?x8x8x3xf32>, tensor<3x3x3x4xf32>, tensor<2x2xi64>) -> tensor<?x8x8x4xf32>
    return
  }
  func.func @cosine_34(%arg0: tensor<4xf32>) {
    %0 = stablehlo.cosine %arg0 : tensor<4xf32>
    return
  }
  func.func @count_leading_zeros_35(%arg0: tensor<4xi32>) {
    %0 = stablehlo.count_leading_zeros %arg0 : tensor<4xi32>
    return
  }
  func.func @custom_call_37(%arg0: tensor<4xf32>) {
    %0 = stablehlo.custom_call @my.target(%arg0, %arg0) {api_version = 2 : i32, backend_config = "abc", called_computations = [@g], has_side_effect = true, operand_layouts = [dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>], result_layouts = [dense<0> : tensor<1xindex>]} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @custom_call_38(%arg0: tensor<4xf32>) {
    %0:2 = stablehlo.custom_call @"my target"(%arg0) {api_version = 4 : i32, backend_config = {a = 1 : i64}, mhlo.frontend_attributes = {}} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    return
  }
  func.func @custom_call_39(%arg0: tensor<4xf32>) {
    stablehlo.custom_call @x() : () -> ()
    return
  }
  func.func @dot_40(%arg0: tensor<4xf32>, %arg1: tensor<4x3xf32>) {
    %0 = stablehlo.dot %arg0, %arg1, precision = [HIGH, DEFAULT] : (tensor<4xf32>, tensor<4x3xf32>) -> tensor<3xf32>
    return
  }
  func.func @dot_41(%arg0: tensor<4xf32>, %arg1: tensor<4x3xf32>) {
    %0 = stablehlo.dot %arg0, %arg1 : (tensor<4xf32>, tensor<4x3xf32>) -> tensor<3xf32>
    return
  }
  func.func @dot_general_42(%arg0: tensor<2x4x5xf32>, %arg1: tensor<2x5x3xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x4x5xf32>, tensor<2x5x3xf32>) -> tensor<2x4x3xf32>
    return
  }
  func.func @dot_general_43(%arg0: tensor<2x4x5xf32>, %arg1: tensor<2x5x3xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x4x5xf32>, tensor<2x5x3xf32>) -> tensor<2x4x3xf32>
    return
  }
  func.func @dot_general_44(%arg0: tensor<2xf32>, %arg1: tensor<3xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [] x [] {a = 1 : i32} : (tensor<2xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    return
  }
  func.func @dynamic_broadcast_in_dim_45(%arg0: tensor<4xf32>, %arg1: tensor<2xi32>) {
    %0 = stablehlo.dynamic_broadcast_in_dim %arg0, %arg1, dims = [1] {known_expanding_dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x4xf32>
    return
  }
  func.func @dynamic_gather_46(%arg0: tensor<2x4xf32>, %arg1: tensor<2x1xi32>, %arg2: tensor<2xi32>) {
    %0 = "stablehlo.dynamic_gather"(%arg0, %arg1, %arg2) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<2x4xf32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<?x4xf32>
    return
  }
  func.func @dynamic_iota_47(%arg0: tensor<2xi32>) {
    %0 = stablehlo.dynamic_iota %arg0, dim = 1 : (tensor<2xi32>) -> tensor<?x?xf32>
    return
  }
  func.func @dynamic_pad_48(%arg0: tensor<4xf32>, %arg1: tensor<f32>, %arg2: tensor<1xi32>) {
    %0 = stablehlo.dynamic_pad %arg0, %arg1, %arg2, %arg2, %arg2 : (tensor<4xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
    return
  }
  func.func @dynamic_reshape_49(%arg0: tensor<4xf32>, %arg1: tensor<2xi32>) {
    %0 = stablehlo.dynamic_reshape %arg0, %arg1 : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
    return
  }
  func.func @dynamic_slice_50(%arg0: tensor<4x5xf32>, %arg1: tensor<i32>) {
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %arg1, sizes = [1, 2] : (tensor<4x5xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
    return
  }
  func.func @dynamic_slice_51(%arg0: tensor<f32>) {
    %0 = stablehlo.dynamic_slice %arg0, , sizes = [] : (tensor<f32>) -> tensor<f32>
    return
  }
  func.func @dynamic_update_slice_52(%arg0: tensor<4x5xf32>, %arg1: tensor<1x2xf32>, %arg2: tensor<i32>) {
    %0 = stablehlo.dynamic_update_slice %arg0, %arg1, %arg2, %arg2 : (tensor<4x5xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x5xf32>
    return
  }
  func.func @einsum_53(%arg0: tensor<4x5xf32>) {
    %0 = stablehlo.einsum %arg0, %arg0, config = "ab,ab->a" : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4xf32>
    return
  }
  func.func @unary_einsum_54(%arg0: tensor<4x5xf32>) {
    %0 = stablehlo.unary_einsum %arg0, config = "ab->a" : (tensor<4x5xf32>) -> tensor<4xf32>
    return
  }
  func.func @fft_55(%arg0: tensor<4xf32>) {
    %0 = stablehlo.fft %arg0, type = RFFT, length = [4] : (tensor<4xf32>) -> tensor<3xcomplex<f32>>
    return
  }
  func.func @get_dimension_size_56(%arg0: tensor<?xf32>) {
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?xf32>) -> tensor<i32>
    return
  }
  func.func @set_dimension_size_57(%arg0: tensor<?xf32>, %arg1: tensor<i32>) {
    %0 = stablehlo.set_dimension_size %arg0, %arg1, dim = 0 : (tensor<?xf32>, tensor<i32>) -> tensor<?xf32>
    return
  }
  func.func @get_tuple_element_58(%arg0: tuple<tensor<f32>, tensor<i32>>) {
    %0 = stablehlo.get_tuple_element %arg0[0] : (tuple<tensor<f32>, tensor<i32>>) -> tensor<f32>
    return
  }
  func.func @tuple_59(%arg0: tensor<f32>, %arg1: tensor<i32>) {
    %0 = stablehlo.tuple %arg0, %arg1 : tuple<tensor<f32>, tensor<i32>>
    return
  }
  func.func @if_60(%arg0: tensor<i1>, %arg1: tensor<i32>) {
    %0 = "stablehlo.if"(%arg0) ({
      stablehlo.return %arg1 : tensor<i32>
    }, {
      stablehlo.return %arg1 : tensor<i32>
    }) : (tensor<i1>) -> tensor<i32>
    return
  }
  func.func @infeed_61(%arg0: !stablehlo.token) {
    %0:2 = "stablehlo.infeed"(%arg0) <{infeed_config = ""}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
    return
  }
  func.func @iota_62(%arg0: tensor<f32>) {
    %0 = stablehlo.iota dim = 1 : tensor<3x4xi32>
    return
  }
  func.func @is_finite_63(%arg0: tensor<4xf32>) {
    %0 = stablehlo.is_finite %arg0 : (tensor<4xf32>) -> tensor<4xi1>
    return
  }
  func.func @map_64(%arg0: tensor<4xf32>) {
    %0 = "stablehlo.map"(%arg0) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg1: tensor<f32>):
      stablehlo.return %arg1 : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @optimization_barrier_65(%arg0: tensor<4xf32>, %arg1: tensor<2xi32>) {
    %0:2 = stablehlo.optimization_barrier %arg0, %arg1 : tensor<4xf32>, tensor<2xi32>
    return
  }
  func.func @optimization_barrier_66(%arg0: tensor<4xf32>, %arg1: tensor<2xi32>) {
    stablehlo.optimization_barrier()
    return
  }
  func.func @outfeed_67(%arg0: tensor<4xf32>, %arg1: !stablehlo.token) {
    %0 = "stablehlo.outfeed"(%arg0, %arg1) <{outfeed_config = ""}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
    return
  }
  func.func @pad_68(%arg0: tensor<4xf32>, %arg1: tensor<f32>) {
    %0 = stablehlo.pad %arg0, %arg1, low = [1], high = [-1], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    return
  }
  func.func @partition_id_69(%arg0: tensor<4xf32>) {
    %0 = stablehlo.partition_id : tensor<ui32>
    return
  }
  func.func @replica_id_70(%arg0: tensor<4xf32>) {
    %0 = stablehlo.replica_id : tensor<ui32>
    return
  }
  func.func @real_dynamic_slice_71(%arg0: tensor<4xf32>, %arg1: tensor<1xi32>) {
    %0 = stablehlo.real_dynamic_slice %arg0, %arg1, %arg1, %arg1 : (tensor<4xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
    return
  }
  func.func @recv_72(%arg0: !stablehlo.token) {
    %0:2 = "stablehlo.recv"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
    return
  }
  func.func @reduce_73(%arg0: tensor<4x5xf32>, %arg1: tensor<f32>) {
    %0 = stablehlo.reduce(%arg0 init: %arg1) applies stablehlo.add across dimensions = [0] {foo = 1 : i32} : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
    return
  }
  func.func @reduce_74(%arg0: tensor<4x5xf32>, %arg1: tensor<f32>) {
    %0 = stablehlo.reduce(%arg0 init: %arg1) across dimensions = [0] {foo = 1 : i32} : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
     reducer(%arg2: tensor<f32>, %arg3: tensor<f32>)  {
      %1 = stablehlo.subtract %arg2, %arg3 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }
    return
  }
  func.func @reduce_75(%arg0: tensor<4x5xf32>, %arg1: tensor<f32>) {
    %0 = stablehlo.reduce(%arg0 init: %arg1) across dimensions = [0] {foo = 1 : i32} : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
     reducer(%arg2: tensor<f32>, %arg3: tensor<f32>)  {
      %1 = stablehlo.add %arg3, %arg2 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }
    return
  }
  func.func @reduce_precision_76(%arg0: tensor<4xf32>) {
    %0 = stablehlo.reduce_precision %arg0, format = e8m7 : tensor<4xf32>
    return
  }
  func.func @reshape_77(%arg0: tensor<4xf32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<4xf32>) -> tensor<2x2xf32>
    return
  }
  func.func @reverse_78(%arg0: tensor<4xf32>) {
    %0 = stablehlo.reverse %arg0, dims = [0] : tensor<4xf32>
    return
  }
  func.func @rng_79(%arg0: tensor<f32>, %arg1: tensor<1xi64>) {
    %0 = stablehlo.rng %arg0, %arg0, %arg1, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4xf32>
    return
  }
  func.func @rng_bit_generator_80(%arg0: tensor<2xui64>) {
    %output_state, %output = stablehlo.rng_bit_generator %arg0, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
    return
  }
  func.func @select_81(%arg0: tensor<i1>, %arg1: tensor<4xf32>) {
    %0 = stablehlo.select %arg0, %arg1, %arg1 : tensor<i1>, tensor<4xf32>
    return
  }
  func.func @select_82(%arg0: tensor<4xi1>, %arg1: tensor<4xf32>, %arg2: tensor<?xf32>) {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : (tensor<4xi1>, tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
    return
  }
  func.func @send_83(%arg0: !stablehlo.token, %arg1: tensor<4xf32>) {
    %0 = "stablehlo.send"(%arg1, %arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
    return
  }
  func.func @slice_84(%arg0: tensor<4x5xf32>) {
    %0 = stablehlo.slice %arg0 [1:3, 0:5:2] : (tensor<4x5xf32>) -> tensor<2x3xf32>
    return
  }
  func.func @slice_85(%arg0: tensor<f32>) {
    %0 = stablehlo.slice %arg0 [] : (tensor<f32>) -> tensor<f32>
    return
  }
  func.func @tan_86(%arg0: tensor<4x5xf32>) {
    %0 = stablehlo.tan %arg0 : tensor<4x5xf32>
    return
  }
  func.func @torch_index_select_87(%arg0: tensor<4x5xf32>, %arg1: tensor<2xi32>) {
    %0 = "stablehlo.torch_index_select"(%arg0, %arg1) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<4x5xf32>, tensor<2xi32>) -> tensor<2x5xf32>
    return
  }
  func.func @transpose_88(%arg0: tensor<4x5xf32>) {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<4x5xf32>) -> tensor<5x4xf32>
    return
  }
  func.func @triangular_solve_89(%arg0: tensor<4x4xf32>) {
    %0 = "stablehlo.triangular_solve"(%arg0, %arg0) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    return
  }
  func.func @while_90(%arg0: tensor<f32>, %arg1: tensor<i32>) {
    %0:2 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %arg1) : tensor<f32>, tensor<i32> attributes {foo = 1 : i32}
    cond {
      %c = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      stablehlo.return %iterArg, %iterArg_0 : tensor<f32>, tensor<i32>
    }
    return
  }
  func.func @while_91(%arg0: tensor<f32>, %arg1: tensor<i32>) {
    stablehlo.while() attributes {foo = 1 : i32}
    cond {
      %c = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      stablehlo.return 
    }
    return
  }
  func.func @acos_94(%arg0: tensor<4xf32>) {
    %0 = chlo.acos %arg0 : tensor<4xf32> -> tensor<4xf32>
    return
  }
  func.func @is_inf_95(%arg0: tensor<4xf32>) {
    %0 = chlo.is_inf %arg0 : tensor<4xf32> -> tensor<4xi1>
    return
  }
  func.func @zeta_96(%arg0: tensor<4xf32>) {
    %0 = chlo.zeta %arg0, %arg0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    return
  }
  func.func @next_after_97(%arg0: tensor<4xf32>) {
    %0 = chlo.next_after %arg0, %arg0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    return
  }
  func.func @broadcast_add_98(%arg0: tensor<4xf32>, %arg1: tensor<3x4xf32>) {
    %0 = chlo.broadcast_add %arg0, %arg1 {broadcast_dimensions = array<i64: 1>} : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
    return
  }
  func.func @broadcast_compare_99(%arg0: tensor<4xf32>, %arg1: tensor<3x4xf32>) {
    %0 = chlo.broadcast_compare %arg0, %arg1 {broadcast_dimensions = array<i64: 1>, compare_type = #chlo<comparison_type FLOAT>, comparison_direction = #chlo<comparison_direction LT>} : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
    return
  }
  func.func @broadcast_select_100(%arg0: tensor<4xf32>, %arg1: tensor<4xi1>) {
    %0 = chlo.broadcast_select %arg1, %arg0, %arg0 : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @constant_101(%arg0: tensor<4xf32>, %arg1: tensor<4xi1>) {
    %0 = chlo.constant dense<1.000000e+00> : tensor<4xf32>
    return
  }
  func.func @constant_like_102(%arg0: tensor<4xf32>, %arg1: tensor<4xi1>) {
    %0 = "chlo.constant_like"(%arg0) <{value = 1.000000e+00 : f32}> : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
  func.func @top_k_103(%arg0: tensor<4xf32>, %arg1: tensor<4xi1>) {
    %values, %indices = chlo.top_k(%arg0, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
    return
  }
  func.func @ragged_dot_104(%arg0: tensor<11x5xf32>, %arg1: tensor<3x5x7xf32>, %arg2: tensor<3xi32>) {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi32>) -> tensor<11x7xf32>
    return
  }
  func.func @erf_inv_106(%arg0: tensor<4xf32>) {
    %0 = chlo.erf_inv %arg0 : tensor<4xf32> -> tensor<4xf32>
    return
  }
  func.func @square_107(%arg0: tensor<4xf32>) {
    %0 = chlo.square %arg0 : tensor<4xf32> -> tensor<4xf32>
    return
  }
  func.func @polygamma_108(%arg0: tensor<4xf32>) {
    %0 = chlo.polygamma %arg0, %arg0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    return
  }
  func.func @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    return %arg0 : tensor<4xf32>
  }
  func.func @composite(%arg0: tensor<4xf32>) {
    %0 = stablehlo.composite "my.op" %arg0 {composite_attributes = {n = 1 : i32}, decomposition = @f, version = 2 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    return
  }
}
