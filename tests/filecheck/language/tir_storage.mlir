// RUN: whence-opt %s -p tir-storage-rewrite | filecheck %s

// Of three buffers in a chain, the last takes the place of the first, which nobody reads any more.

// CHECK:        %[[T:[a-z]+]] = tir.alloc : !tir.buffer<8xf32>
// CHECK-NEXT:   %[[U:[a-z]+]] = tir.alloc : !tir.buffer<8xf32>
// CHECK-NOT:    tir.alloc
// CHECK:        tir.store %{{.*}}, %[[T]][%i]
// CHECK:        tir.load %[[T]][%j * -1 + 7]
// CHECK-NEXT:   tir.store %{{.*}}, %[[U]][%j]
// CHECK:        tir.load %[[U]][%k * -1 + 7]
// CHECK-NEXT:   tir.store %{{.*}}, %[[T]][%k]
// CHECK:        tir.load %[[T]][%m]
tir.prim_func @chain(%a: !tir.buffer<8xf32>, %out: !tir.buffer<8xf32>) outputs 1 {
  %t = tir.alloc : !tir.buffer<8xf32>
  %u = tir.alloc : !tir.buffer<8xf32>
  %v = tir.alloc : !tir.buffer<8xf32>
  tir.for %i in 8 {
    %0 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32
    tir.store %0, %t[%i] : f32, !tir.buffer<8xf32>
  }
  tir.for %j in 8 {
    %1 = tir.load %t[%j * -1 + 7] : !tir.buffer<8xf32> -> f32
    tir.store %1, %u[%j] : f32, !tir.buffer<8xf32>
  }
  tir.for %k in 8 {
    %2 = tir.load %u[%k * -1 + 7] : !tir.buffer<8xf32> -> f32
    tir.store %2, %v[%k] : f32, !tir.buffer<8xf32>
  }
  tir.for %m in 8 {
    %3 = tir.load %v[%m] : !tir.buffer<8xf32> -> f32
    tir.store %3, %out[%m] : f32, !tir.buffer<8xf32>
  }
}
