// RUN: whence-opt %s -p schedule-apply | filecheck %s

// Two stages placed as one: both move into the consumer's loop, in order.

// CHECK:      tir.prim_func @group(%a: !tir.buffer<8x6xf32>, %out: !tir.buffer<8x6xf32>) outputs 1 {
// CHECK-NEXT:   %c = tir.alloc : !tir.buffer<1x6xf32>
// CHECK-NEXT:   %b = tir.alloc : !tir.buffer<1x6xf32>
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     tir.for %j in 6 {
// CHECK:            tir.store %{{.*}}, %b[0, %j] : f32, !tir.buffer<1x6xf32>
// CHECK:          tir.for %j_1 in 6 {
// CHECK:            tir.store %{{.*}}, %c[0, %j_1] : f32, !tir.buffer<1x6xf32>
// CHECK:          tir.for %j_2 in 6 {
// CHECK:            tir.store %{{.*}}, %out[%i, %j_2] : f32, !tir.buffer<8x6xf32>

te.func @group(%a: tensor<8x6xf32>) -> (tensor<8x6xf32>) {
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
  %d = te.compute "d" (%i in 8, %j in 6) : tensor<8x6xf32> {
    %0 = te.read %c[%i, %j] : tensor<8x6xf32>
    %1 = arith.constant 1.0 : f32
    %2 = arith.addf %0, %1 : f32
    te.yield %2 : f32
  }
  te.return %d : tensor<8x6xf32>
}
schedule.sequence @group {
  %c = schedule.stage "c"
  %a = schedule.argument 0
  %group = schedule.create_group outputs(%c) inputs(%a)
  %d = schedule.stage "d"
  %i, %j = schedule.axes %d : 2
  schedule.compute_at %group, %d, %i
}
