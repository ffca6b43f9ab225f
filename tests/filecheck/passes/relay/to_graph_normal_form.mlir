// RUN: whence-opt %s -p relay-to-graph-normal-form --print-debuginfo --audit | filecheck %s

relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
  %b = relay.let pure {
    %a = relay.let pure {
      %a = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("exp")
      relay.yield %a : tensor<4xf32> loc("yield a")
    } loc("let a")
    %b = relay.negative %a : (tensor<4xf32>) -> tensor<4xf32> loc("negative")
    relay.yield %b : tensor<4xf32> loc("yield b")
  } loc("let b")
  %v = relay.let impure {
    %r = relay.ref_create %x : tensor<4xf32> -> !relay.ref<tensor<4xf32>> loc("ref")
    %u = relay.ref_write %r, %b : !relay.ref<tensor<4xf32>>, tensor<4xf32> -> tuple<> loc("write")
    %v = relay.ref_read %r : !relay.ref<tensor<4xf32>> -> tensor<4xf32> loc("read")
    relay.yield %v : tensor<4xf32> loc("yield v")
  } loc("let v")
  relay.return %v : tensor<4xf32> loc("return")
} loc("main")

// Effects keep their order.
// CHECK-LABEL: relay.func @main
// CHECK-NEXT: %[[A:.*]] = relay.exp %x : {{.*}} loc("exp")
// CHECK-NEXT: %[[B:.*]] = relay.negative %[[A]] : {{.*}} loc("negative")
// CHECK-NEXT: %[[R:.*]] = relay.ref_create %x : {{.*}} loc("ref")
// CHECK-NEXT: relay.ref_write %[[R]], %[[B]] : {{.*}} loc("write")
// CHECK-NEXT: %[[V:.*]] = relay.ref_read %[[R]] : {{.*}} loc("read")
// CHECK-NEXT: relay.return %[[V]]

// What calls itself cannot be said without a let-block; what is in it dissolves.
relay.func @loop() -> ((tensor<i32>) -> tensor<i32>) {
  %f = relay.let rec (%self: (tensor<i32>) -> tensor<i32> loc("self")) {
    %f = relay.fn (%p: tensor<i32> loc("p")) -> tensor<i32> {
      %a = relay.let pure {
        %a = relay.invoke %self(%p) : ((tensor<i32>) -> tensor<i32>, tensor<i32>) -> tensor<i32> loc("again")
        relay.yield %a : tensor<i32> loc("yield a")
      } loc("let a")
      relay.yield %a : tensor<i32> loc("yield f")
    } loc("f")
    relay.yield %f : (tensor<i32>) -> tensor<i32> loc("yield")
  } loc("rec")
  relay.return %f : (tensor<i32>) -> tensor<i32> loc("return")
} loc("loop")

// CHECK-LABEL: relay.func @loop
// CHECK-NEXT: relay.let rec (%self
// CHECK-NEXT: relay.fn
// CHECK-NEXT: %[[A:.*]] = relay.invoke %self(%p) : {{.*}} loc("again")
// CHECK-NEXT: relay.yield %[[A]]
