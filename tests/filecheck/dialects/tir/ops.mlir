// RUN: xdsl-opt %s --print-debuginfo | filecheck %s
// RUN: xdsl-opt %s --print-debuginfo | xdsl-opt --print-debuginfo | filecheck %s
// RUN: xdsl-opt %s --print-op-generic --print-debuginfo | xdsl-opt --print-debuginfo | filecheck %s
// RUN: xdsl-opt %s --print-op-generic --print-debuginfo | filecheck %s --check-prefix=GENERIC

// CHECK:      tir.prim_func @loops(%a: !tir.buffer<4x64xf32> loc("a"), %out: !tir.buffer<4x64xf32> loc("conv1"("m.onnx":4:0))) outputs 1 {
// CHECK-NEXT:   %t = tir.alloc : !tir.buffer<16xf32, local> loc("conv1"("m.onnx":4:0))
// CHECK-NEXT:   tir.for parallel %i in 4 {
// CHECK-NEXT:     tir.for %j in 4 {
// CHECK-NEXT:       %0 = tir.load %a[%i, %j * 16] : !tir.buffer<4x64xf32> -> vector<16xf32> loc("conv1"("m.onnx":4:0))
// CHECK-NEXT:       tir.store %0, %out[%i, %j * 16 + 15] stride -1 : vector<16xf32>, !tir.buffer<4x64xf32> loc("relu1"("m.onnx":5:0))
// CHECK-NEXT:       tir.for vectorized %v in 16 {
// CHECK-NEXT:         tir.for unrolled %u in 2 {
// CHECK-NEXT:           %1 = tir.load %a[(%i + %u - 1) mod 4, (%v * 2) floordiv 2] if [%v - 1, %u * -1 + 1] >= 0 else -1.000000e+00 : f32 : !tir.buffer<4x64xf32> -> f32 loc("conv1"("m.onnx":4:0))
// CHECK-NEXT:           tir.store %1, %t[%v] : f32, !tir.buffer<16xf32, local> loc("conv1"("m.onnx":4:0))
// CHECK-NEXT:         } loc("conv1"("m.onnx":4:0))
// CHECK-NEXT:       } loc("conv1"("m.onnx":4:0))
// CHECK-NEXT:     } loc(fused["conv1"("m.onnx":4:0), "relu1"("m.onnx":5:0)])
// CHECK-NEXT:   } loc(fused["conv1"("m.onnx":4:0), "relu1"("m.onnx":5:0)])
// CHECK-NEXT: } loc("f")

// GENERIC:      "tir.prim_func"() <{sym_name = "loops", outputs = 1 : i64}> ({
// GENERIC-NEXT: ^bb0(%a: !tir.buffer<4x64xf32> loc("a"), %out: !tir.buffer<4x64xf32> loc("conv1"("m.onnx":4:0))):
// GENERIC-NEXT:   %t = "tir.alloc"() : () -> !tir.buffer<16xf32, local> loc("conv1"("m.onnx":4:0))
// GENERIC:          "tir.load"(%a, %i, %j) <{map = affine_map<(d0, d1) -> (d0, (d1 * 16))>, stride = 1 : i64}> : (!tir.buffer<4x64xf32>, index, index) -> vector<16xf32> loc("conv1"("m.onnx":4:0))
tir.prim_func @loops(%a: !tir.buffer<4x64xf32> loc("a"), %out: !tir.buffer<4x64xf32> loc("conv1"("m.onnx":4:0))) outputs 1 {
  %t = tir.alloc : !tir.buffer<16xf32, local> loc("conv1"("m.onnx":4:0))
  tir.for parallel %i in 4 {
    tir.for %j in 4 {
      %0 = tir.load %a[%i, %j * 16] : !tir.buffer<4x64xf32> -> vector<16xf32> loc("conv1"("m.onnx":4:0))
      tir.store %0, %out[%i, 16 * %j + 15] stride -1 : vector<16xf32>, !tir.buffer<4x64xf32> loc("relu1"("m.onnx":5:0))
      tir.for vectorized %v in 16 {
        tir.for unrolled %u in 2 {
          %1 = tir.load %a[(%i + %u - 1) mod 4, (%v * 2) floordiv 2] if [%v - 1, 1 - %u] >= 0 else -1.0 : f32 : !tir.buffer<4x64xf32> -> f32 loc("conv1"("m.onnx":4:0))
          tir.store %1, %t[%v] : f32, !tir.buffer<16xf32, local> loc("conv1"("m.onnx":4:0))
        } loc("conv1"("m.onnx":4:0))
      } loc("conv1"("m.onnx":4:0))
    } loc(fused["conv1"("m.onnx":4:0), "relu1"("m.onnx":5:0)])
  } loc(fused["conv1"("m.onnx":4:0), "relu1"("m.onnx":5:0)])
} loc("f")

// CHECK:      tir.prim_func @scalars(%x: !tir.buffer<f32>
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     tir.if likely [%i * -1 + 5] >= 0 {
// CHECK-NEXT:       %0 = tir.load %x[] : !tir.buffer<f32> -> f32 loc("b")
// CHECK-NEXT:       %1 = tir.call_extern "expf"(%0) : (f32) -> f32 loc("exp")
// CHECK-NEXT:       tir.store %1, %y[%i] : f32, !tir.buffer<8xf32> loc("exp")
// CHECK-NEXT:     } else {
// CHECK-NEXT:       %2 = tir.load %z[%i] : !tir.buffer<8xui8> -> i8 loc("z")
// CHECK-NEXT:     } loc("if")
// CHECK-NEXT:     tir.if [%i - 1, %i * -1 + 3] >= 0 {
// CHECK-NEXT:       %3 = tir.index [%i * 2 + 1] : index loc("k")
// CHECK-NEXT:       %4 = tir.index [%i * 16] stride 1 : vector<16xindex> loc("k")
// CHECK-NEXT:       %5 = tir.cast index_cast %4 : vector<16xindex> to vector<16xi32> loc("c")
// CHECK-NEXT:       %6 = tir.cast sitofp %5 : vector<16xi32> to vector<16xf32> loc("c")
// CHECK-NEXT:       %7 = tir.compare ogt %6, %6 : vector<16xf32> loc("cmp")
// CHECK-NEXT:       %8 = tir.compare slt %5, %5 : vector<16xi32> loc("cmp")
// CHECK-NEXT:       %9 = tir.select %7, %6, %6 : vector<16xi1>, vector<16xf32> loc("sel")
// CHECK-NEXT:     } loc("if")
tir.prim_func @scalars(%x: !tir.buffer<f32>, %z: !tir.buffer<8xui8>, %y: !tir.buffer<8xf32>) outputs 1 {
  tir.for %i in 8 {
    tir.if likely [5 - %i] >= 0 {
      %0 = tir.load %x[] : !tir.buffer<f32> -> f32 loc("b")
      %1 = tir.call_extern "expf"(%0) : (f32) -> f32 loc("exp")
      tir.store %1, %y[%i] : f32, !tir.buffer<8xf32> loc("exp")
    } else {
      %2 = tir.load %z[%i] : !tir.buffer<8xui8> -> i8 loc("z")
    } loc("if")
    tir.if [%i - 1, 3 - %i] >= 0 {
      %3 = tir.index [%i * 2 + 1] : index loc("k")
      %4 = tir.index [%i * 16] stride 1 : vector<16xindex> loc("k")
      %5 = tir.cast index_cast %4 : vector<16xindex> to vector<16xi32> loc("c")
      %6 = tir.cast sitofp %5 : vector<16xi32> to vector<16xf32> loc("c")
      %7 = tir.compare ogt %6, %6 : vector<16xf32> loc("cmp")
      %8 = tir.compare slt %5, %5 : vector<16xi32> loc("cmp")
      %9 = tir.select %7, %6, %6 : vector<16xi1>, vector<16xf32> loc("sel")
    } loc("if")
  } loc("i")
} loc("s")

// CHECK:      tir.prim_func @empty() outputs 0 {
// CHECK-NEXT:   tir.for %i in 4 {
// CHECK-NEXT:     tir.if [%i - 1] >= 0 {
// CHECK-NEXT:     } else {
// CHECK-NEXT:     } loc("b")
// CHECK-NEXT:     tir.if [] >= 0 {
// CHECK-NEXT:     } loc("c")
// CHECK-NEXT:   } loc("a")
tir.prim_func @empty() outputs 0 {
  tir.for %i in 4 {
    tir.if [%i - 1] >= 0 {
    } else {
    } loc("b")
    tir.if [] >= 0 {
    } loc("c")
  } loc("a")
} loc("a")
