// RUN: xdsl-opt %s -p 'relay-combine-parallel-conv2d{min_num_branches=2}' --print-debuginfo | filecheck %s

// Two of three branches are alike, and so is what follows them.
relay.func @branches(%x: tensor<1x4x8x8xf32> loc("x"), %a: tensor<2x4x1x1xf32> loc("a"), %b: tensor<6x4x1x1xf32> loc("b"), %c: tensor<2x4x3x3xf32> loc("c"), %p: tensor<2xf32> loc("p"), %q: tensor<6xf32> loc("q")) -> (tensor<1x2x8x8xf32>, tensor<1x6x8x8xf32>, tensor<1x2x6x6xf32>) {
  %0 = relay.nn.conv2d %x, %a {channels = 2} : (tensor<1x4x8x8xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x8x8xf32> loc("left")
  %1 = relay.nn.bias_add %0, %p : (tensor<1x2x8x8xf32>, tensor<2xf32>) -> tensor<1x2x8x8xf32> loc("left_bias")
  %2 = relay.nn.relu %1 : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> loc("left_act")
  %3 = relay.nn.conv2d %x, %c : (tensor<1x4x8x8xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x6x6xf32> loc("large")
  %4 = relay.nn.conv2d %x, %b {channels = 6} : (tensor<1x4x8x8xf32>, tensor<6x4x1x1xf32>) -> tensor<1x6x8x8xf32> loc("right")
  %5 = relay.nn.bias_add %4, %q : (tensor<1x6x8x8xf32>, tensor<6xf32>) -> tensor<1x6x8x8xf32> loc("right_bias")
  %6 = relay.nn.relu %5 : (tensor<1x6x8x8xf32>) -> tensor<1x6x8x8xf32> loc("right_act")
  relay.return %2, %6, %3 : tensor<1x2x8x8xf32>, tensor<1x6x8x8xf32>, tensor<1x2x6x6xf32> loc("return")
} loc("main")

// CHECK-LABEL: @branches(
// CHECK-NEXT: %0 = relay.concatenate %a, %b : {{.*}} loc(fused["left", "right"])
// CHECK-NEXT: %1 = relay.nn.conv2d %x, %0 {channels = 8} : {{.*}} loc(fused["left", "right"])
// CHECK-NEXT: %2 = relay.concatenate %p, %q : {{.*}} loc(fused["left_bias", "right_bias"])
// CHECK-NEXT: %3 = relay.nn.bias_add %1, %2 : {{.*}} loc(fused["left_bias", "right_bias"])
// CHECK-NEXT: %4 = relay.nn.relu %3 : {{.*}} loc(fused["left_act", "right_act"])
// CHECK-NEXT: %5 = relay.strided_slice %4 {begin = [0], end = [2], strides = [1], axes = [1]} : {{.*}} loc("left_act")
// CHECK-NEXT: %6 = relay.strided_slice %4 {begin = [2], end = [8], strides = [1], axes = [1]} : {{.*}} loc("right_act")
// CHECK-NEXT: %7 = relay.nn.conv2d %x, %c : {{.*}} loc("large")
// CHECK-NEXT: relay.return %5, %6, %7 : tensor<1x2x8x8xf32>, tensor<1x6x8x8xf32>, tensor<1x2x6x6xf32> loc("return")
