// RUN: whence-opt %s -p relay-partial-evaluate,relay-dead-code-elimination --print-debuginfo --audit | filecheck %s

relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
  %r = relay.ref_create %x : tensor<4xf32> -> !relay.ref<tensor<4xf32>> loc("create")
  %f = relay.fn (%c: tensor<i1> loc("c"), %p: tensor<4xf32> loc("p")) -> tensor<4xf32> {
    %0 = relay.exp %p : (tensor<4xf32>) -> tensor<4xf32> loc("exp")
    %1 = relay.if %c : tensor<i1> -> tensor<4xf32> {
      %2 = relay.log %0 : (tensor<4xf32>) -> tensor<4xf32> loc("log")
      relay.yield %2 : tensor<4xf32> loc("then")
    } else {
      relay.yield %p : tensor<4xf32> loc("else")
    } loc("if")
    relay.yield %1 : tensor<4xf32> loc("yield")
  } loc("f")
  %yes = relay.constant dense<1> : tensor<i1> loc("yes")
  %v = relay.ref_read %r : !relay.ref<tensor<4xf32>> -> tensor<4xf32> loc("read")
  %y = relay.invoke %f(%yes, %v) : ((tensor<i1>, tensor<4xf32>) -> tensor<4xf32>, tensor<i1>, tensor<4xf32>) -> tensor<4xf32> loc("invoke")
  relay.return %y : tensor<4xf32> loc("return")
} loc("main")

// What gives the result of the call stands for the branch that it is in, the if, and the call.
// CHECK-LABEL: relay.func @main
// CHECK-NEXT: %[[E:.*]] = relay.exp %x : {{.*}} loc("exp")
// CHECK-NEXT: %[[L:.*]] = relay.log %[[E]] : {{.*}} loc(fused["log", "if", "invoke"])
// CHECK-NEXT: relay.return %[[L]]

relay.type_data @Maybe {Just(tensor<4xf32>), None()} loc("data")

// The layers of a clause that is not taken, and those of its arguments, are accounted for.
relay.func @choose(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
  %n = relay.construct @None() : () -> !relay.adt<@Maybe, []> loc("none")
  %y = relay.match %n : !relay.adt<@Maybe, []> -> tensor<4xf32> {
  case @Just(%v: tensor<4xf32> loc("v")) {
    relay.yield %v : tensor<4xf32> loc("just")
  }
  case @None() {
    %l = relay.log %x : (tensor<4xf32>) -> tensor<4xf32> loc("log")
    relay.yield %l : tensor<4xf32> loc("otherwise")
  }
  } loc("match")
  relay.return %y : tensor<4xf32> loc("return")
} loc("choose")

// CHECK-LABEL: relay.func @choose
// CHECK-NEXT: %[[L:.*]] = relay.log %x : {{.*}} loc(fused["log", "match"])
// CHECK-NEXT: relay.return %[[L]]
