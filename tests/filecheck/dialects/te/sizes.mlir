// RUN: xdsl-opt %s | filecheck %s
// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s
// RUN: whence-opt %s -p convert-te-to-tir | filecheck %s --check-prefix=TIR

// CHECK:      te.func @sums(%a: tensor<?x?xf32, #relay.sizes<s0, s1>>) -> (tensor<?xf32, #relay.sizes<s0>>) sizes ["rows", "columns"] {
// CHECK-NEXT:   %b = te.compute "b" (%i in s0) sum(%k in s1 - 1) : tensor<?xf32, #relay.sizes<s0>> {
// CHECK-NEXT:     %0 = te.read %a[%i, s1 - 1 + %k * -1] : tensor<?x?xf32, #relay.sizes<s0, s1>>

// TIR:      tir.prim_func @sums(%a: !tir.buffer<?x?xf32, [s0, s1]>, %out: !tir.buffer<?xf32, [s0]>) outputs 1 sizes ["rows", "columns"] {
// TIR-NEXT:   tir.for %i in s0 {
// TIR:          tir.for %k in s1 - 1 {
te.func @sums(%a: tensor<?x?xf32, #relay.sizes<s0, s1>>) -> (tensor<?xf32, #relay.sizes<s0>>) sizes ["rows", "columns"] {
  %b = te.compute "b" (%i in s0) sum(%k in s1 - 1) : tensor<?xf32, #relay.sizes<s0>> {
    %0 = te.read %a[%i, s1 - 1 + %k * -1] : tensor<?x?xf32, #relay.sizes<s0, s1>>
    te.yield %0 : f32
  }
  te.return %b : tensor<?xf32, #relay.sizes<s0>>
}
