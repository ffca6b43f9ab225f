// RUN: whence-opt -p relay-label-ops --audit --print-debuginfo %s | filecheck %s

// Functions that compute the same have one hash, whatever their names and locations, which they keep.

relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
  %0 = relay.call @first(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("a")
  %1 = relay.call @second(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("b")
  %2 = relay.call @third(%1) : (tensor<4xf32>) -> tensor<4xf32> loc("c")
  relay.return %2 : tensor<4xf32> loc("end")
} loc("main")
relay.func primitive @first(%p0: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
  %0 = relay.exp %p0 : (tensor<4xf32>) -> tensor<4xf32> loc("a")
  relay.return %0 : tensor<4xf32> loc("a")
} loc("a")
relay.func primitive @second(%data: tensor<4xf32> loc("a")) -> (tensor<4xf32>) {
  %power = relay.exp %data : (tensor<4xf32>) -> tensor<4xf32> loc("b")
  relay.return %power : tensor<4xf32> loc("b")
} loc("b")
relay.func primitive @third(%p0: tensor<4xf32> loc("b")) -> (tensor<4xf32>) {
  %0 = relay.log %p0 : (tensor<4xf32>) -> tensor<4xf32> loc("c")
  relay.return %0 : tensor<4xf32> loc("c")
} loc("c")

// CHECK: relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
// CHECK: } loc("main")
// CHECK-NEXT: relay.func primitive @first(%p0: tensor<4xf32> loc("x")) -> (tensor<4xf32>) attributes {hash = "[[HASH:[0-9a-f]+]]"} {
// CHECK-NEXT: relay.exp %p0 : (tensor<4xf32>) -> tensor<4xf32> loc("a")
// CHECK: } loc("a")
// CHECK-NEXT: relay.func primitive @second(%data: tensor<4xf32> loc("a")) -> (tensor<4xf32>) attributes {hash = "[[HASH]]"} {
// CHECK-NEXT: relay.exp %data : (tensor<4xf32>) -> tensor<4xf32> loc("b")
// CHECK: } loc("b")
// CHECK-NOT: "[[HASH]]"
// CHECK: relay.log %p0 : (tensor<4xf32>) -> tensor<4xf32> loc("c")
