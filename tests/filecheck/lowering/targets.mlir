// RUN: xdsl-opt %s -t 'whence-llvm{target="llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell"}' | filecheck %s --check-prefix=LLVM
// RUN: xdsl-opt %s -t 'whence-asm{target="llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell"}' | filecheck %s --check-prefix=ASM

// LLVM:       target triple = "x86_64-unknown-linux-gnu"
// LLVM-NEXT:  define void @scale(ptr noalias readonly %v1_, ptr noalias %v2_, ptr %v3_, ptr %v4_) nounwind "prefer-vector-width"="256" {
// LLVM:       fmul <8 x float>
// LLVM:       define i32 @three() "prefer-vector-width"="256" {
// LLVM-NEXT:  bb0:
// LLVM-NEXT:    ret i32 3

// ASM:      scale:
// ASM:        # dense1 | %0 = tir.load %x[%i * 8] : !tir.buffer<64xf32> -> vector<8xf32>
// ASM-NEXT:     vmovups
// ASM-NEXT:   # scale1 | %1 = arith.addf %0, %0 : vector<8xf32>
// ASM-NEXT:     vaddps
// ASM:      three:
// ASM-NEXT:   movl $3, %eax
tir.prim_func @scale(%x: !tir.buffer<64xf32>, %y: !tir.buffer<64xf32>) outputs 1 {
  tir.for %i in 8 {
    %0 = tir.load %x[%i * 8] : !tir.buffer<64xf32> -> vector<8xf32> loc("dense1")
    %1 = arith.addf %0, %0 : vector<8xf32> loc("scale1")
    %2 = arith.mulf %1, %0 : vector<8xf32> loc("scale1")
    tir.store %2, %y[%i * 8] : vector<8xf32>, !tir.buffer<64xf32> loc("scale1")
  } loc("scale1")
} loc("scale1")

llvm.func @three() -> i32 {
  %0 = llvm.mlir.constant(3 : i32) : i32
  llvm.return %0 : i32
}
