// RUN: whence-opt %s -p schedule-apply | filecheck %s
// RUN: whence-opt %s -p convert-te-to-tir | filecheck %s --check-prefix BOTH

// A sequence belongs to the function of its name; one pass lowers what is scheduled, the other one everything.

// CHECK:      tir.prim_func @double
// CHECK-NEXT:   tir.for unrolled %i in 4 {
// CHECK:      te.func @triple
// BOTH:       tir.prim_func @double
// BOTH:       tir.prim_func @triple
// BOTH-NEXT:    tir.for %i in 4 {
te.func @double(%a: tensor<4xi32>) -> (tensor<4xi32>) {
  %b = te.compute "b" (%i in 4) : tensor<4xi32> {
    %0 = te.read %a[%i] : tensor<4xi32>
    %1 = arith.addi %0, %0 : i32
    te.yield %1 : i32
  }
  te.return %b : tensor<4xi32>
}
schedule.sequence @double {
  %b = schedule.stage "b"
  %i = schedule.axes %b : 1
  schedule.unroll %i
}
te.func @triple(%a: tensor<4xi32>) -> (tensor<4xi32>) {
  %b = te.compute "b" (%i in 4) : tensor<4xi32> {
    %0 = te.read %a[%i] : tensor<4xi32>
    %1 = arith.constant 3 : i32
    %2 = arith.muli %0, %1 : i32
    te.yield %2 : i32
  }
  te.return %b : tensor<4xi32>
}
