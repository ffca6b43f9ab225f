// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s | xdsl-opt --print-op-generic | xdsl-opt | filecheck %s

// Ops are read in generic form and in their own, and printed in their own, if they have one, as StableHLO prints them.

// CHECK-LABEL: func.func @arithmetic
func.func @arithmetic(%x: tensor<2x4xf32>, %p: tensor<2x4xi1>) -> tensor<2x4xf32> {
  // CHECK: stablehlo.add %x, %x : tensor<2x4xf32>
  %0 = "stablehlo.add"(%x, %x) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: stablehlo.compare LT, %0, %x, FLOAT : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
  %1 = "stablehlo.compare"(%0, %x) <{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_type FLOAT>}> : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
  // CHECK: chlo.erf %0 : tensor<2x4xf32> -> tensor<2x4xf32>
  %2 = "chlo.erf"(%0) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: stablehlo.select %1, %2, %0 : tensor<2x4xi1>, tensor<2x4xf32>
  %3 = "stablehlo.select"(%1, %2, %0) : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %3 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @products
func.func @products(%x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x4xf32>, %m: tensor<4x5xf32>) -> tensor<1x8x8x5xf32> {
  // CHECK: stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = {{\[\[}}1, 1], [1, 1{{\]\]}}} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]} : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x8x8x4xf32>
  %0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, padding = dense<1> : tensor<2x2xi64>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x8x8x4xf32>
  // CHECK: stablehlo.dot_general %0, %m, contracting_dims = [3] x [0] : (tensor<1x8x8x4xf32>, tensor<4x5xf32>) -> tensor<1x8x8x5xf32>
  %1 = "stablehlo.dot_general"(%0, %m) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [0]>}> : (tensor<1x8x8x4xf32>, tensor<4x5xf32>) -> tensor<1x8x8x5xf32>
  return %1 : tensor<1x8x8x5xf32>
}

// CHECK-LABEL: func.func @regions
func.func @regions(%x: tensor<2x4xf32>, %i: tensor<2x1xi32>) -> (tensor<2xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %c = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  // CHECK: stablehlo.reduce(%x init: %c) across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
  // CHECK-NEXT: reducer(%a: tensor<f32>, %b: tensor<f32>) {
  // CHECK-NEXT: %s = stablehlo.add %b, %a : tensor<f32>
  %0 = "stablehlo.reduce"(%x, %c) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%b, %a) : (tensor<f32>, tensor<f32>) -> tensor<f32>
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
  // CHECK: stablehlo.custom_call @f(%x) {channel = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<?x4xf32>) -> ()
  "stablehlo.custom_call"(%x) <{call_target_name = "f"}> {channel = #stablehlo.channel_handle<handle = 1, type = 0>} : (tensor<?x4xf32>) -> ()
  // CHECK: tensor<?x4xf32, #stablehlo.bounds<8, ?>>
  "stablehlo.custom_call"() <{call_target_name = "f"}> {type = tensor<?x4xf32, #stablehlo.bounds<8, ?>>} : () -> ()
  // CHECK: return %t : !stablehlo.token
  return %t : !stablehlo.token
}

// CHECK-LABEL: func.func @loops
func.func @loops(%x: tensor<2x4xf32>, %n: tensor<i32>, %p: tensor<i1>) -> (tensor<2x4xf32>, tensor<f32>) {
  // CHECK: stablehlo.while(%i = %n, %state = %x) : tensor<i32>, tensor<2x4xf32>
  // CHECK-NEXT: cond {
  // CHECK-NEXT: stablehlo.return %p : tensor<i1>
  // CHECK-NEXT: } do {
  // CHECK-NEXT: stablehlo.return %i, %state : tensor<i32>, tensor<2x4xf32>
  %0:2 = stablehlo.while(%i = %n, %state = %x) : tensor<i32>, tensor<2x4xf32>
  cond {
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return %i, %state : tensor<i32>, tensor<2x4xf32>
  }
  %c = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  // CHECK: stablehlo.reduce({{.*}} init: %c) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.reduce(%0#1 init: %c) applies stablehlo.maximum across dimensions = [0, 1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
  return %0#1, %1 : tensor<2x4xf32>, tensor<f32>
}

// CHECK-LABEL: func.func @places
func.func @places(%x: tensor<5x4xf32>, %i: tensor<i32>) -> tensor<2x8xf32> {
  // CHECK: stablehlo.slice %x [0:4:2, 0:4] : (tensor<5x4xf32>) -> tensor<2x4xf32>
  %0 = stablehlo.slice %x [0:4:2, 0:4] : (tensor<5x4xf32>) -> tensor<2x4xf32>
  // CHECK: stablehlo.dynamic_slice %x, %i, %i, sizes = [2, 4] : (tensor<5x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
  %1 = stablehlo.dynamic_slice %x, %i, %i, sizes = [2, 4] : (tensor<5x4xf32>, tensor<i32>, tensor<i32>) -> tensor<2x4xf32>
  // CHECK: stablehlo.concatenate %0, %1, dim = 1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  // CHECK: sdy.sharding_constraint %2 <@mesh, [{"x"}, {}]> : tensor<2x8xf32>
  %3 = sdy.sharding_constraint %2 <@mesh, [{"x"}, {}]> : tensor<2x8xf32>
  return %3 : tensor<2x8xf32>
}

// CHECK: sdy.mesh @mesh = <["x"=1]>
sdy.mesh @mesh = <["x"=1]>
