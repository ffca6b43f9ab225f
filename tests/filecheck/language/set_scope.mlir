// RUN: whence-opt %s -p schedule-apply | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-simplify,tir-storage-rewrite" | filecheck %s --check-prefix REWRITE

// A local buffer; of several places the last one counts.

// CHECK:      tir.prim_func @scope(%a: !tir.buffer<8x6xf32>, %out: !tir.buffer<8x6xf32>) outputs 1 {
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     %b = tir.alloc : !tir.buffer<1x6xf32, local>
// CHECK-NEXT:     tir.for %j in 6 {
// CHECK:            tir.store %{{.*}}, %b[0, %j] : f32, !tir.buffer<1x6xf32, local>
// CHECK:          tir.for %j_1 in 6 {
// CHECK:            tir.store %{{.*}}, %out[%i, %j_1] : f32, !tir.buffer<8x6xf32>

// REWRITE:      %b = tir.alloc : !tir.buffer<1x6xf32, local>
// REWRITE:        tir.store %{{.*}}, %b[0, %j] : f32, !tir.buffer<1x6xf32, local>
// REWRITE:        %{{.*}} = tir.load %b[0, %j_1] : !tir.buffer<1x6xf32, local> -> f32
// REWRITE:        tir.store %{{.*}}, %out[%i, %j_1] : f32, !tir.buffer<8x6xf32>

te.func @scope(%a: tensor<8x6xf32>) -> (tensor<8x6xf32>) {
  %b = te.compute "b" (%i in 8, %j in 6) : tensor<8x6xf32> {
    %0 = te.read %a[%i, %j] : tensor<8x6xf32>
    %1 = arith.negf %0 : f32
    te.yield %1 : f32
  }
  %c = te.compute "c" (%i in 8, %j in 6) : tensor<8x6xf32> {
    %0 = te.read %b[%i, %j] : tensor<8x6xf32>
    %1 = math.absf %0 : f32
    te.yield %1 : f32
  }
  te.return %c : tensor<8x6xf32>
}
schedule.sequence @scope {
  %b = schedule.stage "b"
  schedule.set_scope %b "local"
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  schedule.compute_at %b, %c, %j
  schedule.compute_root %b
  schedule.compute_at %b, %c, %i
}
