// RUN: xdsl-opt %s -p relay-fold-explicit-padding --print-debuginfo | filecheck %s

// Zeros before a convolution, which pads already, and before an average, where they count from then on.
relay.func @pads(%x: tensor<1x4x8x8xf32> loc("x"), %w: tensor<2x4x3x3xf32> loc("w")) -> (tensor<1x2x10x10xf32>, tensor<1x4x9x9xf32>) {
  %zero = relay.constant dense<0.0> : tensor<f32> loc("zero")
  %0 = relay.nn.pad %x, %zero {pad_width = [0, 0, 0, 0, 1, 1, 1, 1]} : (tensor<1x4x8x8xf32>, tensor<f32>) -> tensor<1x4x10x10xf32> loc("pad")
  %1 = relay.nn.conv2d %0, %w {padding = [1, 1]} : (tensor<1x4x10x10xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x10x10xf32> loc("conv")
  %2 = relay.nn.pad %x, %zero {pad_width = [0, 0, 0, 0, 1, 1, 1, 1]} : (tensor<1x4x8x8xf32>, tensor<f32>) -> tensor<1x4x10x10xf32> loc("edge")
  %3 = relay.nn.avg_pool2d %2 {pool_size = [2, 2]} : (tensor<1x4x10x10xf32>) -> tensor<1x4x9x9xf32> loc("pool")
  relay.return %1, %3 : tensor<1x2x10x10xf32>, tensor<1x4x9x9xf32> loc("return")
} loc("main")

// CHECK-LABEL: @pads(
// CHECK-NEXT: %0 = relay.nn.conv2d %x, %w {padding = [2, 2, 2, 2]} : {{.*}} loc(fused["conv", "pad"])
// CHECK-NEXT: %1 = relay.nn.avg_pool2d %x {pool_size = [2, 2], padding = [1, 1, 1, 1], count_include_pad = true} : {{.*}} loc(fused["pool", "edge", "zero"])
// CHECK-NEXT: relay.return %0, %1 : tensor<1x2x10x10xf32>, tensor<1x4x9x9xf32> loc("return")

// A maximum of zeros is another one, and batches are padded by nobody.
relay.func @others(%x: tensor<1x4x8x8xf32> loc("x"), %w: tensor<2x4x3x3xf32> loc("w")) -> (tensor<1x4x9x9xf32>, tensor<2x2x6x6xf32>) {
  %zero = relay.constant dense<0.0> : tensor<f32> loc("zero")
  %0 = relay.nn.pad %x, %zero {pad_width = [0, 0, 0, 0, 1, 1, 1, 1]} : (tensor<1x4x8x8xf32>, tensor<f32>) -> tensor<1x4x10x10xf32> loc("pad")
  %1 = relay.nn.max_pool2d %0 {pool_size = [2, 2]} : (tensor<1x4x10x10xf32>) -> tensor<1x4x9x9xf32> loc("pool")
  %2 = relay.nn.pad %x, %zero {pad_width = [0, 1, 0, 0, 0, 0, 0, 0]} : (tensor<1x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32> loc("batch")
  %3 = relay.nn.conv2d %2, %w : (tensor<2x4x8x8xf32>, tensor<2x4x3x3xf32>) -> tensor<2x2x6x6xf32> loc("conv")
  relay.return %1, %3 : tensor<1x4x9x9xf32>, tensor<2x2x6x6xf32> loc("return")
} loc("main")

// CHECK-LABEL: @others(
// CHECK-NEXT: %zero = relay.constant dense<0.000000e+00> : tensor<f32> loc("zero")
// CHECK-NEXT: %0 = relay.nn.pad %x, %zero {pad_width = [0, 0, 0, 0, 1, 1, 1, 1]} : {{.*}} loc("pad")
// CHECK-NEXT: %1 = relay.nn.max_pool2d %0 {pool_size = [2, 2]} : {{.*}} loc("pool")
// CHECK-NEXT: %2 = relay.nn.pad %x, %zero {pad_width = [0, 1, 0, 0, 0, 0, 0, 0]} : {{.*}} loc("batch")
// CHECK-NEXT: %3 = relay.nn.conv2d %2, %w : {{.*}} loc("conv")
// CHECK-NEXT: relay.return %1, %3 : tensor<1x4x9x9xf32>, tensor<2x2x6x6xf32> loc("return")
