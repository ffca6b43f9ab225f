// RUN: whence-opt %s -p schedule-apply --audit --print-debuginfo | filecheck %s

// A chain of four stages over a row: the greatest element, exponents, their sum, the quotient; rows in parallel.

// CHECK:      tir.prim_func @softmax(%x: !tir.buffer<8x100xf32> loc("prob"("net.onnx":7:0)), %out: !tir.buffer<8x100xf32> loc("prob"("net.onnx":7:0))) outputs 1 {
// CHECK-NEXT:   tir.for parallel %i in 8 {
// CHECK-NEXT:     %top = tir.alloc : !tir.buffer<1xf32, local> loc("prob"("net.onnx":7:0))
// CHECK:          tir.store %{{.*}}, %top[0] : f32, !tir.buffer<1xf32, local> loc("prob"("net.onnx":7:0))
// CHECK-NEXT:     tir.for %k in 100 {
// CHECK:            tir.store %{{.*}}, %top[0] : f32, !tir.buffer<1xf32, local> loc("prob"("net.onnx":7:0))
// CHECK:          %exp = tir.alloc : !tir.buffer<1x100xf32, local> loc("prob"("net.onnx":7:0))
// CHECK-NEXT:     tir.for %j in 100 {
// CHECK:            tir.store %{{.*}}, %exp[0, %j] : f32, !tir.buffer<1x100xf32, local> loc("prob"("net.onnx":7:0))
// CHECK:          %total = tir.alloc : !tir.buffer<1xf32, local> loc("prob"("net.onnx":7:0))
// CHECK:          tir.store %{{.*}}, %total[0] : f32, !tir.buffer<1xf32, local> loc("prob"("net.onnx":7:0))
// CHECK-NEXT:     tir.for %k_1 in 100 {
// CHECK:            tir.store %{{.*}}, %total[0] : f32, !tir.buffer<1xf32, local> loc("prob"("net.onnx":7:0))
// CHECK:          tir.for %j_1 in 100 {
// CHECK:            tir.store %{{.*}}, %out[%i, %j_1] : f32, !tir.buffer<8x100xf32> loc("prob"("net.onnx":7:0))

te.func @softmax(%x: tensor<8x100xf32> loc("prob"("net.onnx":7:0))) -> (tensor<8x100xf32>) {
  %top = te.compute "top" (%i in 8) max(%k in 100) : tensor<8xf32> {
    %0 = te.read %x[%i, %k] : tensor<8x100xf32> loc("prob"("net.onnx":7:0))
    te.yield %0 : f32 loc("prob"("net.onnx":7:0))
  } loc("prob"("net.onnx":7:0))
  %exp = te.compute "exp" (%i in 8, %j in 100) : tensor<8x100xf32> {
    %0 = te.read %x[%i, %j] : tensor<8x100xf32> loc("prob"("net.onnx":7:0))
    %1 = te.read %top[%i] : tensor<8xf32> loc("prob"("net.onnx":7:0))
    %2 = arith.subf %0, %1 : f32 loc("prob"("net.onnx":7:0))
    %3 = math.exp %2 : f32 loc("prob"("net.onnx":7:0))
    te.yield %3 : f32 loc("prob"("net.onnx":7:0))
  } loc("prob"("net.onnx":7:0))
  %total = te.compute "total" (%i in 8) sum(%k in 100) : tensor<8xf32> {
    %0 = te.read %exp[%i, %k] : tensor<8x100xf32> loc("prob"("net.onnx":7:0))
    te.yield %0 : f32 loc("prob"("net.onnx":7:0))
  } loc("prob"("net.onnx":7:0))
  %norm = te.compute "norm" (%i in 8, %j in 100) : tensor<8x100xf32> {
    %0 = te.read %exp[%i, %j] : tensor<8x100xf32> loc("prob"("net.onnx":7:0))
    %1 = te.read %total[%i] : tensor<8xf32> loc("prob"("net.onnx":7:0))
    %2 = arith.divf %0, %1 : f32 loc("prob"("net.onnx":7:0))
    te.yield %2 : f32 loc("prob"("net.onnx":7:0))
  } loc("prob"("net.onnx":7:0))
  te.return %norm : tensor<8x100xf32> loc("prob"("net.onnx":7:0))
} loc("prob"("net.onnx":7:0))
schedule.sequence @softmax {
  %norm = schedule.stage "norm" loc("prob"("net.onnx":7:0))
  %i, %j = schedule.axes %norm : 2 loc("prob"("net.onnx":7:0))
  schedule.parallel %i loc("prob"("net.onnx":7:0))
  %top = schedule.stage "top" loc("prob"("net.onnx":7:0))
  schedule.compute_at %top, %norm, %i loc("prob"("net.onnx":7:0))
  %exp = schedule.stage "exp" loc("prob"("net.onnx":7:0))
  schedule.compute_at %exp, %norm, %i loc("prob"("net.onnx":7:0))
  %total = schedule.stage "total" loc("prob"("net.onnx":7:0))
  schedule.compute_at %total, %norm, %i loc("prob"("net.onnx":7:0))
} loc("prob"("net.onnx":7:0))
