// RUN: whence-opt %s -p schedule-apply --audit --print-debuginfo | filecheck %s

// The steps of a scan are loops that can be split; an uneven split guards the last pass.

// CHECK:      tir.for %total.idx.outer in 3 {
// CHECK-NEXT:   tir.for unrolled %total.idx.inner in 3 {
// CHECK-NEXT:     tir.if likely [%total.idx.outer * -3 + %total.idx.inner * -1 + 7] >= 0 {
// CHECK-NEXT:       tir.for %i_1 in 8 {
// CHECK:                {{.*}} = tir.load %out[%total.idx.outer * 3 + %total.idx.inner, %i_1] : !tir.buffer<9x8xf32> -> f32 loc("next")
// CHECK:              tir.store {{.*}}, %out[%total.idx.outer * 3 + %total.idx.inner + 1, %i_1]
// CHECK:              } loc(fused["total", "next"])
// CHECK-NEXT:   } loc(fused["total", "next"])
// CHECK-NEXT: } loc(fused["total", "next"])
te.func @sums(%x: tensor<9x8xf32> loc("x")) -> (tensor<9x8xf32>) {
  %init = te.compute "init" (%t in 1, %i in 8) : tensor<1x8xf32> {
    %0 = te.read %x[%t, %i] : tensor<9x8xf32> loc("init")
    te.yield %0 : f32 loc("init")
  } loc("init")
  %s = te.state "s" : tensor<9x8xf32> loc("s")
  %next = te.compute "next" (%t in 9, %i in 8) : tensor<9x8xf32> {
    %0 = te.read %s[%t - 1, %i] : tensor<9x8xf32> loc("next")
    %1 = te.read %x[%t, %i] : tensor<9x8xf32> loc("next")
    %2 = arith.addf %0, %1 : f32 loc("next")
    te.yield %2 : f32 loc("next")
  } loc("next")
  %total = te.scan "total" (%s from %init next %next : tensor<1x8xf32> -> tensor<9x8xf32>) loc("total")
  te.return %total : tensor<9x8xf32> loc("total")
} loc(fused["init", "s", "next", "total"])
schedule.sequence @sums {
  %total = schedule.stage "total" loc("total")
  %idx, %other = schedule.axes %total : 2 loc("total")
  %o, %n = schedule.split %idx factor 3 loc("total")
  schedule.unroll %n loc("total")
} loc("total")
