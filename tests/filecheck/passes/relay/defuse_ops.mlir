// RUN: xdsl-opt %s -p relay-fuse-ops,relay-defuse-ops --print-debuginfo | filecheck %s

// There and back: every operator is where it was, at its own layer.
relay.func @main(%x: tensor<1x4xf32> loc("x"), %w: tensor<4x4xf32> loc("w")) -> (tensor<1x4xf32>) {
  %0 = relay.nn.dense %x, %w : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32> loc("fc")
  %1 = relay.nn.relu %0 : (tensor<1x4xf32>) -> tensor<1x4xf32> loc("act")
  %2 = relay.nn.softmax %1 : (tensor<1x4xf32>) -> tensor<1x4xf32> loc("prob")
  relay.return %2 : tensor<1x4xf32> loc("return")
} loc("main")

// CHECK-LABEL: @main(
// CHECK-NEXT: %0 = relay.nn.dense %x, %w : {{.*}} loc("fc")
// CHECK-NEXT: %1 = relay.nn.relu %0 : {{.*}} loc("act")
// CHECK-NEXT: %2 = relay.nn.softmax %1 : {{.*}} loc("prob")
// CHECK-NEXT: relay.return %2 : tensor<1x4xf32> loc("return")
