// RUN: xdsl-opt %s -p relay-fast-math --print-debuginfo | filecheck %s

// Each by the operator of TVM's name for it; what has none stays.
relay.func @fast(%x: tensor<2x4xf32> loc("x")) -> (tensor<2x4xf32>) {
  %0 = relay.exp %x : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("a")
  %1 = relay.erf %0 : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("b")
  %2 = relay.tanh %1 : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("c")
  %3 = relay.nn.softmax %2 {axis = 0} : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("d")
  %4 = relay.sigmoid %3 : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("e")
  relay.return %4 : tensor<2x4xf32> loc("return")
} loc("main")

// CHECK-LABEL: @fast(
// CHECK-NEXT: %0 = relay.fast_exp %x : {{.*}} loc("a")
// CHECK-NEXT: %1 = relay.fast_erf %0 : {{.*}} loc("b")
// CHECK-NEXT: %2 = relay.fast_tanh %1 : {{.*}} loc("c")
// CHECK-NEXT: %3 = relay.nn.fast_softmax %2 {axis = 0} : {{.*}} loc("d")
// CHECK-NEXT: %4 = relay.sigmoid %3 : {{.*}} loc("e")
// CHECK-NEXT: relay.return %4 : tensor<2x4xf32> loc("return")
