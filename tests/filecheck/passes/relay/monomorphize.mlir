// RUN: whence-opt -p relay-monomorphize --audit --print-debuginfo %s | filecheck %s

// A copy for each type of argument, one for both calls with the same; the copy has the locations of the original.

relay.func @main(%x: tensor<4xf32> loc("x"), %y: tensor<2xi32> loc("y")) -> (tensor<4xf32>, tensor<2xi32>) {
  %0 = relay.call @id(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("first")
  %1 = relay.call @id(%0) : (tensor<4xf32>) -> tensor<4xf32> loc("second")
  %2 = relay.call @id(%y) : (tensor<2xi32>) -> tensor<2xi32> loc("third")
  relay.return %1, %2 : tensor<4xf32>, tensor<2xi32> loc("end")
} loc("main")
relay.func @id["A"](%p: !relay.type_var<"A"> loc("p")) -> (!relay.type_var<"A">) {
  %f = relay.fn (%q: !relay.type_var<"A"> loc("q")) -> !relay.type_var<"A"> {
    relay.yield %q : !relay.type_var<"A"> loc("inner")
  } loc("closure")
  %0 = relay.invoke %f(%p) : ((!relay.type_var<"A">) -> !relay.type_var<"A">, !relay.type_var<"A">) -> !relay.type_var<"A"> loc("use")
  relay.return %0 : !relay.type_var<"A"> loc("out")
} loc("id")

// CHECK-LABEL: relay.func @main
// CHECK-NEXT: %0 = relay.call @[[F:id_[01]]](%x) : {{.*}} loc("first")
// CHECK-NEXT: %1 = relay.call @[[F]](%0) : {{.*}} loc("second")
// CHECK-NEXT: %2 = relay.call @[[I:id_[01]]](%y) : (tensor<2xi32>) -> tensor<2xi32> loc("third")
// CHECK: relay.func @id["A"]
// CHECK-DAG: relay.func @[[F]](%p: tensor<4xf32> loc("p")) -> (tensor<4xf32>) {
// CHECK-DAG: relay.func @[[I]](%p: tensor<2xi32> loc("p")) -> (tensor<2xi32>) {
// CHECK-DAG: relay.invoke %f(%p) : ((tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("use")
// CHECK-DAG: relay.invoke %f(%p) : ((tensor<2xi32>) -> tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32> loc("use")
