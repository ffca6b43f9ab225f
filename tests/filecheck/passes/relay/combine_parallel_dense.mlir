// RUN: xdsl-opt %s -p 'relay-combine-parallel-dense{min_num_branches=2}' --print-debuginfo | filecheck %s

// A batch of two, and their biases.
relay.func @batch(%x: tensor<2x4xf32> loc("x"), %a: tensor<3x4xf32> loc("a"), %b: tensor<3x4xf32> loc("b"), %p: tensor<3xf32> loc("p"), %q: tensor<3xf32> loc("q")) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = relay.nn.dense %x, %a : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32> loc("left")
  %1 = relay.add %0, %p : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32> loc("left_bias")
  %2 = relay.nn.dense %x, %b : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32> loc("right")
  %3 = relay.add %2, %q : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32> loc("right_bias")
  relay.return %1, %3 : tensor<2x3xf32>, tensor<2x3xf32> loc("return")
} loc("main")

// CHECK-LABEL: @batch(
// CHECK-NEXT: %0 = relay.stack %x, %x : {{.*}} loc(fused["left", "right"])
// CHECK-NEXT: %1 = relay.stack %a, %b : {{.*}} loc(fused["left", "right"])
// CHECK-NEXT: %2 = relay.nn.batch_matmul %0, %1 : {{.*}} loc(fused["left", "right"])
// CHECK-NEXT: %3 = relay.expand_dims %p : {{.*}} loc("left_bias")
// CHECK-NEXT: %4 = relay.expand_dims %q : {{.*}} loc("right_bias")
// CHECK-NEXT: %5 = relay.stack %3, %4 : {{.*}} loc(fused["left_bias", "right_bias"])
// CHECK-NEXT: %6 = relay.add %2, %5 : {{.*}} loc(fused["left_bias", "right_bias"])
// CHECK-NEXT: %7, %8 = relay.split %6 {indices_or_sections = [2], sections = true} : {{.*}} loc(fused["left_bias", "right_bias"])
// CHECK-NEXT: %9 = relay.squeeze %7 {axis = [0]} : {{.*}} loc("left_bias")
// CHECK-NEXT: %10 = relay.squeeze %8 {axis = [0]} : {{.*}} loc("right_bias")
// CHECK-NEXT: relay.return %9, %10 : tensor<2x3xf32>, tensor<2x3xf32> loc("return")
