// RUN: xdsl-opt %s -p relay-share-kernels --print-debuginfo | filecheck %s

// Numbers that differ become parameters, those that are the same in both stay.
// CHECK-LABEL: relay.func @main
// CHECK:         %[[ONE:.*]] = relay.constant dense<1.000000e+00> : tensor<f32> loc("one")
// CHECK-NEXT:    relay.call @first(%x, %[[ONE]]) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("a")
// CHECK:         %[[TWO:.*]] = relay.constant dense<2.000000e+00> : tensor<f32> loc("two")
// CHECK-NEXT:    relay.call @second(%{{.*}}, %[[TWO]]) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("b")
// CHECK:         relay.call @other(%{{.*}}) : (tensor<4xf32>) -> tensor<4xf32> loc("c")
// CHECK-LABEL: relay.func primitive @first(%p0: tensor<4xf32> loc("x"), %p1: tensor<f32> loc("one"))
// CHECK:         dense<3.000000e+00>
// CHECK:         relay.add %{{.*}}, %p1
// CHECK-LABEL: relay.func primitive @second(%p0: tensor<4xf32> loc("a"), %p1: tensor<f32> loc("two"))
// CHECK:         dense<3.000000e+00>
// CHECK:         relay.add %{{.*}}, %p1
// CHECK-LABEL: relay.func primitive @other(%p0: tensor<4xf32> loc("b"))
// CHECK:         dense<5.000000e+00>
relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
  %0 = relay.call @first(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("a")
  %1 = relay.call @second(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("b")
  %2 = relay.call @other(%1) : (tensor<4xf32>) -> tensor<4xf32> loc("c")
  relay.return %2 : tensor<4xf32> loc("return")
} loc("main")
relay.func primitive @first(%p0: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
  %0 = relay.constant dense<3.0> : tensor<f32> loc("three")
  %1 = relay.multiply %p0, %0 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("a")
  %2 = relay.constant dense<1.0> : tensor<f32> loc("one")
  %3 = relay.add %1, %2 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("a")
  relay.return %3 : tensor<4xf32> loc("a")
} loc("a")
relay.func primitive @second(%p0: tensor<4xf32> loc("a")) -> (tensor<4xf32>) {
  %0 = relay.constant dense<3.0> : tensor<f32> loc("three")
  %1 = relay.multiply %p0, %0 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("b")
  %2 = relay.constant dense<2.0> : tensor<f32> loc("two")
  %3 = relay.add %1, %2 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("b")
  relay.return %3 : tensor<4xf32> loc("b")
} loc("b")
relay.func primitive @other(%p0: tensor<4xf32> loc("b")) -> (tensor<4xf32>) {
  %0 = relay.constant dense<5.0> : tensor<f32> loc("five")
  %1 = relay.subtract %p0, %0 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("c")
  relay.return %1 : tensor<4xf32> loc("c")
} loc("c")
