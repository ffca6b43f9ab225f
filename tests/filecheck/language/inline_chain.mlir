// RUN: whence-opt %s -p schedule-apply --audit --print-debuginfo | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-simplify,tir-vectorize,tir-flatten-buffer,tir-remove-no-op" --audit --print-debuginfo | filecheck %s --check-prefix VECTOR

// Four layers in one loop of 16 lanes and no buffer between them; each op says which layer it serves.

// CHECK:      tir.prim_func @sigmoid(%a: !tir.buffer<64xf32> loc("neg"("net.onnx":0:0)), %out: !tir.buffer<64xf32> loc(fused["div"("net.onnx":3:0), "add"("net.onnx":2:0), "exp"("net.onnx":1:0), "neg"("net.onnx":0:0)])) outputs 1 {
// CHECK-NEXT:   tir.for %i.outer in 4 {
// CHECK-NEXT:     tir.for vectorized %i.inner in 16 {
// CHECK-NEXT:       %{{.*}} = arith.constant 1.000000e+00 : f32 loc("div"("net.onnx":3:0))
// CHECK:            %{{.*}} = arith.negf %{{.*}} : f32 loc("neg"("net.onnx":0:0))
// CHECK-NEXT:       %{{.*}} = math.exp %{{.*}} : f32 loc("exp"("net.onnx":1:0))
// CHECK-NEXT:       %{{.*}} = arith.constant 1.000000e+00 : f32 loc("add"("net.onnx":2:0))
// CHECK-NEXT:       %{{.*}} = arith.addf %{{.*}}, %{{.*}} : f32 loc("add"("net.onnx":2:0))
// CHECK-NEXT:       %{{.*}} = arith.divf %{{.*}}, %{{.*}} : f32 loc("div"("net.onnx":3:0))
// CHECK-NEXT:       tir.store %{{.*}}, %out[%i.outer * 16 + %i.inner] : f32, !tir.buffer<64xf32> loc(fused["div"("net.onnx":3:0), "add"("net.onnx":2:0), "exp"("net.onnx":1:0), "neg"("net.onnx":0:0)])

// VECTOR:      %{{.*}} = arith.constant dense<1.000000e+00> : vector<16xf32> loc("div"("net.onnx":3:0))
// VECTOR-NEXT: %{{.*}} = tir.load %a[%i.outer * 16] : !tir.buffer<64xf32> -> vector<16xf32> loc("neg"("net.onnx":0:0))
// VECTOR-NEXT: %{{.*}} = arith.negf %{{.*}} : vector<16xf32> loc("neg"("net.onnx":0:0))
// VECTOR-NEXT: %{{.*}} = math.exp %{{.*}} : vector<16xf32> loc("exp"("net.onnx":1:0))
// VECTOR-NEXT: %{{.*}} = arith.constant dense<1.000000e+00> : vector<16xf32> loc("add"("net.onnx":2:0))
// VECTOR-NEXT: %{{.*}} = arith.addf %{{.*}}, %{{.*}} : vector<16xf32> loc("add"("net.onnx":2:0))
// VECTOR-NEXT: %{{.*}} = arith.divf %{{.*}}, %{{.*}} : vector<16xf32> loc("div"("net.onnx":3:0))
// VECTOR-NEXT: tir.store %{{.*}}, %out[%i.outer * 16] : vector<16xf32>, !tir.buffer<64xf32> loc(fused["div"("net.onnx":3:0), "add"("net.onnx":2:0), "exp"("net.onnx":1:0), "neg"("net.onnx":0:0)])

te.func @sigmoid(%a: tensor<64xf32> loc("neg"("net.onnx":0:0))) -> (tensor<64xf32>) {
  %b = te.compute "b" (%i in 64) : tensor<64xf32> {
    %0 = te.read %a[%i] : tensor<64xf32> loc("neg"("net.onnx":0:0))
    %1 = arith.negf %0 : f32 loc("neg"("net.onnx":0:0))
    te.yield %1 : f32 loc("neg"("net.onnx":0:0))
  } loc("neg"("net.onnx":0:0))
  %c = te.compute "c" (%i in 64) : tensor<64xf32> {
    %0 = te.read %b[%i] : tensor<64xf32> loc("exp"("net.onnx":1:0))
    %1 = math.exp %0 : f32 loc("exp"("net.onnx":1:0))
    te.yield %1 : f32 loc("exp"("net.onnx":1:0))
  } loc("exp"("net.onnx":1:0))
  %d = te.compute "d" (%i in 64) : tensor<64xf32> {
    %0 = te.read %c[%i] : tensor<64xf32> loc("add"("net.onnx":2:0))
    %1 = arith.constant 1.0 : f32 loc("add"("net.onnx":2:0))
    %2 = arith.addf %0, %1 : f32 loc("add"("net.onnx":2:0))
    te.yield %2 : f32 loc("add"("net.onnx":2:0))
  } loc("add"("net.onnx":2:0))
  %e = te.compute "e" (%i in 64) : tensor<64xf32> {
    %0 = arith.constant 1.0 : f32 loc("div"("net.onnx":3:0))
    %1 = te.read %d[%i] : tensor<64xf32> loc("div"("net.onnx":3:0))
    %2 = arith.divf %0, %1 : f32 loc("div"("net.onnx":3:0))
    te.yield %2 : f32 loc("div"("net.onnx":3:0))
  } loc("div"("net.onnx":3:0))
  te.return %e : tensor<64xf32> loc(fused["neg"("net.onnx":0:0), "exp"("net.onnx":1:0), "add"("net.onnx":2:0), "div"("net.onnx":3:0)])
} loc(fused["neg"("net.onnx":0:0), "exp"("net.onnx":1:0), "add"("net.onnx":2:0), "div"("net.onnx":3:0)])
schedule.sequence @sigmoid {
  %b = schedule.stage "b" loc("neg"("net.onnx":0:0))
  schedule.compute_inline %b loc("neg"("net.onnx":0:0))
  %c = schedule.stage "c" loc("exp"("net.onnx":1:0))
  schedule.compute_inline %c loc("exp"("net.onnx":1:0))
  %d = schedule.stage "d" loc("add"("net.onnx":2:0))
  schedule.compute_inline %d loc("add"("net.onnx":2:0))
  %e = schedule.stage "e" loc("div"("net.onnx":3:0))
  %i = schedule.axes %e : 1 loc("div"("net.onnx":3:0))
  %i.outer, %i.inner = schedule.split %i factor 16 loc("div"("net.onnx":3:0))
  schedule.vectorize %i.inner loc("div"("net.onnx":3:0))
} loc(fused["neg"("net.onnx":0:0), "exp"("net.onnx":1:0), "add"("net.onnx":2:0), "div"("net.onnx":3:0)])
