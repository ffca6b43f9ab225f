// RUN: whence-opt %s -p relay-infer-purity --print-debuginfo | filecheck %s

relay.func @write(%r: !relay.ref<tensor<i32>> loc("r"), %x: tensor<i32> loc("x")) -> (tuple<>) {
  %u = relay.ref_write %r, %x : !relay.ref<tensor<i32>>, tensor<i32> -> tuple<> loc("write")
  relay.return %u : tuple<> loc("return")
} loc("fn write")

relay.func @main(%r: !relay.ref<tensor<i32>> loc("r"), %x: tensor<i32> loc("x")) -> (tensor<i32>) {
  %u = relay.call @write(%r, %x) : (!relay.ref<tensor<i32>>, tensor<i32>) -> tuple<> loc("call")
  %f = relay.fn (%p: tensor<i32> loc("p")) -> tensor<i32> {
    relay.yield %p : tensor<i32> loc("yield")
  } loc("fn")
  %y = relay.invoke impure %f(%x) : ((tensor<i32>) -> tensor<i32>, tensor<i32>) -> tensor<i32> loc("invoke")
  relay.return %y : tensor<i32> loc("return")
} loc("fn main")

// CHECK-LABEL: relay.func @main
// CHECK-NEXT: relay.call impure @write(%r, %x) : {{.*}} loc("call")
// CHECK: relay.invoke %f(%x) : {{.*}} loc("invoke")
