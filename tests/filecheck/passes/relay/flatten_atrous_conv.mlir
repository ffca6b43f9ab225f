// RUN: xdsl-opt %s -p relay-flatten-atrous-conv --print-debuginfo | filecheck %s

// Crops take from what was padded.
relay.func @atrous(%x: tensor<1x8x8x4xf32> loc("x"), %w: tensor<3x3x4x2xf32> loc("w")) -> (tensor<1x7x8x2xf32>) {
  %0 = relay.nn.space_to_batch_nd %x {block_shape = [2, 2], paddings = [2, 2, 2, 2]} : (tensor<1x8x8x4xf32>) -> tensor<4x6x6x4xf32> loc("spread")
  %1 = relay.nn.conv2d %0, %w {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<4x6x6x4xf32>, tensor<3x3x4x2xf32>) -> tensor<4x4x4x2xf32> loc("conv")
  %2 = relay.nn.batch_to_space_nd %1 {block_shape = [2, 2], crops = [1, 0, 0, 0]} : (tensor<4x4x4x2xf32>) -> tensor<1x7x8x2xf32> loc("join")
  relay.return %2 : tensor<1x7x8x2xf32> loc("return")
} loc("main")

// CHECK-LABEL: @atrous(
// CHECK-NEXT: %0 = relay.nn.conv2d %x, %w {padding = [1, 2, 2, 2], dilation = [2, 2], data_layout = "NHWC", kernel_layout = "HWIO"} : {{.*}} loc(fused["join", "conv", "spread"])
// CHECK-NEXT: relay.return %0 : tensor<1x7x8x2xf32> loc("return")
