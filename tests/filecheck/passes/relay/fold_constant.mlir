// RUN: whence-opt %s -p relay-fold-constant --print-debuginfo --audit | filecheck %s

relay.type_data @Pair {Pair(tensor<2xf32>, tensor<2xf32>)} loc("data")

// CHECK-LABEL: relay.func @values
relay.func @values() -> (tensor<2xf32>) {
  %a = relay.constant dense<[1.0, 2.0]> : tensor<2xf32> loc("a")
  %0 = relay.negative %a : (tensor<2xf32>) -> tensor<2xf32> loc("negative")
  %1 = relay.add %0, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("add")
  relay.return %1 : tensor<2xf32> loc("return")
} loc("values")
// CHECK-NEXT: %a = relay.constant dense<0.000000e+00> : tensor<2xf32> loc(fused["add", "negative", "a"])
// CHECK-NEXT: relay.return %a

// What the branch gives stands for branch and if; the rest of the branch for itself.
// CHECK-LABEL: relay.func @branch
relay.func @branch(%x: tensor<2xf32> loc("x")) -> (tensor<2xf32>) {
  %c = relay.constant dense<1> : tensor<i1> loc("c")
  %y = relay.if %c : tensor<i1> -> tensor<2xf32> {
    %e = relay.exp %x : (tensor<2xf32>) -> tensor<2xf32> loc("exp")
    %l = relay.log %e : (tensor<2xf32>) -> tensor<2xf32> loc("log")
    relay.yield %l : tensor<2xf32> loc("then")
  } else {
    relay.yield %x : tensor<2xf32> loc("else")
  } loc("if")
  relay.return %y : tensor<2xf32> loc("return")
} loc("branch")
// CHECK-NEXT: %[[E:.*]] = relay.exp %x : {{.*}} loc("exp")
// CHECK-NEXT: %[[L:.*]] = relay.log %[[E]] : {{.*}} loc(fused["log", "if"])
// CHECK-NEXT: relay.return %[[L]]

// CHECK-LABEL: relay.func @data
relay.func @data(%x: tensor<2xf32> loc("x")) -> (tensor<2xf32>) {
  %p = relay.construct @Pair(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> !relay.adt<@Pair, []> loc("pair")
  %t = relay.tuple %x, %p : tuple<tensor<2xf32>, !relay.adt<@Pair, []>> loc("tuple")
  %g = relay.tuple_get_item %t[1] : tuple<tensor<2xf32>, !relay.adt<@Pair, []>> loc("get")
  %y = relay.match %g : !relay.adt<@Pair, []> -> tensor<2xf32> {
  case @Pair(%l: tensor<2xf32> loc("l"), %r: tensor<2xf32> loc("r")) {
    %s = relay.add %l, %r : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> loc("add")
    relay.yield %s : tensor<2xf32> loc("yield")
  }
  } loc("match")
  relay.return %y : tensor<2xf32> loc("return")
} loc("data fn")
// CHECK-NEXT: %[[S:.*]] = relay.add %x, %x : {{.*}} loc(fused["add", "match"])
// CHECK-NEXT: relay.return %[[S]]
