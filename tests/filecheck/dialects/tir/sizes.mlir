// RUN: xdsl-opt %s | filecheck %s
// RUN: xdsl-opt %s | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | xdsl-opt | filecheck %s
// RUN: xdsl-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: whence-opt %s -p tir-pipeline{vector_bits=256} | filecheck %s --check-prefix=LOOPS

// CHECK:      tir.prim_func @rows(%a: !tir.buffer<?x8x?xf32, [s0, 2*s1 + 1]>, %out: !tir.buffer<?xf32, [s0*s1]>) outputs 1 sizes ["n", "m"] {
// CHECK-NEXT:   %t = tir.alloc : !tir.buffer<?xf32, [s1], local>
// CHECK-NEXT:   tir.for %i in (s0 + 15) floordiv 16 {
// CHECK-NEXT:     tir.for vectorized %j in 16 {
// CHECK-NEXT:       tir.if likely [%i * -16 + %j * -1 + s0 - 1] >= 0 {
// CHECK-NEXT:         %0 = tir.load %a[%i * 16 + %j, 0, s1 * 2] : !tir.buffer<?x8x?xf32, [s0, 2*s1 + 1]> -> f32
// CHECK-NEXT:         tir.store %0, %out[%i * 16 + %j] : f32, !tir.buffer<?xf32, [s0*s1]>
// CHECK:      tir.for %k in s0 {
// CHECK-NEXT:   %1 = tir.index [%k floordiv s1 + %k mod s1] : index

// GENERIC: "tir.prim_func"() <{sym_name = "rows", outputs = 1 : i64, sizes = ["n", "m"]}>
// GENERIC: "tir.for"() <{extent = affine_map<()[s0] -> (((s0 + 15) floordiv 16))>, kind = "serial"}>
// GENERIC: affine_map<(d0, d1)[s0] -> (((((d0 * -16) + (d1 * -1)) + s0) + -1))>

// LOOPS:      tir.for %i in s0 floordiv 16 {
// LOOPS:      tir.for %i_1 in ((s0 + 15) floordiv 16) - (s0 floordiv 16) {
tir.prim_func @rows(%a: !tir.buffer<?x8x?xf32, [s0, s1 * 2 + 1]>, %out: !tir.buffer<?xf32, [s0 * s1]>) outputs 1 sizes ["n", "m"] {
  %t = tir.alloc : !tir.buffer<?xf32, [s1], local>
  tir.for %i in (s0 + 15) floordiv 16 {
    tir.for vectorized %j in 16 {
      tir.if likely [%i * -16 + %j * -1 + s0 - 1] >= 0 {
        %0 = tir.load %a[%i * 16 + %j, 0, s1 * 2] : !tir.buffer<?x8x?xf32, [s0, 2*s1 + 1]> -> f32
        tir.store %0, %out[%i * 16 + %j] : f32, !tir.buffer<?xf32, [s0*s1]>
      }
    }
  }
  tir.for %k in s0 {
    %1 = tir.index [%k floordiv s1 + %k mod s1] : index
  }
}
