// RUN: xdsl-opt %s -p relay-simplify-expr-post-alter-op --print-debuginfo | filecheck %s

// Reshapes and casts in a row, and what leaves its input as it is; a factor stays where it is.
relay.func @leftovers(%x: tensor<8xi8> loc("x")) -> (tensor<2x4xf32>) {
  %one = relay.constant dense<1.0> : tensor<f32> loc("one")
  %two = relay.constant dense<2.0> : tensor<f32> loc("two")
  %0 = relay.reshape %x {newshape = [4, 2]} : (tensor<8xi8>) -> tensor<4x2xi8> loc("r1")
  %1 = relay.reshape %0 {newshape = [2, 4]} : (tensor<4x2xi8>) -> tensor<2x4xi8> loc("r2")
  %2 = relay.clip %1 {a_min = -128.0, a_max = 127.0} : (tensor<2x4xi8>) -> tensor<2x4xi8> loc("clip")
  %3 = relay.cast %2 {dtype = "int32"} : (tensor<2x4xi8>) -> tensor<2x4xi32> loc("c1")
  %4 = relay.cast %3 {dtype = "float32"} : (tensor<2x4xi32>) -> tensor<2x4xf32> loc("c2")
  %5 = relay.multiply %4, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32> loc("m1")
  %6 = relay.multiply %5, %two : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32> loc("m2")
  %7 = relay.multiply %6, %two : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32> loc("m3")
  relay.return %7 : tensor<2x4xf32> loc("return")
} loc("main")

// CHECK-LABEL: @leftovers(
// CHECK-NEXT: %two = relay.constant dense<2.000000e+00> : tensor<f32> loc("two")
// CHECK-NEXT: %0 = relay.reshape %x {newshape = [2, 4]} : {{.*}} loc(fused["r2", "r1"])
// CHECK-NEXT: %1 = relay.cast %0 {dtype = "float32"} : {{.*}} loc(fused["c2", "c1"])
// CHECK-NEXT: %2 = relay.multiply %1, %two : {{.*}} loc("m2")
// CHECK-NEXT: %3 = relay.multiply %2, %two : {{.*}} loc("m3")
// CHECK-NEXT: relay.return %3 : tensor<2x4xf32> loc("return")
