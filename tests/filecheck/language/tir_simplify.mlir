// RUN: whence-opt %s -p tir-simplify | filecheck %s

// What loop bounds decide goes away: guards that always hold, branches never taken, loops of one pass, and the
// arithmetic of indices.

// CHECK:      tir.prim_func @decided(%a: !tir.buffer<32xf32>, %b: !tir.buffer<32xf32>) outputs 1 {
// CHECK-NEXT:   tir.for %i in 4 {
// CHECK-NEXT:     tir.for %j in 8 {
// CHECK-NEXT:       %{{.*}} = tir.load %a[%i * 8 + %j] : !tir.buffer<32xf32> -> f32
// CHECK-NEXT:       tir.store %{{.*}}, %b[%i * 8 + %j] : f32, !tir.buffer<32xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT: }
tir.prim_func @decided(%a: !tir.buffer<32xf32>, %b: !tir.buffer<32xf32>) outputs 1 {
  tir.for %i in 4 {
    tir.for %j in 8 {
      tir.for %one in 1 {
        %0 = tir.load %a[(%i * 8 + %j) mod 32 + %one] if [%j] >= 0 else 0.0 : f32 : !tir.buffer<32xf32> -> f32
        tir.if likely [%i * -8 - %j + 31] >= 0 {
          tir.store %0, %b[(%i * 16 + %j * 2) floordiv 2] : f32, !tir.buffer<32xf32>
        }
        tir.if [%j - 8] >= 0 {
          tir.store %0, %b[0] : f32, !tir.buffer<32xf32>
        }
      }
    }
  }
}
