// RUN: xdsl-opt %s | xdsl-opt | filecheck %s

// Ops are printed as they are read, in generic form; so are the attributes of the dialect.

// CHECK-LABEL: func.func @arithmetic
func.func @arithmetic(%x: tensor<2x4xf32>, %p: tensor<2x4xi1>) -> tensor<2x4xf32> {
  // CHECK: "stablehlo.add"(%x, %x) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %0 = "stablehlo.add"(%x, %x) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: "stablehlo.compare"(%0, %x) <{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type FLOAT>}>
  %1 = "stablehlo.compare"(%0, %x) <{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type FLOAT>}> : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
  // CHECK: "chlo.erf"(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = "chlo.erf"(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: "stablehlo.select"
  %3 = "stablehlo.select"(%1, %2, %0) : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @products
func.func @products(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x4xf32>, %m: tensor<4x5xf32>) -> tensor<1x8x8x5xf32> {
  // CHECK: dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, padding = dense<1> : tensor<2x2xi64>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x8x8x4xf32>
  // CHECK: dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [0]>
  %1 = "stablehlo.dot_general"(%0, %m) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [0]>}> : (tensor<1x8x8x4xf32>, tensor<4x5xf32>) -> tensor<1x8x8x5xf32>
  return %1 : tensor<1x8x8x5xf32>
}

// CHECK-LABEL: func.func @regions
func.func @regions(%x: tensor<2x4xf32>, %i: tensor<2x1xi32>) -> (tensor<2xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %c = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  // CHECK: "stablehlo.reduce"(%x, %c) <{dimensions = array<i64: 1>}> ({
  %0 = "stablehlo.reduce"(%x, %c) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
  // CHECK: dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
  %1 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<2x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
  // CHECK: scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  %2 = "stablehlo.scatter"(%x, %i, %1) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "stablehlo.return"(%b) : (tensor<f32>) -> ()
  }) : (tensor<2x4xf32>, tensor<2x1xi32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0, %1, %2 : tensor<2xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<?x4xf32>, %t: !stablehlo.token) -> !stablehlo.token {
  // CHECK: #stablehlo.channel_handle<handle = 1, type = 0>
  "stablehlo.custom_call"(%x) <{call_target_name = "f"}> {channel = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<?x4xf32>) -> ()
  // CHECK: tensor<?x4xf32, #stablehlo.bounds<8, ?>>
  "stablehlo.custom_call"() <{call_target_name = "f"}> {type = tensor<?x4xf32, #stablehlo.bounds<8, ?>>} : () -> ()
  // CHECK: return %t : !stablehlo.token
  return %t : !stablehlo.token
}
