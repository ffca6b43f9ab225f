// RUN: xdsl-opt %s -p relay-div-to-mul --print-debuginfo | filecheck %s

// The reciprocal of a number whose reciprocal is none stays away.
relay.func @quotients(%x: tensor<2xf32> loc("x"), %y: tensor<2xi32> loc("y")) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xi32>) {
  %c = relay.constant dense<[2.0, -8.0]> : tensor<2xf32> loc("c")
  %tiny = relay.constant dense<1.0e-40> : tensor<f32> loc("tiny")
  %two = relay.constant dense<2> : tensor<i32> loc("two")
  %0 = relay.divide %x, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("div")
  %1 = relay.divide %x, %tiny : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32> loc("large")
  %2 = relay.divide %y, %two : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32> loc("half")
  relay.return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xi32> loc("return")
} loc("main")

// CHECK-LABEL: @quotients(
// CHECK-NEXT: %tiny = relay.constant dense<9.999950e-41> : tensor<f32> loc("tiny")
// CHECK-NEXT: %two = relay.constant dense<2> : tensor<i32> loc("two")
// CHECK-NEXT: %const = relay.constant dense<[5.000000e-01, -1.250000e-01]> : tensor<2xf32> loc(fused["div", "c"])
// CHECK-NEXT: %0 = relay.multiply %x, %const : {{.*}} loc("div")
// CHECK-NEXT: %1 = relay.divide %x, %tiny : {{.*}} loc("large")
// CHECK-NEXT: %2 = relay.divide %y, %two : {{.*}} loc("half")
// CHECK-NEXT: relay.return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xi32> loc("return")
