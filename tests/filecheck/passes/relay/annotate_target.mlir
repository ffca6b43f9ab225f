// RUN: whence-opt -p "relay-annotate-target{targets=onnxruntime}" --audit --print-debuginfo %s | filecheck %s

relay.func @main(%x: tensor<4xf32> loc("x")) -> (tensor<4xf32>) {
  %0 = relay.nn.relu %x : (tensor<4xf32>) -> tensor<4xf32> loc("act")
  %1 = relay.tan %0 : (tensor<4xf32>) -> tensor<4xf32> loc("tan")
  relay.return %1 : tensor<4xf32> loc("end")
} loc("main")

// CHECK: %0 = relay.annotation.compiler_begin %x {compiler = "onnxruntime"} : (tensor<4xf32>) -> tensor<4xf32> loc("act")
// CHECK-NEXT: %1 = relay.nn.relu %0 {{.*}} loc("act")
// CHECK-NEXT: %2 = relay.annotation.compiler_end %1 {compiler = "onnxruntime"} {{.*}} loc("act")
// CHECK-NEXT: %3 = relay.annotation.compiler_begin %2 {compiler = "default"} {{.*}} loc("tan")
// CHECK-NEXT: %4 = relay.tan %3 {{.*}} loc("tan")
// CHECK-NEXT: %5 = relay.annotation.compiler_end %4 {compiler = "default"} {{.*}} loc("tan")
// CHECK-NEXT: relay.return %5 : tensor<4xf32> loc("end")
