// RUN: whence-opt %s -p schedule-apply | filecheck %s

// A local sum inside a loop of the result, and inside a loop of that sum a local copy of what it reads.

// CHECK:      tir.prim_func @gemv(%a: !tir.buffer<16x32xf32>, %b: !tir.buffer<32xf32>, %out: !tir.buffer<16xf32>) outputs 1 {
// CHECK-NEXT:   tir.for %i.outer in 4 {
// CHECK-NEXT:     %c.local = tir.alloc : !tir.buffer<4xf32, local>
// CHECK-NEXT:     tir.for %i in 4 {
// CHECK:            tir.store %{{.*}}, %c.local[%i] : f32, !tir.buffer<4xf32, local>
// CHECK-NEXT:       tir.for %k.outer in 4 {
// CHECK-NEXT:         %a.local = tir.alloc : !tir.buffer<1x8xf32, local>
// CHECK-NEXT:         tir.for %ax1 in 8 {
// CHECK-NEXT:           %{{.*}} = tir.load %a[%i + %i.outer * 4, %ax1 + %k.outer * 8] : !tir.buffer<16x32xf32> -> f32
// CHECK-NEXT:           tir.store %{{.*}}, %a.local[0, %ax1] : f32, !tir.buffer<1x8xf32, local>
// CHECK:              tir.for %k.inner in 8 {
// CHECK:                %{{.*}} = tir.load %a.local[0, %k.inner] : !tir.buffer<1x8xf32, local> -> f32
// CHECK:                tir.store %{{.*}}, %c.local[%i] : f32, !tir.buffer<4xf32, local>
// CHECK:          tir.for %i.inner in 4 {
// CHECK:            tir.store %{{.*}}, %out[%i.outer * 4 + %i.inner] : f32, !tir.buffer<16xf32>

te.func @gemv(%a: tensor<16x32xf32>, %b: tensor<32xf32>) -> (tensor<16xf32>) {
  %c = te.compute "c" (%i in 16) sum(%k in 32) : tensor<16xf32> {
    %0 = te.read %a[%i, %k] : tensor<16x32xf32>
    %1 = te.read %b[%k] : tensor<32xf32>
    %2 = arith.mulf %0, %1 : f32
    te.yield %2 : f32
  }
  te.return %c : tensor<16xf32>
}
schedule.sequence @gemv {
  %c = schedule.stage "c"
  %c.local = schedule.cache_write %c "local"
  %a = schedule.argument 0
  %a.local = schedule.cache_read %a "local" readers(%c.local)
  %i = schedule.axes %c : 1
  %i.outer, %i.inner = schedule.split %i factor 4
  schedule.compute_at %c.local, %c, %i.outer
  %i_1, %k = schedule.axes %c.local : 2
  %k.outer, %k.inner = schedule.split %k factor 8
  schedule.compute_at %a.local, %c.local, %k.outer
}
