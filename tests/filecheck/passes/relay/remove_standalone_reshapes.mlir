// RUN: xdsl-opt %s -p relay-fuse-ops,relay-remove-standalone-reshapes --print-debuginfo | filecheck %s

// The convolution ends its kernel; the softmax flattens what it reads.
relay.func @main(%x: tensor<1x2x3x3xf32> loc("x"), %w: tensor<2x2x1x1xf32> loc("w")) -> (tensor<1x18xf32>) {
  %0 = relay.nn.conv2d %x, %w {kernel_size = [1, 1]} : (tensor<1x2x3x3xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x3x3xf32> loc("conv")
  %1 = relay.reshape %0 {newshape = [1, 18]} : (tensor<1x2x3x3xf32>) -> tensor<1x18xf32> loc("flat")
  %2 = relay.nn.softmax %1 : (tensor<1x18xf32>) -> tensor<1x18xf32> loc("prob")
  relay.return %2 : tensor<1x18xf32> loc("return")
} loc("main")

// CHECK-LABEL: @main(
// CHECK-NEXT: %0 = relay.call @fused_nn_conv2d(%x, %w) : {{.*}} loc("conv")
// CHECK-NEXT: %1 = relay.call @fused_nn_softmax(%0) : (tensor<1x2x3x3xf32>) -> tensor<1x18xf32> loc(fused["prob", "flat"])
// CHECK-NEXT: relay.return %1 : tensor<1x18xf32> loc("return")
// CHECK-NOT: @fused_reshape
// CHECK: relay.func primitive @fused_nn_softmax(%p0: tensor<1x2x3x3xf32> loc("conv"))
// CHECK-NEXT: relay.reshape %p0 {newshape = [1, 18]} : {{.*}} loc("flat")
// CHECK-NEXT: relay.nn.softmax {{.*}} loc("prob")

// What is returned stays a kernel.
relay.func @last(%x: tensor<2x3xf32> loc("x")) -> (tensor<6xf32>) {
  %0 = relay.reshape %x {newshape = [6]} : (tensor<2x3xf32>) -> tensor<6xf32> loc("flat")
  relay.return %0 : tensor<6xf32> loc("return")
} loc("last")

// CHECK-LABEL: @last(
// CHECK-NEXT: relay.call @fused_reshape{{.*}} loc("flat")
