// RUN: whence-opt -p relay-fold-tuples --audit --print-debuginfo %s | filecheck %s

// A field of a tuple at hand is the field, which keeps its location, through a tuple in a tuple, too. What is left of a
// tuple that somebody reads whole stays.

relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
  %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
  %1 = relay.tuple %0, %x : tuple<tensor<4xf32>, tensor<4xf32>> loc("pair")
  %2 = relay.tuple %1, %x : tuple<tuple<tensor<4xf32>, tensor<4xf32>>, tensor<4xf32>> loc("outer")
  %3 = relay.tuple_get_item %2[0] : tuple<tuple<tensor<4xf32>, tensor<4xf32>>, tensor<4xf32>> loc("first")
  %4 = relay.tuple_get_item %3[0] : tuple<tensor<4xf32>, tensor<4xf32>> loc("field")
  %5 = relay.log %4 : (tensor<4xf32>) -> tensor<4xf32> loc("b")
  relay.return %5 : tensor<4xf32> loc("end")
} loc("main")

// CHECK-LABEL: @main
// CHECK-NEXT: %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
// CHECK-NEXT: %1 = relay.log %0 : (tensor<4xf32>) -> tensor<4xf32> loc("b")
// CHECK-NEXT: relay.return %1 : tensor<4xf32> loc("end")

relay.func @whole(%x: tensor<4xf32> loc("x")) -> (tuple<tensor<4xf32>, tensor<4xf32>>) {
  %0 = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("a")
  %1 = relay.tuple %0, %x : tuple<tensor<4xf32>, tensor<4xf32>> loc("pair")
  relay.return %1 : tuple<tensor<4xf32>, tensor<4xf32>> loc("end")
} loc("whole")

// CHECK-LABEL: @whole
// CHECK: %1 = relay.tuple %0, %x : tuple<tensor<4xf32>, tensor<4xf32>> loc("pair")
