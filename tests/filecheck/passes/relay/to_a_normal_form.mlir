// RUN: whence-opt %s -p relay-to-a-normal-form --print-debuginfo | filecheck %s

relay.func @main(%x: tensor<4xf32> loc("x"), %c: tensor<i1> loc("c")) -> (tensor<4xf32>) {
  %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("exp")
  %1 = relay.constant dense<1.0> : tensor<f32> loc("one")
  %2 = relay.add %0, %1 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32> loc("add")
  %r = relay.ref_create %0 : tensor<4xf32> -> !relay.ref<tensor<4xf32>> loc("ref")
  %3 = relay.ref_read %r : !relay.ref<tensor<4xf32>> -> tensor<4xf32> loc("read")
  %4 = relay.if %c : tensor<i1> -> tensor<4xf32> {
    relay.yield %2 : tensor<4xf32> loc("then")
  } else {
    relay.yield %3 : tensor<4xf32> loc("else")
  } loc("if")
  relay.return %4 : tensor<4xf32> loc("return")
} loc("main")

// Runs of one purity become let-blocks, which belong to the function; what a branch alone reads goes there.
// CHECK-LABEL: relay.func @main
// CHECK-NEXT: %[[E:.*]] = relay.let pure {
// CHECK-NEXT:   %[[E1:.*]] = relay.exp %x : {{.*}} loc("exp")
// CHECK-NEXT:   relay.yield %[[E1]] : tensor<4xf32> loc("main")
// CHECK-NEXT: } loc("main")
// CHECK-NEXT: %[[V:.*]] = relay.let impure {
// CHECK-NEXT:   %r = relay.ref_create %[[E]] : {{.*}} loc("ref")
// CHECK-NEXT:   %[[V1:.*]] = relay.ref_read %r : {{.*}} loc("read")
// CHECK-NEXT:   relay.yield %[[V1]] : tensor<4xf32> loc("main")
// CHECK-NEXT: } loc("main")
// CHECK-NEXT: %[[I:.*]] = relay.let pure {
// CHECK-NEXT:   %[[I1:.*]] = relay.if %c : tensor<i1> -> tensor<4xf32> {
// CHECK-NEXT:     %[[A:.*]] = relay.let pure {
// CHECK-NEXT:       %[[K:.*]] = relay.constant dense<1.000000e+00> : tensor<f32> loc("one")
// CHECK-NEXT:       %[[A1:.*]] = relay.add %[[E]], %[[K]] : {{.*}} loc("add")
// CHECK-NEXT:       relay.yield %[[A1]] : tensor<4xf32> loc("if")
// CHECK-NEXT:     } loc("if")
// CHECK-NEXT:     relay.yield %[[A]] : tensor<4xf32> loc("then")
// CHECK-NEXT:   } else {
// CHECK-NEXT:     relay.yield %[[V]] : tensor<4xf32> loc("else")
// CHECK-NEXT:   } loc("if")
// CHECK-NEXT:   relay.yield %[[I1]] : tensor<4xf32> loc("main")
// CHECK-NEXT: } loc("main")
// CHECK-NEXT: relay.return %[[I]] : tensor<4xf32> loc("return")

// A function that calls itself keeps its block; one that only could becomes a value as any other.
relay.func @functions(%n: tensor<i32> loc("n")) -> (tensor<i32>) {
  %f = relay.let rec (%self: (tensor<i32>) -> tensor<i32> loc("self")) {
    %f = relay.fn (%p: tensor<i32> loc("p")) -> tensor<i32> {
      %a = relay.invoke %self(%p) : ((tensor<i32>) -> tensor<i32>, tensor<i32>) -> tensor<i32> loc("again")
      relay.yield %a : tensor<i32> loc("f yield")
    } loc("f")
    relay.yield %f : (tensor<i32>) -> tensor<i32> loc("let yield")
  } loc("let")
  %g = relay.let rec (%this: (tensor<i32>) -> tensor<i32> loc("this")) {
    %g = relay.fn (%p: tensor<i32> loc("p")) -> tensor<i32> {
      relay.yield %p : tensor<i32> loc("g yield")
    } loc("g")
    relay.yield %g : (tensor<i32>) -> tensor<i32> loc("rec yield")
  } loc("rec")
  %0 = relay.invoke %f(%n) : ((tensor<i32>) -> tensor<i32>, tensor<i32>) -> tensor<i32> loc("call f")
  %1 = relay.invoke %g(%0) : ((tensor<i32>) -> tensor<i32>, tensor<i32>) -> tensor<i32> loc("call g")
  relay.return %1 : tensor<i32> loc("return")
} loc("functions")

// CHECK-LABEL: relay.func @functions
// CHECK-NEXT: %[[F:.*]] = relay.let rec (%self: {{.*}} loc("self")) {
// CHECK-NEXT:   %{{.*}} = relay.fn
// CHECK-NEXT:     relay.let pure {
// CHECK-NEXT:       relay.invoke %self(%{{.*}}) : {{.*}} loc("again")
// CHECK:      } loc("let")
// CHECK-NEXT: %[[R:.*]] = relay.let pure {
// CHECK-NEXT:   %[[G:.*]] = relay.fn
// CHECK:        } loc("g")
// CHECK-NEXT:   %[[C:.*]] = relay.invoke %[[F]](%n) : {{.*}} loc("call f")
// CHECK-NEXT:   %[[D:.*]] = relay.invoke %[[G]](%[[C]]) : {{.*}} loc("call g")
// CHECK-NEXT:   relay.yield %[[D]] : tensor<i32> loc("functions")
