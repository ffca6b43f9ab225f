// RUN: whence-opt %s -p relay-to-basic-block-normal-form --print-debuginfo | filecheck %s

relay.func @main(%x: tensor<4xf32> loc("x"), %c: tensor<i1> loc("c")) -> (tensor<4xf32>) {
  %k = relay.constant dense<1.0> : tensor<f32> loc("one")
  %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("exp")
  %1 = relay.log %x : (tensor<4xf32>) -> tensor<4xf32> loc("log")
  %2 = relay.if %c : tensor<i1> -> tensor<4xf32> {
    %3 = relay.add %0, %k : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("add")
    relay.yield %3 : tensor<4xf32> loc("then")
  } else {
    %4 = relay.multiply %0, %k : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("multiply")
    %5 = relay.add %4, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("add 2")
    relay.yield %5 : tensor<4xf32> loc("else")
  } loc("if")
  %6 = relay.negative %2 : (tensor<4xf32>) -> tensor<4xf32> loc("negative")
  relay.return %6 : tensor<4xf32> loc("return")
} loc("main")

// Both branches read exp: it is bound. One reads log: it goes there. Constants are shared as they are.
// CHECK-LABEL: relay.func @main
// CHECK-NEXT: %k = relay.constant {{.*}} loc("one")
// CHECK-NEXT: %[[E:.*]] = relay.let pure {
// CHECK-NEXT:   %[[E1:.*]] = relay.exp %x : {{.*}} loc("exp")
// CHECK-NEXT:   relay.yield %[[E1]] : tensor<4xf32> loc("main")
// CHECK-NEXT: } loc("main")
// CHECK-NEXT: relay.if
// CHECK-NEXT:   relay.add %[[E]], %k : {{.*}} loc("add")
// CHECK:      } else {
// CHECK-NEXT:   %[[L:.*]] = relay.log %x : {{.*}} loc("log")
// CHECK-NEXT:   %[[M:.*]] = relay.multiply %[[E]], %k
// CHECK-NEXT:   relay.add %[[M]], %[[L]]
// CHECK:      relay.negative {{.*}} loc("negative")
