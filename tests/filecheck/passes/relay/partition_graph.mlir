// RUN: whence-opt -p relay-partition-graph --audit --print-debuginfo %s | filecheck %s
// RUN: whence-opt -p "relay-partition-graph{mod-name=net bind-constants=false},relay-simplify-inference" %s | filecheck %s --check-prefix=APART

relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
  %c = relay.constant dense<2.0> : tensor<4xf32> loc("c")
  %0 = relay.annotation.compiler_begin %x {compiler = "test"} : (tensor<4xf32>) -> tensor<4xf32> loc("sum")
  %1 = relay.annotation.compiler_begin %c {compiler = "test"} : (tensor<4xf32>) -> tensor<4xf32> loc("sum")
  %2 = relay.add %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("sum")
  %3 = relay.nn.relu %2 : (tensor<4xf32>) -> tensor<4xf32> loc("act")
  %4 = relay.annotation.compiler_end %3 {compiler = "test"} : (tensor<4xf32>) -> tensor<4xf32> loc("act")
  %5 = relay.annotation.compiler_begin %4 {compiler = "default"} : (tensor<4xf32>) -> tensor<4xf32> loc("sin")
  %6 = relay.sin %5 : (tensor<4xf32>) -> tensor<4xf32> loc("sin")
  %7 = relay.annotation.compiler_end %6 {compiler = "default"} : (tensor<4xf32>) -> tensor<4xf32> loc("sin")
  relay.return %7 : tensor<4xf32> loc("end")
} loc("main")

// CHECK: relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
// CHECK-NEXT: %0 = relay.call @tvmgen_default_test_main_0(%x) : (tensor<4xf32>) -> tensor<4xf32> loc(fused["act", "sum"])
// CHECK-NEXT: %1 = relay.sin %0 {{.*}} loc("sin")
// CHECK-NEXT: relay.return %1
// CHECK: relay.func primitive @tvmgen_default_test_main_0(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) attributes
// CHECK-SAME: {Inline = 1 : i64, Compiler = "test", global_symbol = "tvmgen_default_test_main_0"} {
// CHECK-NEXT: %c = relay.constant dense<2.0{{.*}}> : tensor<4xf32> loc("c")
// CHECK-NEXT: %0 = relay.add %x, %c {{.*}} loc("sum")
// CHECK-NEXT: %1 = relay.nn.relu %0 {{.*}} loc("act")

// APART: %c = relay.constant
// APART-NEXT: relay.call @tvmgen_net_test_main_0(%x, %c)
// APART: relay.func primitive @tvmgen_net_test_main_0(%x: tensor<4xf32>, %p1: tensor<4xf32>)
