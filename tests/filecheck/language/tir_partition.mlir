// RUN: whence-opt %s -p "tir-loop-partition,tir-simplify" --audit --print-debuginfo | filecheck %s

// The first pass reads outside on the left, the last one on the right: each gets code of its own, as the loop's hint
// asks, and the loop between them needs no guard. All three say which layer they serve.

// CHECK:      tir.prim_func @stencil
// CHECK:        tir.for %i in 14 {
// CHECK-NEXT:     %{{.*}} = tir.load %a[%i] : !tir.buffer<16xf32> -> f32 loc("pad"("net.onnx":0:0))
// CHECK-NEXT:     %{{.*}} = tir.load %a[%i + 2] : !tir.buffer<16xf32> -> f32 loc("pad"("net.onnx":0:0))
// CHECK-NEXT:     %{{.*}} = arith.addf %{{.*}}, %{{.*}} : f32 loc("sum"("net.onnx":1:0))
// CHECK-NEXT:     tir.store %{{.*}}, %b[%i + 1] : f32, !tir.buffer<16xf32> loc("sum"("net.onnx":1:0))
// CHECK-NEXT:   } loc("sum"("net.onnx":1:0))
// CHECK:        tir.store %{{.*}}, %b[15] : f32, !tir.buffer<16xf32> loc("sum"("net.onnx":1:0))
tir.prim_func @stencil(%a: !tir.buffer<16xf32>, %b: !tir.buffer<16xf32>) outputs 1 {
  tir.for %i in 16 attributes {pragma_loop_partition_hint} {
    %0 = tir.load %a[%i - 1] if [%i - 1] >= 0 else 0.0 : f32 : !tir.buffer<16xf32> -> f32 loc("pad"("net.onnx":0:0))
    %1 = tir.load %a[%i + 1] if [%i * -1 + 14] >= 0 else 0.0 : f32 : !tir.buffer<16xf32> -> f32 loc("pad"("net.onnx":0:0))
    %2 = arith.addf %0, %1 : f32 loc("sum"("net.onnx":1:0))
    tir.store %2, %b[%i] : f32, !tir.buffer<16xf32> loc("sum"("net.onnx":1:0))
  } loc("sum"("net.onnx":1:0))
} loc("sum"("net.onnx":1:0))
