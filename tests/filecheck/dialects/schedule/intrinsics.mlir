// RUN: xdsl-opt %s --print-debuginfo | filecheck %s
// RUN: xdsl-opt %s --print-debuginfo | xdsl-opt --print-debuginfo | filecheck %s
// RUN: xdsl-opt %s --print-op-generic --print-debuginfo | xdsl-opt --print-debuginfo | filecheck %s

// CHECK:      schedule.tensor_intrin "scale" {
// CHECK-NEXT:   te.func @pattern(%a: tensor<16xf32> loc("a")) -> (tensor<16xf32>) {
// CHECK-NEXT:     %b = te.compute "b" (%i in 16) : tensor<16xf32> {
// CHECK:        te.func @body(%a: tensor<16xf32> loc("a")) -> (tensor<16xf32>) {
// CHECK-NEXT:     %b = te.extern "b" "scale16"(%a, out 0, 3 : i32) : (tensor<16xf32>) -> (tensor<16xf32>) loc("b")
// CHECK:        schedule.sequence @body {
// CHECK-NEXT:     %b = schedule.stage "b" loc("b")
// CHECK-NEXT:   } loc("b")
// CHECK-NEXT: } loc("vscale")
schedule.tensor_intrin "scale" {
  te.func @pattern(%a: tensor<16xf32> loc("a")) -> (tensor<16xf32>) {
    %b = te.compute "b" (%i in 16) : tensor<16xf32> {
      %0 = te.read %a[%i] : tensor<16xf32> loc("b")
      te.yield %0 : f32 loc("b")
    } loc("b")
    te.return %b : tensor<16xf32> loc("b")
  } loc("b")
  te.func @body(%a: tensor<16xf32> loc("a")) -> (tensor<16xf32>) {
    %b = te.extern "b" "scale16"(%a, out 0, 3 : i32) : (tensor<16xf32>) -> (tensor<16xf32>) loc("b")
    te.return %b : tensor<16xf32> loc("b")
  } loc("b")
  schedule.sequence @body {
    %b = schedule.stage "b" loc("b")
  } loc("b")
} loc("vscale")

// CHECK:      schedule.sequence @f {
// CHECK-NEXT:   %c = schedule.stage "c" loc("fc1")
// CHECK-NEXT:   schedule.tensor_compute %c "scale" outer 1 loc("fc1")
// CHECK-NEXT:   %tx = schedule.thread "threadIdx.x" in 6 loc("fc1")
// CHECK-NEXT:   %ty = schedule.thread "threadIdx.y" loc("fc1")
// CHECK-NEXT:   %rnn = schedule.stage "rnn" loc("fc1")
// CHECK-NEXT:   %a, %b = schedule.env_threads %rnn(%tx, %ty) loc("fc1")
// CHECK-NEXT:   schedule.pragma %a "x" loc("fc1")
// CHECK-NEXT: } loc("fc1")
schedule.sequence @f {
  %c = schedule.stage "c" loc("fc1")
  schedule.tensor_compute %c "scale" outer 1 loc("fc1")
  %tx = schedule.thread "threadIdx.x" in 6 loc("fc1")
  %ty = schedule.thread "threadIdx.y" loc("fc1")
  %rnn = schedule.stage "rnn" loc("fc1")
  %a, %b = schedule.env_threads %rnn(%tx, %ty) loc("fc1")
  schedule.pragma %a "x" loc("fc1")
} loc("fc1")
