// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC

// CHECK-LABEL: @marks(
relay.func @marks(%x: tensor<4xf32>) -> () {
  // CHECK-NEXT: %0 = relay.annotation.compiler_begin %x {compiler = "test"} : (tensor<4xf32>) -> tensor<4xf32>
  // GENERIC: "relay.annotation.compiler_begin"(
  %0 = relay.annotation.compiler_begin %x {compiler = "test"} : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %1 = relay.annotation.compiler_end %0 {compiler = "test"} : (tensor<4xf32>) -> tensor<4xf32>
  // GENERIC: "relay.annotation.compiler_end"(
  %1 = relay.annotation.compiler_end %0 {compiler = "test"} : (tensor<4xf32>) -> tensor<4xf32>
  relay.return
}
