// RUN: xdsl-opt %s -p 'relay-convert-layout{desired_layouts="nn.conv2d:NHWC,default"}' --print-debuginfo | filecheck %s

// What is between two convolutions computes in their layout; a transform names the layer that asked for it.
relay.func @region(%x: tensor<1x4x8x8xf32> loc("x"), %v: tensor<4x4x3x3xf32> loc("v"), %b: tensor<4xf32> loc("b"), %w: tensor<2x4x1x1xf32> loc("w")) -> (tensor<1x2x8x8xf32>) {
  %0 = relay.nn.conv2d %x, %v {padding = [1, 1]} : (tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<1x4x8x8xf32> loc("first")
  %1 = relay.nn.bias_add %0, %b : (tensor<1x4x8x8xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32> loc("bias")
  %2 = relay.nn.relu %1 : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> loc("act")
  %3 = relay.nn.conv2d %2, %w : (tensor<1x4x8x8xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x8x8xf32> loc("second")
  relay.return %3 : tensor<1x2x8x8xf32> loc("return")
} loc("main")

// CHECK-LABEL: @region(
// CHECK-NEXT: %0 = relay.layout_transform %x {src_layout = "NCHW", dst_layout = "NHWC"} : {{.*}} loc("first")
// CHECK-NEXT: %1 = relay.layout_transform %v {src_layout = "OIHW", dst_layout = "HWIO"} : {{.*}} loc("first")
// CHECK-NEXT: %2 = relay.nn.conv2d %0, %1 {padding = [1, 1], data_layout = "NHWC", kernel_layout = "HWIO"} : {{.*}} loc("first")
// CHECK-NEXT: %3 = relay.nn.bias_add %2, %b {axis = 3} : {{.*}} loc("bias")
// CHECK-NEXT: %4 = relay.nn.relu %3 : {{.*}} loc("act")
// CHECK-NEXT: %5 = relay.layout_transform %w {src_layout = "OIHW", dst_layout = "HWIO"} : {{.*}} loc("second")
// CHECK-NEXT: %6 = relay.nn.conv2d %4, %5 {data_layout = "NHWC", kernel_layout = "HWIO"} : {{.*}} loc("second")
// CHECK-NEXT: %7 = relay.layout_transform %6 {src_layout = "NHWC", dst_layout = "NCHW"} : {{.*}} loc("second")
// CHECK-NEXT: relay.return %7 : tensor<1x2x8x8xf32> loc("return")
