// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: @unary(
relay.func @unary(%x: tensor<1x8x6x6xf32>) -> () {
  // CHECK-NEXT: %0 = relay.abs %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.abs"(
  %0 = relay.abs %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %1 = relay.ceil %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.ceil"(
  %1 = relay.ceil %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %2 = relay.copy %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.copy"(
  %2 = relay.copy %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %3 = relay.erf %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.erf"(
  %3 = relay.erf %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %4 = relay.exp %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.exp"(
  %4 = relay.exp %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %5 = relay.floor %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.floor"(
  %5 = relay.floor %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %6 = relay.log %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.log"(
  %6 = relay.log %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %7 = relay.negative %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.negative"(
  %7 = relay.negative %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %8 = relay.nn.relu %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.nn.relu"(
  %8 = relay.nn.relu %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %9 = relay.round %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.round"(
  %9 = relay.round %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %10 = relay.rsqrt %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.rsqrt"(
  %10 = relay.rsqrt %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %11 = relay.sigmoid %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.sigmoid"(
  %11 = relay.sigmoid %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %12 = relay.sqrt %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.sqrt"(
  %12 = relay.sqrt %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %13 = relay.tanh %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.tanh"(
  %13 = relay.tanh %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %14 = relay.clip %x {a_min = 0.0, a_max = 6.0} : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.clip"(
  %14 = relay.clip %x {a_min = 0.0, a_max = 6.0} : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %15 = relay.nn.leaky_relu %x {alpha = 0.1} : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.nn.leaky_relu"(
  %15 = relay.nn.leaky_relu %x {alpha = 0.1} : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %16 = relay.cast %x {dtype = "int8"} : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xi8>
  // GENERIC: "relay.cast"(
  %16 = relay.cast %x {dtype = "int8"} : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xi8>
  relay.return
}

// CHECK-LABEL: @functions(
relay.func @functions(%x: tensor<8x6xf32>, %i: tensor<8xi32>, %b: tensor<8xi1>) -> () {
  // CHECK-NEXT: %0 = relay.acos %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // GENERIC: "relay.acos"(
  %0 = relay.acos %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK-NEXT: %1 = relay.acosh %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // GENERIC: "relay.acosh"(
  %1 = relay.acosh %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK-NEXT: %2 = relay.asin %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // GENERIC: "relay.asin"(
  %2 = relay.asin %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK-NEXT: %3 = relay.asinh %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // GENERIC: "relay.asinh"(
  %3 = relay.asinh %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK-NEXT: %4 = relay.atan %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // GENERIC: "relay.atan"(
  %4 = relay.atan %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK-NEXT: %5 = relay.atanh %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // GENERIC: "relay.atanh"(
  %5 = relay.atanh %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK-NEXT: %6 = relay.cos %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // GENERIC: "relay.cos"(
  %6 = relay.cos %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK-NEXT: %7 = relay.cosh %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // GENERIC: "relay.cosh"(
  %7 = relay.cosh %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK-NEXT: %8 = relay.log10 %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // GENERIC: "relay.log10"(
  %8 = relay.log10 %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK-NEXT: %9 = relay.log2 %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // GENERIC: "relay.log2"(
  %9 = relay.log2 %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK-NEXT: %10 = relay.ones_like %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // GENERIC: "relay.ones_like"(
  %10 = relay.ones_like %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK-NEXT: %11 = relay.sign %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // GENERIC: "relay.sign"(
  %11 = relay.sign %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK-NEXT: %12 = relay.sin %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // GENERIC: "relay.sin"(
  %12 = relay.sin %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK-NEXT: %13 = relay.sinh %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // GENERIC: "relay.sinh"(
  %13 = relay.sinh %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK-NEXT: %14 = relay.tan %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // GENERIC: "relay.tan"(
  %14 = relay.tan %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK-NEXT: %15 = relay.trunc %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // GENERIC: "relay.trunc"(
  %15 = relay.trunc %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK-NEXT: %16 = relay.zeros_like %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // GENERIC: "relay.zeros_like"(
  %16 = relay.zeros_like %x : (tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK-NEXT: %17 = relay.isfinite %x : (tensor<8x6xf32>) -> tensor<8x6xi1>
  // GENERIC: "relay.isfinite"(
  %17 = relay.isfinite %x : (tensor<8x6xf32>) -> tensor<8x6xi1>
  // CHECK-NEXT: %18 = relay.isinf %x : (tensor<8x6xf32>) -> tensor<8x6xi1>
  // GENERIC: "relay.isinf"(
  %18 = relay.isinf %x : (tensor<8x6xf32>) -> tensor<8x6xi1>
  // CHECK-NEXT: %19 = relay.isnan %x : (tensor<8x6xf32>) -> tensor<8x6xi1>
  // GENERIC: "relay.isnan"(
  %19 = relay.isnan %x : (tensor<8x6xf32>) -> tensor<8x6xi1>
  // CHECK-NEXT: %20 = relay.bitwise_not %i : (tensor<8xi32>) -> tensor<8xi32>
  // GENERIC: "relay.bitwise_not"(
  %20 = relay.bitwise_not %i : (tensor<8xi32>) -> tensor<8xi32>
  // CHECK-NEXT: %21 = relay.logical_not %b : (tensor<8xi1>) -> tensor<8xi1>
  // GENERIC: "relay.logical_not"(
  %21 = relay.logical_not %b : (tensor<8xi1>) -> tensor<8xi1>
  relay.return
}

// CHECK-LABEL: @binary(
relay.func @binary(%x: tensor<1x8x6x6xf32>, %b: tensor<8x1x1xf32>) -> () {
  // CHECK-NEXT: %0 = relay.add %x, %b : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.add"(
  %0 = relay.add %x, %b : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %1 = relay.subtract %x, %b : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.subtract"(
  %1 = relay.subtract %x, %b : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %2 = relay.multiply %x, %b : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.multiply"(
  %2 = relay.multiply %x, %b : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %3 = relay.divide %x, %b : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.divide"(
  %3 = relay.divide %x, %b : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %4 = relay.power %x, %b : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.power"(
  %4 = relay.power %x, %b : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %5 = relay.maximum %x, %b : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.maximum"(
  %5 = relay.maximum %x, %b : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %6 = relay.minimum %x, %b : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.minimum"(
  %6 = relay.minimum %x, %b : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %7 = relay.equal %x, %b : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xi1>
  // GENERIC: "relay.equal"(
  %7 = relay.equal %x, %b : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xi1>
  // CHECK-NEXT: %8 = relay.less %x, %b : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xi1>
  // GENERIC: "relay.less"(
  %8 = relay.less %x, %b : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xi1>
  // CHECK-NEXT: %9 = relay.greater %x, %b : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xi1>
  // GENERIC: "relay.greater"(
  %9 = relay.greater %x, %b : (tensor<1x8x6x6xf32>, tensor<8x1x1xf32>) -> tensor<1x8x6x6xi1>
  relay.return
}

// CHECK-LABEL: @moving(
relay.func @moving(%v: tensor<2x3x4xf32>, %w: tensor<1x4xf32>, %i: tensor<5xi32>, %s: tensor<f32>) -> () {
  // CHECK-NEXT: %0 = relay.reshape %v {newshape = [0, -1]} : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
  // GENERIC: "relay.reshape"(
  %0 = relay.reshape %v {newshape = [0, -1]} : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
  // CHECK-NEXT: %1 = relay.transpose %v : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  // GENERIC: "relay.transpose"(
  %1 = relay.transpose %v : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>
  // CHECK-NEXT: %2 = relay.transpose %v {axes = [0, 2, 1]} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
  // GENERIC: "relay.transpose"(
  %2 = relay.transpose %v {axes = [0, 2, 1]} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
  // CHECK-NEXT: %3 = relay.squeeze %w {axis = [0]} : (tensor<1x4xf32>) -> tensor<4xf32>
  // GENERIC: "relay.squeeze"(
  %3 = relay.squeeze %w {axis = [0]} : (tensor<1x4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %4 = relay.expand_dims %v {axis = 1, num_newaxis = 2} : (tensor<2x3x4xf32>) -> tensor<2x1x1x3x4xf32>
  // GENERIC: "relay.expand_dims"(
  %4 = relay.expand_dims %v {axis = 1, num_newaxis = 2} : (tensor<2x3x4xf32>) -> tensor<2x1x1x3x4xf32>
  // CHECK-NEXT: %5 = relay.concatenate %v, %v, %v {axis = 2} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x12xf32>
  // GENERIC: "relay.concatenate"(
  %5 = relay.concatenate %v, %v, %v {axis = 2} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x12xf32>
  // CHECK-NEXT: %6 = relay.strided_slice %v {begin = [1, 0], end = [2, 3], strides = [1, 2]} : (tensor<2x3x4xf32>) -> tensor<1x2x4xf32>
  // GENERIC: "relay.strided_slice"(
  %6 = relay.strided_slice %v {begin = [1, 0], end = [2, 3], strides = [1, 2]} : (tensor<2x3x4xf32>) -> tensor<1x2x4xf32>
  // CHECK-NEXT: %7 = relay.take %v, %i {axis = 1} : (tensor<2x3x4xf32>, tensor<5xi32>) -> tensor<2x5x4xf32>
  // GENERIC: "relay.take"(
  %7 = relay.take %v, %i {axis = 1} : (tensor<2x3x4xf32>, tensor<5xi32>) -> tensor<2x5x4xf32>
  // CHECK-NEXT: %8 = relay.broadcast_to %w {shape = [3, 4]} : (tensor<1x4xf32>) -> tensor<3x4xf32>
  // GENERIC: "relay.broadcast_to"(
  %8 = relay.broadcast_to %w {shape = [3, 4]} : (tensor<1x4xf32>) -> tensor<3x4xf32>
  // CHECK-NEXT: %9 = relay.nn.pad %w, %s {pad_width = [0, 0, 1, 2]} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x7xf32>
  // GENERIC: "relay.nn.pad"(
  %9 = relay.nn.pad %w, %s {pad_width = [0, 0, 1, 2]} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x7xf32>
  // CHECK-NEXT: %10 = relay.nn.batch_flatten %v : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
  // GENERIC: "relay.nn.batch_flatten"(
  %10 = relay.nn.batch_flatten %v : (tensor<2x3x4xf32>) -> tensor<2x12xf32>
  relay.return
}

// CHECK-LABEL: @reductions(
relay.func @reductions(%v: tensor<2x3x4xf32>) -> () {
  // CHECK-NEXT: %0 = relay.sum %v : (tensor<2x3x4xf32>) -> tensor<f32>
  // GENERIC: "relay.sum"(
  %0 = relay.sum %v : (tensor<2x3x4xf32>) -> tensor<f32>
  // CHECK-NEXT: %1 = relay.mean %v {axis = [1, 2], keepdims = true} : (tensor<2x3x4xf32>) -> tensor<2x1x1xf32>
  // GENERIC: "relay.mean"(
  %1 = relay.mean %v {axis = [1, 2], keepdims = true} : (tensor<2x3x4xf32>) -> tensor<2x1x1xf32>
  // CHECK-NEXT: %2 = relay.max %v {axis = [-1]} : (tensor<2x3x4xf32>) -> tensor<2x3xf32>
  // GENERIC: "relay.max"(
  %2 = relay.max %v {axis = [-1]} : (tensor<2x3x4xf32>) -> tensor<2x3xf32>
  // CHECK-NEXT: %3 = relay.min %v {axis = [0], exclude = true} : (tensor<2x3x4xf32>) -> tensor<2xf32>
  // GENERIC: "relay.min"(
  %3 = relay.min %v {axis = [0], exclude = true} : (tensor<2x3x4xf32>) -> tensor<2xf32>
  relay.return
}

// CHECK-LABEL: @images(
relay.func @images(%x: tensor<1x8x6x6xf32>, %w: tensor<4x8x3x3xf32>, %d: tensor<8x1x3x3xf32>, %xb: tensor<1x2x6x6x4xf32>, %wb: tensor<1x2x3x3x4x4xf32>, %db: tensor<2x1x3x3x1x4xf32>) -> () {
  // CHECK-NEXT: %0 = relay.nn.conv2d %x, %w {strides = [2, 2], padding = [1, 1, 1, 1], channels = 4, kernel_size = [3, 3]} : (tensor<1x8x6x6xf32>, tensor<4x8x3x3xf32>) -> tensor<1x4x3x3xf32>
  // GENERIC: "relay.nn.conv2d"(
  %0 = relay.nn.conv2d %x, %w {strides = [2, 2], padding = [1, 1, 1, 1], channels = 4, kernel_size = [3, 3]} : (tensor<1x8x6x6xf32>, tensor<4x8x3x3xf32>) -> tensor<1x4x3x3xf32>
  // CHECK-NEXT: %1 = relay.nn.conv2d %x, %d {groups = 8} : (tensor<1x8x6x6xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x4x4xf32>
  // GENERIC: "relay.nn.conv2d"(
  %1 = relay.nn.conv2d %x, %d {groups = 8} : (tensor<1x8x6x6xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x4x4xf32>
  // CHECK-NEXT: %2 = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x8x6x6xf32>) -> tensor<1x2x6x6x4xf32>
  // GENERIC: "relay.layout_transform"(
  %2 = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NCHW4c"} : (tensor<1x8x6x6xf32>) -> tensor<1x2x6x6x4xf32>
  // CHECK-NEXT: %3 = relay.nn.contrib_conv2d_NCHWc %xb, %wb {data_layout = "NCHW4c", kernel_layout = "OIHW4i4o"} : (tensor<1x2x6x6x4xf32>, tensor<1x2x3x3x4x4xf32>) -> tensor<1x1x4x4x4xf32>
  // GENERIC: "relay.nn.contrib_conv2d_NCHWc"(
  %3 = relay.nn.contrib_conv2d_NCHWc %xb, %wb {data_layout = "NCHW4c", kernel_layout = "OIHW4i4o"} : (tensor<1x2x6x6x4xf32>, tensor<1x2x3x3x4x4xf32>) -> tensor<1x1x4x4x4xf32>
  // CHECK-NEXT: %4 = relay.nn.contrib_depthwise_conv2d_NCHWc %xb, %db {groups = 8, data_layout = "NCHW4c", kernel_layout = "OIHW1i4o"} : (tensor<1x2x6x6x4xf32>, tensor<2x1x3x3x1x4xf32>) -> tensor<1x2x4x4x4xf32>
  // GENERIC: "relay.nn.contrib_depthwise_conv2d_NCHWc"(
  %4 = relay.nn.contrib_depthwise_conv2d_NCHWc %xb, %db {groups = 8, data_layout = "NCHW4c", kernel_layout = "OIHW1i4o"} : (tensor<1x2x6x6x4xf32>, tensor<2x1x3x3x1x4xf32>) -> tensor<1x2x4x4x4xf32>
  // CHECK-NEXT: %5 = relay.nn.max_pool2d %x {pool_size = [3, 3], strides = [2, 2], ceil_mode = true} : (tensor<1x8x6x6xf32>) -> tensor<1x8x3x3xf32>
  // GENERIC: "relay.nn.max_pool2d"(
  %5 = relay.nn.max_pool2d %x {pool_size = [3, 3], strides = [2, 2], ceil_mode = true} : (tensor<1x8x6x6xf32>) -> tensor<1x8x3x3xf32>
  // CHECK-NEXT: %6 = relay.nn.avg_pool2d %x {pool_size = [2, 2], strides = [2, 2], padding = [1, 1], count_include_pad = true} : (tensor<1x8x6x6xf32>) -> tensor<1x8x4x4xf32>
  // GENERIC: "relay.nn.avg_pool2d"(
  %6 = relay.nn.avg_pool2d %x {pool_size = [2, 2], strides = [2, 2], padding = [1, 1], count_include_pad = true} : (tensor<1x8x6x6xf32>) -> tensor<1x8x4x4xf32>
  // CHECK-NEXT: %7 = relay.nn.global_max_pool2d %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x1x1xf32>
  // GENERIC: "relay.nn.global_max_pool2d"(
  %7 = relay.nn.global_max_pool2d %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x1x1xf32>
  // CHECK-NEXT: %8 = relay.nn.global_avg_pool2d %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x1x1xf32>
  // GENERIC: "relay.nn.global_avg_pool2d"(
  %8 = relay.nn.global_avg_pool2d %x : (tensor<1x8x6x6xf32>) -> tensor<1x8x1x1xf32>
  relay.return
}

// CHECK-LABEL: @layers(
relay.func @layers(%x: tensor<1x8x6x6xf32>, %m: tensor<2x16xf32>, %w: tensor<5x16xf32>, %p: tensor<2x16x8xf32>, %a: tensor<3x2x4xf32>, %c: tensor<8xf32>) -> () {
  // CHECK-NEXT: %0 = relay.nn.dense %m, %w {units = 5} : (tensor<2x16xf32>, tensor<5x16xf32>) -> tensor<2x5xf32>
  // GENERIC: "relay.nn.dense"(
  %0 = relay.nn.dense %m, %w {units = 5} : (tensor<2x16xf32>, tensor<5x16xf32>) -> tensor<2x5xf32>
  // CHECK-NEXT: %1 = relay.nn.contrib_dense_pack %m, %p {weight_layout = "NC8n"} : (tensor<2x16xf32>, tensor<2x16x8xf32>) -> tensor<2x16xf32>
  // GENERIC: "relay.nn.contrib_dense_pack"(
  %1 = relay.nn.contrib_dense_pack %m, %p {weight_layout = "NC8n"} : (tensor<2x16xf32>, tensor<2x16x8xf32>) -> tensor<2x16xf32>
  // CHECK-NEXT: %2 = relay.nn.batch_matmul %a, %a : (tensor<3x2x4xf32>, tensor<3x2x4xf32>) -> tensor<3x2x2xf32>
  // GENERIC: "relay.nn.batch_matmul"(
  %2 = relay.nn.batch_matmul %a, %a : (tensor<3x2x4xf32>, tensor<3x2x4xf32>) -> tensor<3x2x2xf32>
  // CHECK-NEXT: %3 = relay.nn.batch_matmul %a, %a {transpose_a = true, transpose_b = false} : (tensor<3x2x4xf32>, tensor<3x2x4xf32>) -> tensor<3x4x4xf32>
  // GENERIC: "relay.nn.batch_matmul"(
  %3 = relay.nn.batch_matmul %a, %a {transpose_a = true, transpose_b = false} : (tensor<3x2x4xf32>, tensor<3x2x4xf32>) -> tensor<3x4x4xf32>
  // CHECK-NEXT: %4 = relay.nn.bias_add %x, %c : (tensor<1x8x6x6xf32>, tensor<8xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.nn.bias_add"(
  %4 = relay.nn.bias_add %x, %c : (tensor<1x8x6x6xf32>, tensor<8xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %5 = relay.nn.softmax %m : (tensor<2x16xf32>) -> tensor<2x16xf32>
  // GENERIC: "relay.nn.softmax"(
  %5 = relay.nn.softmax %m : (tensor<2x16xf32>) -> tensor<2x16xf32>
  // CHECK-NEXT: %6 = relay.nn.log_softmax %m {axis = 0} : (tensor<2x16xf32>) -> tensor<2x16xf32>
  // GENERIC: "relay.nn.log_softmax"(
  %6 = relay.nn.log_softmax %m {axis = 0} : (tensor<2x16xf32>) -> tensor<2x16xf32>
  // CHECK-NEXT: %7 = relay.nn.lrn %x {size = 3} : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.nn.lrn"(
  %7 = relay.nn.lrn %x {size = 3} : (tensor<1x8x6x6xf32>) -> tensor<1x8x6x6xf32>
  // CHECK-NEXT: %8 = relay.nn.layer_norm %x, %c, %c {axis = 1, center = false} : (tensor<1x8x6x6xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x8x6x6xf32>
  // GENERIC: "relay.nn.layer_norm"(
  %8 = relay.nn.layer_norm %x, %c, %c {axis = 1, center = false} : (tensor<1x8x6x6xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<1x8x6x6xf32>
  relay.return
}
// CHECK-LABEL: @several_results(
relay.func @several_results(%x: tensor<1x8xf32>, %c: tensor<8xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>) {
  // CHECK-NEXT: %0, %1, %2 = relay.nn.batch_norm %x, %c, %c, %c, %c {epsilon = 1.0e-12} : (tensor<1x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<1x8xf32>, tensor<8xf32>, tensor<8xf32>)
  // GENERIC: "relay.nn.batch_norm"(
  %0, %1, %2 = relay.nn.batch_norm %x, %c, %c, %c, %c {epsilon = 1.0e-12} : (tensor<1x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<1x8xf32>, tensor<8xf32>, tensor<8xf32>)
  // CHECK-NEXT: %3, %4 = relay.nn.dropout %0 {rate = 0.1} : (tensor<1x8xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>)
  // GENERIC: "relay.nn.dropout"(
  %3, %4 = relay.nn.dropout %0 {rate = 0.1} : (tensor<1x8xf32>) -> (tensor<1x8xf32>, tensor<1x8xf32>)
  // CHECK-NEXT: relay.return %3, %4 : tensor<1x8xf32>, tensor<1x8xf32>
  relay.return %3, %4 : tensor<1x8xf32>, tensor<1x8xf32>
}

// An attribute that equals its default is not spelled.
// CHECK-LABEL: @defaults(
// GENERIC-LABEL: sym_name = "defaults"
relay.func @defaults(%x: tensor<1x8xf32>) -> () {
  // CHECK-NEXT: %0 = relay.nn.softmax %x : (tensor<1x8xf32>) -> tensor<1x8xf32>
  // GENERIC: "relay.nn.softmax"(%x) <{axis = -1 : i64}>
  %0 = relay.nn.softmax %x {axis = -1} : (tensor<1x8xf32>) -> tensor<1x8xf32>
  // CHECK-NEXT: %1 = relay.nn.leaky_relu %x {alpha = inf} attributes {note = "kept"} : (tensor<1x8xf32>) -> tensor<1x8xf32>
  %1 = relay.nn.leaky_relu %x {alpha = inf} attributes {note = "kept"} : (tensor<1x8xf32>) -> tensor<1x8xf32>
  relay.return
}

// CHECK-LABEL: @constants(
relay.func @constants() -> () {
  // CHECK-NEXT: %0 = relay.constant dense<[1.000000e+00, 2.500000e+00]> : tensor<2xf32>
  // GENERIC: "relay.constant"() <{literal = dense<[1.000000e+00, 2.500000e+00]> : tensor<2xf32>}> : () -> tensor<2xf32>
  %0 = relay.constant dense<[1.0, 2.5]> : tensor<2xf32>
  // CHECK-NEXT: %1 = relay.constant @"conv1/w:0" : tensor<64x3x7x7xf32>
  // GENERIC: "relay.constant"() <{key = "conv1/w:0"}> : () -> tensor<64x3x7x7xf32>
  %1 = relay.constant @"conv1/w:0" : tensor<64x3x7x7xf32>
  // CHECK-NEXT: %2 = relay.constant dense<true> : tensor<i1>
  %2 = relay.constant dense<true> : tensor<i1>
  relay.return
}

// CHECK-LABEL: relay.func primitive @fused(%x: tensor<4xf32>) -> (tensor<4xf32>) {
// GENERIC: "relay.func"() <{sym_name = "fused", function_type = (tensor<4xf32>) -> tensor<4xf32>, primitive}> ({
relay.func primitive @fused(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  relay.return %x : tensor<4xf32>
}

// CHECK-LABEL: @calls(
relay.func @calls(%x: tensor<4xf32>) -> (tensor<4xf32>) {
  // CHECK-NEXT: %0 = relay.call @fused(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // GENERIC: "relay.call"(%x) <{callee = @fused}>
  %0 = relay.call @fused(%x) : (tensor<4xf32>) -> tensor<4xf32>
  relay.return %0 : tensor<4xf32>
}
