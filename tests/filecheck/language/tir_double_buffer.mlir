// RUN: whence-opt %s -p "tir-inject-double-buffer,tir-simplify" | filecheck %s

// The row of the next pass is fetched before this pass uses its own: the buffer has two rows.

// CHECK:      %t = tir.alloc : !tir.buffer<2x8xf32, local>
// CHECK-NEXT: tir.for %{{.*}} in 8 {
// CHECK-NEXT:   tir.load %a[0, %{{.*}}]
// CHECK-NEXT:   tir.store %{{.*}}, %t[0, %{{.*}}]
// CHECK:      tir.for %[[I:i_?[0-9]*]] in 3 {
// CHECK:        tir.load %a[%[[I]] + 1, %{{.*}}]
// CHECK-NEXT:   tir.store %{{.*}}, %t[(%[[I]] + 1) mod 2, %{{.*}}]
// CHECK:        tir.load %t[%[[I]] mod 2, %{{.*}}]
// CHECK-NEXT:   tir.store %{{.*}}, %b[%[[I]], %{{.*}}]
tir.prim_func @rows(%a: !tir.buffer<4x8xf32>, %b: !tir.buffer<4x8xf32>) outputs 1 {
  tir.for %i in 4 {
    %t = tir.alloc {double_buffer} : !tir.buffer<8xf32, local>
    tir.for %j in 8 {
      %0 = tir.load %a[%i, %j] : !tir.buffer<4x8xf32> -> f32
      tir.store %0, %t[%j] : f32, !tir.buffer<8xf32, local>
    }
    tir.for %k in 8 {
      %1 = tir.load %t[%k] : !tir.buffer<8xf32, local> -> f32
      tir.store %1, %b[%i, %k] : f32, !tir.buffer<4x8xf32>
    }
  }
}
