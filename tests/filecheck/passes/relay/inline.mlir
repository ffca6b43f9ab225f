// RUN: whence-opt %s -p relay-inline --print-debuginfo --audit | filecheck %s

relay.func @f(%p: tensor<4xf32> loc("p")) -> (tensor<4xf32>) attributes {Inline = 1 : i64} {
  %0 = relay.exp %p : (tensor<4xf32>) -> tensor<4xf32> loc("exp")
  %1 = relay.log %0 : (tensor<4xf32>) -> tensor<4xf32> loc("log")
  relay.return %1 : tensor<4xf32> loc("return f")
} loc("f")

relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
  %0 = relay.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("call 1")
  %1 = relay.call @f(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("call 2")
  relay.return %1 : tensor<4xf32> loc("return")
} loc("main")

// What gives a call's result stands for the call, too.
// CHECK-NOT: @f
// CHECK: relay.func @main
// CHECK-NEXT: %[[A:.*]] = relay.exp %x : {{.*}} loc("exp")
// CHECK-NEXT: %[[B:.*]] = relay.log %[[A]] : {{.*}} loc(fused["log", "call 1"])
// CHECK-NEXT: %[[C:.*]] = relay.exp %[[B]] : {{.*}} loc("exp")
// CHECK-NEXT: %[[D:.*]] = relay.log %[[C]] : {{.*}} loc(fused["log", "call 2"])
// CHECK-NEXT: relay.return %[[D]]
