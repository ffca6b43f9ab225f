// RUN: whence-opt %s -p schedule-apply --audit --print-debuginfo | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-simplify,tir-vectorize" --audit --print-debuginfo | filecheck %s --check-prefix VECTOR

// The sum is kept in a local row of 16 lanes inside relu's loop; what relu reads is inlined. Layers are told apart.

// CHECK:      tir.prim_func @gemm(%A: !tir.buffer<16x26xf32> loc("data"("net.onnx":1:0)), %B: !tir.buffer<26x64xf32> loc("weights"("net.onnx":0:0)), %out: !tir.buffer<16x64xf32> loc(fused["relu"("net.onnx":3:0), "fc"("net.onnx":2:0)])) outputs 1 {
// CHECK-NEXT:   tir.for %i in 16 {
// CHECK-NEXT:     tir.for %j.outer in 4 {
// CHECK-NEXT:       %C.local = tir.alloc : !tir.buffer<1x16xf32, local> loc("fc"("net.onnx":2:0))
// CHECK-NEXT:       tir.for vectorized %j in 16 {
// CHECK:              tir.store %{{.*}}, %C.local[0, %j] : f32, !tir.buffer<1x16xf32, local> loc("fc"("net.onnx":2:0))
// CHECK:            tir.for %k in 26 {
// CHECK-NEXT:         tir.for vectorized %j_1 in 16 {
// CHECK:                tir.store %{{.*}}, %C.local[0, %j_1] : f32, !tir.buffer<1x16xf32, local> loc("fc"("net.onnx":2:0))
// CHECK:            tir.for vectorized %j.inner in 16 {
// CHECK:              tir.store %{{.*}}, %out[%i, %j.outer * 16 + %j.inner] : f32, !tir.buffer<16x64xf32> loc(fused["relu"("net.onnx":3:0), "fc"("net.onnx":2:0)])

// VECTOR:      %{{.*}} = arith.constant dense<0.000000e+00> : vector<16xf32> loc("fc"("net.onnx":2:0))
// VECTOR-NEXT: tir.store %{{.*}}, %C.local[0, 0] : vector<16xf32>, !tir.buffer<1x16xf32, local> loc("fc"("net.onnx":2:0))
// VECTOR:        %{{.*}} = tir.load %C.local[0, 0] : !tir.buffer<1x16xf32, local> -> vector<16xf32> loc("fc"("net.onnx":2:0))
// VECTOR:        %{{.*}} = vector.broadcast %{{.*}} : f32 to vector<16xf32> loc("fc"("net.onnx":2:0))
// VECTOR-NEXT:   %{{.*}} = tir.load %B[%k, %j.outer * 16] : !tir.buffer<26x64xf32> -> vector<16xf32> loc("fc"("net.onnx":2:0))
// VECTOR-NEXT:   %{{.*}} = math.fma %{{.*}}, %{{.*}}, %{{.*}} : vector<16xf32> loc("fc"("net.onnx":2:0))
// VECTOR-NEXT:   tir.store %{{.*}}, %C.local[0, 0] : vector<16xf32>, !tir.buffer<1x16xf32, local> loc("fc"("net.onnx":2:0))
// VECTOR:      %{{.*}} = tir.load %C.local[0, 0] : !tir.buffer<1x16xf32, local> -> vector<16xf32> loc("fc"("net.onnx":2:0))
// VECTOR:      %{{.*}} = arith.constant dense<0.000000e+00> : vector<16xf32> loc("relu"("net.onnx":3:0))
// VECTOR-NEXT: %{{.*}} = arith.maximumf %{{.*}}, %{{.*}} : vector<16xf32> loc("relu"("net.onnx":3:0))
// VECTOR-NEXT: tir.store %{{.*}}, %out[%i, %j.outer * 16] : vector<16xf32>, !tir.buffer<16x64xf32> loc(fused["relu"("net.onnx":3:0), "fc"("net.onnx":2:0)])

te.func @gemm(%A: tensor<16x26xf32> loc("data"("net.onnx":1:0)), %B: tensor<26x64xf32> loc("weights"("net.onnx":0:0))) -> (tensor<16x64xf32>) {
  %C = te.compute "C" (%i in 16, %j in 64) sum(%k in 26) : tensor<16x64xf32> {
    %0 = te.read %A[%i, %k] : tensor<16x26xf32> loc("fc"("net.onnx":2:0))
    %1 = te.read %B[%k, %j] : tensor<26x64xf32> loc("fc"("net.onnx":2:0))
    %2 = arith.mulf %0, %1 : f32 loc("fc"("net.onnx":2:0))
    te.yield %2 : f32 loc("fc"("net.onnx":2:0))
  } loc("fc"("net.onnx":2:0))
  %D = te.compute "D" (%i in 16, %j in 64) : tensor<16x64xf32> {
    %0 = te.read %C[%i, %j] : tensor<16x64xf32> loc("relu"("net.onnx":3:0))
    %1 = arith.constant 0.0 : f32 loc("relu"("net.onnx":3:0))
    %2 = arith.maximumf %0, %1 : f32 loc("relu"("net.onnx":3:0))
    te.yield %2 : f32 loc("relu"("net.onnx":3:0))
  } loc("relu"("net.onnx":3:0))
  te.return %D : tensor<16x64xf32> loc(fused["data"("net.onnx":1:0), "weights"("net.onnx":0:0), "fc"("net.onnx":2:0), "relu"("net.onnx":3:0)])
} loc(fused["data"("net.onnx":1:0), "weights"("net.onnx":0:0), "fc"("net.onnx":2:0), "relu"("net.onnx":3:0)])
schedule.sequence @gemm {
  %C = schedule.stage "C" loc("fc"("net.onnx":2:0))
  %C.local = schedule.cache_write %C "local" loc("fc"("net.onnx":2:0))
  schedule.compute_inline %C loc("fc"("net.onnx":2:0))
  %D = schedule.stage "D" loc("relu"("net.onnx":3:0))
  %i, %j = schedule.axes %D : 2 loc("relu"("net.onnx":3:0))
  %j.outer, %j.inner = schedule.split %j factor 16 loc("relu"("net.onnx":3:0))
  schedule.vectorize %j.inner loc("relu"("net.onnx":3:0))
  schedule.compute_at %C.local, %D, %j.outer loc("fc"("net.onnx":2:0))
  %i_1, %j_1, %k = schedule.axes %C.local : 3 loc("fc"("net.onnx":2:0))
  schedule.reorder %k, %i_1, %j_1 loc("fc"("net.onnx":2:0))
  schedule.vectorize %j_1 loc("fc"("net.onnx":2:0))
} loc(fused["data"("net.onnx":1:0), "weights"("net.onnx":0:0), "fc"("net.onnx":2:0), "relu"("net.onnx":3:0)])
