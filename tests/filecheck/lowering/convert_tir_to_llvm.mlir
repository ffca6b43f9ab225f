// RUN: whence-opt %s -p "convert-tir-to-llvm" --print-debuginfo | filecheck %s

// The loop runs its body before it tests; a number is computed once for the load and the store, which it serves both, and
// an address moves inwards loop by loop.
// CHECK-LABEL: llvm.func @relu(%x: !llvm.ptr {llvm.noalias, llvm.readonly}
// CHECK-SAME:    %y: !llvm.ptr {llvm.noalias}
tir.prim_func @relu(%x: !tir.buffer<4x64xf32>, %y: !tir.buffer<4x64xf32>) outputs 1 {
  // CHECK:      llvm.br ^bb{{[0-9]+}}(%{{.*}} : i64) loc("relu1")
  // CHECK-NEXT: ^bb{{[0-9]+}}(%i: i64 loc("relu1")):
  // CHECK-NEXT:   %[[I:[0-9]+]] = llvm.mul %i, %{{[0-9]+}} overflow<nsw> : i64 loc(fused["conv1", "relu1"])
  // CHECK-NEXT:   %[[X:[0-9]+]] = llvm.getelementptr %x[%[[I]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32 loc("conv1")
  // CHECK-NEXT:   %[[Y:[0-9]+]] = llvm.getelementptr %y[%[[I]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32 loc("relu1")
  tir.for %i in 4 {
    // CHECK:      ^bb{{[0-9]+}}(%j: i64 loc("relu1")):
    // CHECK-NEXT:   %[[J:[0-9]+]] = llvm.mul %j, %{{[0-9]+}} overflow<nsw> : i64 loc(fused["conv1", "relu1"])
    tir.for unrolled %j in 4 {
      // CHECK-NEXT: %[[P:[0-9]+]] = llvm.getelementptr %[[X]][%[[J]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32 loc("conv1")
      // CHECK-NEXT: llvm.load %[[P]] {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32> loc("conv1")
      %0 = tir.load %x[%i, %j * 16] : !tir.buffer<4x64xf32> -> vector<16xf32> loc("conv1")
      %z = arith.constant dense<0.0> : vector<16xf32> loc("relu1")
      // CHECK-NEXT: llvm.call_intrinsic "llvm.maximum.v16f32"({{.*}}) : {{.*}} loc("relu1")
      %1 = arith.maximumf %0, %z : vector<16xf32> loc("relu1")
      // CHECK-NEXT: %[[Q:[0-9]+]] = llvm.getelementptr %[[Y]][%[[J]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32 loc("relu1")
      // CHECK-NEXT: llvm.store %{{[0-9]+}}, %[[Q]] {alignment = 4 : i64} : vector<16xf32>, !llvm.ptr loc("relu1")
      tir.store %1, %y[%i, %j * 16] : vector<16xf32>, !tir.buffer<4x64xf32> loc("relu1")
      // CHECK:      llvm.icmp "slt" {{.*}} loc("relu1")
      // CHECK-NEXT: llvm.cond_br {{.*}} {llvm_ext.unroll = "full"} loc("relu1")
    } loc("relu1")
    // CHECK: llvm.cond_br {{.*}} {llvm_ext.unroll = "disable"} loc("relu1")
  } loc("relu1")
} loc("relu1")

// A guard is one test; what the loop bounds prove is left out; the load stands behind the branch, its address before it.
// CHECK-LABEL: llvm.func @guard
tir.prim_func @guard(%x: !tir.buffer<8xf32>, %y: !tir.buffer<8xf32>) outputs 1 {
  tir.for %i in 8 attributes {unroll = 2 : i64} {
    // CHECK:      %[[LOW:[0-9]+]] = llvm.add %i_1, {{.*}} loc("pad")
    // CHECK:      %[[BOTH:[0-9]+]] = llvm.or %[[LOW]], %{{[0-9]+}} : i64 loc("pad")
    // CHECK-NEXT: %[[OK:[0-9]+]] = llvm.icmp "sge" %[[BOTH]], {{.*}} loc("pad")
    // CHECK-NEXT: %[[X:[0-9]+]] = llvm.getelementptr %x_1[%i_1] : (!llvm.ptr, i64) -> !llvm.ptr, f32 loc("pad")
    // CHECK-NEXT: %[[AT:[0-9]+]] = llvm.getelementptr %[[X]][%{{[0-9]+}}] : (!llvm.ptr, i64) -> !llvm.ptr, f32 loc("pad")
    // CHECK-NEXT: %{{[0-9]+}} = llvm.getelementptr %y_1[%i_1] : (!llvm.ptr, i64) -> !llvm.ptr, f32 loc("pad")
    // CHECK-NEXT: llvm.cond_br %[[OK]], ^[[IN:bb[0-9]+]], ^[[OUT:bb[0-9]+]](%{{[0-9]+}} : f32) loc("pad")
    // CHECK-NEXT: ^[[IN]]:
    // CHECK-NEXT:   llvm.load %[[AT]]
    // CHECK-NEXT:   llvm.br ^[[OUT]](
    // CHECK-NEXT: ^[[OUT]](%{{[0-9]+}}: f32 loc("pad")):
    %0 = tir.load %x[%i - 2] if [%i - 2, 5 - %i, 9 - %i] >= 0 else 1.0 : f32 : !tir.buffer<8xf32> -> f32 loc("pad")
    // CHECK: llvm.cond_br {{.*}} {llvm_ext.unroll = 2 : i64}
    tir.store %0, %y[%i] : f32, !tir.buffer<8xf32> loc("pad")
  } loc("pad")
} loc("pad")
