// RUN: xdsl-opt %s -p 'relay-to-mixed-precision{mixed_precision_type="bfloat16" keep_orig_output_dtype=true}' --print-debuginfo | filecheck %s

// The product computes on halves, the activation follows it, the softmax does not; the result is what it was.
relay.func @classifier(%x: tensor<2x4xf32> loc("x"), %w: tensor<3x4xf32> loc("w"), %b: tensor<3xf32> loc("b")) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = relay.nn.dense %x, %w : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32> loc("fc")
  %1 = relay.add %0, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32> loc("bias")
  %2 = relay.nn.softmax %1 : (tensor<2x3xf32>) -> tensor<2x3xf32> loc("prob")
  relay.return %1, %2 : tensor<2x3xf32>, tensor<2x3xf32> loc("return")
} loc("main")

// CHECK-LABEL: @classifier(
// CHECK-NEXT: %0 = relay.cast %b {dtype = "bfloat16"} : {{.*}} loc("bias")
// CHECK-NEXT: %1 = relay.cast %w {dtype = "bfloat16"} : {{.*}} loc("fc")
// CHECK-NEXT: %2 = relay.cast %x {dtype = "bfloat16"} : {{.*}} loc("fc")
// CHECK-NEXT: %3 = relay.nn.dense %2, %1 : {{.*}} loc("fc")
// CHECK-NEXT: %4 = relay.add %3, %0 : {{.*}} loc("bias")
// CHECK-NEXT: %5 = relay.cast %4 {dtype = "float32"} : {{.*}} loc(fused["bias", "prob"])
// CHECK-NEXT: %6 = relay.nn.softmax %5 : {{.*}} loc("prob")
// CHECK-NEXT: relay.return %5, %6 : tensor<2x3xf32>, tensor<2x3xf32> loc("return")
