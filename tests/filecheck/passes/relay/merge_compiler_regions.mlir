// RUN: whence-opt -p relay-merge-compiler-regions --audit --print-debuginfo %s | filecheck %s

relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
  %0 = relay.annotation.compiler_begin %x {compiler = "test"} : (tensor<4xf32>) -> tensor<4xf32> loc("act")
  %1 = relay.nn.relu %0 : (tensor<4xf32>) -> tensor<4xf32> loc("act")
  %2 = relay.annotation.compiler_end %1 {compiler = "test"} : (tensor<4xf32>) -> tensor<4xf32> loc("act")
  %3 = relay.annotation.compiler_begin %2 {compiler = "test"} : (tensor<4xf32>) -> tensor<4xf32> loc("tan")
  %4 = relay.tan %3 : (tensor<4xf32>) -> tensor<4xf32> loc("tan")
  %5 = relay.annotation.compiler_end %4 {compiler = "test"} : (tensor<4xf32>) -> tensor<4xf32> loc("tan")
  %6 = relay.annotation.compiler_begin %5 {compiler = "other"} : (tensor<4xf32>) -> tensor<4xf32> loc("sin")
  %7 = relay.sin %6 : (tensor<4xf32>) -> tensor<4xf32> loc("sin")
  %8 = relay.annotation.compiler_end %7 {compiler = "other"} : (tensor<4xf32>) -> tensor<4xf32> loc("sin")
  relay.return %8 : tensor<4xf32> loc("end")
} loc("main")

// CHECK: relay.annotation.compiler_begin %x {compiler = "test"} {{.*}} loc("act")
// CHECK-NEXT: relay.nn.relu {{.*}} loc("act")
// CHECK-NEXT: relay.tan {{.*}} loc("tan")
// CHECK-NEXT: relay.annotation.compiler_end {{.*}} {compiler = "test"} {{.*}} loc("tan")
// CHECK-NEXT: relay.annotation.compiler_begin {{.*}} {compiler = "other"} {{.*}} loc("sin")
// CHECK-NEXT: relay.sin {{.*}} loc("sin")
// CHECK-NEXT: relay.annotation.compiler_end {{.*}} {compiler = "other"} {{.*}} loc("sin")
