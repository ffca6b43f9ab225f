// RUN: whence-opt %s -p schedule-apply | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-inject-double-buffer,tir-simplify" | filecheck %s --check-prefix TWICE

// The copy of a row for the next pass is made while this pass uses its own: two halves, in turns.

// CHECK:      tir.prim_func @double(%a: !tir.buffer<8x32xf32>, %out: !tir.buffer<8x32xf32>) outputs 1 {
// CHECK-NEXT:   %b = tir.alloc : !tir.buffer<1x32xf32>
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     %a.local = tir.alloc {double_buffer} : !tir.buffer<1x32xf32, local>
// CHECK-NEXT:     tir.for %ax1 in 32 {
// CHECK-NEXT:       %{{.*}} = tir.load %a[%i, %ax1] : !tir.buffer<8x32xf32> -> f32
// CHECK-NEXT:       tir.store %{{.*}}, %a.local[0, %ax1] : f32, !tir.buffer<1x32xf32, local>
// CHECK:          tir.for %j in 32 {
// CHECK-NEXT:       %{{.*}} = tir.load %a.local[0, %j] : !tir.buffer<1x32xf32, local> -> f32
// CHECK:            tir.store %{{.*}}, %b[0, %j] : f32, !tir.buffer<1x32xf32>
// CHECK:          tir.for %j_1 in 32 {
// CHECK-NEXT:       %{{.*}} = tir.load %b[0, %j_1] : !tir.buffer<1x32xf32> -> f32
// CHECK:            tir.store %{{.*}}, %out[%i, %j_1] : f32, !tir.buffer<8x32xf32>

// TWICE:      %b = tir.alloc : !tir.buffer<1x32xf32>
// TWICE-NEXT: %a.local = tir.alloc : !tir.buffer<2x1x32xf32, local>
// TWICE-NEXT: tir.for %ax1 in 32 {
// TWICE:        tir.store %{{.*}}, %a.local[0, 0, %ax1] : f32, !tir.buffer<2x1x32xf32, local>
// TWICE:      tir.for %i in 7 {
// TWICE-NEXT:   tir.for %ax1_1 in 32 {
// TWICE:          tir.store %{{.*}}, %a.local[(%i + 1) mod 2, 0, %ax1_1] : f32, !tir.buffer<2x1x32xf32, local>
// TWICE:        tir.for %j in 32 {
// TWICE-NEXT:     %{{.*}} = tir.load %a.local[%i mod 2, 0, %j] : !tir.buffer<2x1x32xf32, local> -> f32
// TWICE:        tir.for %j_1 in 32 {
// TWICE:      tir.for %j_2 in 32 {
// TWICE-NEXT:   %{{.*}} = tir.load %a.local[1, 0, %j_2] : !tir.buffer<2x1x32xf32, local> -> f32
// TWICE:      tir.for %j_3 in 32 {

te.func @double(%a: tensor<8x32xf32>) -> (tensor<8x32xf32>) {
  %b = te.compute "b" (%i in 8, %j in 32) : tensor<8x32xf32> {
    %0 = te.read %a[%i, %j] : tensor<8x32xf32>
    %1 = arith.negf %0 : f32
    te.yield %1 : f32
  }
  %c = te.compute "c" (%i in 8, %j in 32) : tensor<8x32xf32> {
    %0 = te.read %b[%i, %j] : tensor<8x32xf32>
    %1 = math.absf %0 : f32
    te.yield %1 : f32
  }
  te.return %c : tensor<8x32xf32>
}
schedule.sequence @double {
  %a = schedule.argument 0
  %b = schedule.stage "b"
  %a.local = schedule.cache_read %a "local" readers(%b)
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  schedule.compute_at %b, %c, %i
  schedule.compute_at %a.local, %c, %i
  schedule.double_buffer %a.local
}
