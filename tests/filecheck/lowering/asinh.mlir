// RUN: whence-opt %s -p "convert-relay-to-te" --print-debuginfo | filecheck %s --check-prefix=TE
// RUN: whence-opt %s -p "convert-relay-to-te,convert-te-to-tir" --print-debuginfo | filecheck %s --check-prefix=TIR
// RUN: whence-opt %s -p "convert-relay-to-te,convert-te-to-tir,tir-pipeline" --print-debuginfo | filecheck %s --check-prefix=LATE
// RUN: whence-opt %s -p "convert-relay-to-te,convert-te-to-tir,tir-pipeline,convert-tir-to-llvm" --print-debuginfo | filecheck %s --check-prefix=LLVM

// One operator through every level, each time at its layer: a compute, a loop, arithmetic on vectors, no call.

// TE:      te.compute "asinh"
// TE:        math.asinh {{.*}} : f32 loc("squash"("m.onnx":0:0))
// TIR:     tir.for
// TIR:       math.asinh {{.*}} : f32 loc("squash"("m.onnx":0:0))
// TIR:       tir.store
// LATE-NOT:  math.asinh
// LATE:      math.sqrt {{.*}} : vector<{{[0-9]+}}xf32> loc("squash"("m.onnx":0:0))
// LATE:      math.copysign {{.*}} : vector<{{[0-9]+}}xf32> loc("squash"("m.onnx":0:0))
// LATE-NOT:  math.asinh
// LLVM-NOT:  llvm.call @
// LLVM:      llvm.fdiv {{.*}} loc("squash"("m.onnx":0:0))
// LLVM-NOT:  llvm.call @
// LLVM:      llvm.store {{.*}} loc("squash"("m.onnx":0:0))
relay.func primitive @asinh(%p0: tensor<64xf32> loc("x")) -> (tensor<64xf32>) {
  %0 = relay.asinh %p0 : (tensor<64xf32>) -> tensor<64xf32> loc("squash"("m.onnx":0:0))
  relay.return %0 : tensor<64xf32> loc("squash"("m.onnx":0:0))
} loc("squash"("m.onnx":0:0))
