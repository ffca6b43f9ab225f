// RUN: whence-opt -p relay-lazy-gradient-init --audit --print-debuginfo %s | filecheck %s

// Ones are not multiplied by, and zeros not added: what is left keeps its location.

relay.func @neutral(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
  %0 = relay.ones_like %x : (tensor<4xf32>) -> tensor<4xf32> loc("one")
  %1 = relay.zeros_like %x : (tensor<4xf32>) -> tensor<4xf32> loc("zero")
  %2 = relay.multiply %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("rule")
  %3 = relay.add %1, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("sum")
  %4 = relay.exp %3 : (tensor<4xf32>) -> tensor<4xf32> loc("e")
  relay.return %4 : tensor<4xf32> loc("end")
} loc("neutral")

// CHECK-LABEL: @neutral
// CHECK-NEXT: %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("e")
// CHECK-NEXT: relay.return %0

// A product with zeros is zeros, of the product and what it read.

relay.func @product(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
  %0 = relay.zeros_like %x : (tensor<4xf32>) -> tensor<4xf32> loc("zero")
  %1 = relay.multiply %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("rule")
  %2 = relay.exp %1 : (tensor<4xf32>) -> tensor<4xf32> loc("e")
  relay.return %2 : tensor<4xf32> loc("end")
} loc("product")

// CHECK-LABEL: @product
// CHECK-NEXT: relay.constant dense<0.000000e+00> : tensor<f32> loc(fused["rule", "zero"])
// CHECK-NEXT: relay.full {{.*}} loc(fused["rule", "zero"])
// CHECK-NEXT: relay.exp {{.*}} loc("e")
