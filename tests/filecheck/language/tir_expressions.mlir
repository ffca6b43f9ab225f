// RUN: whence-opt %s -p tir-lower-intrin | filecheck %s
// RUN: whence-opt %s -p "tir-lower-intrin,convert-tir-to-llvm" | filecheck %s --check-prefix LLVM

// Numbers of many kinds: casts, comparisons, choices, functions that become formulas, and one of the C library.

// CHECK:      arith.fptosi %{{.*}} : f32 to i32
// CHECK:      arith.cmpf ogt
// CHECK-NOT:  math.asin
// CHECK:      math.sqrt
// CHECK:      tir.call_extern "expf"(%{{.*}}) : (f32) -> f32
// LLVM:       llvm.func @numbers
// LLVM:       llvm_ext.fptosi
// LLVM:       llvm.call @expf
tir.prim_func @numbers(%x: !tir.buffer<8xf32>, %n: !tir.buffer<8xi32>, %y: !tir.buffer<8xf32>) outputs 2 {
  %zero = arith.constant 0.0 : f32
  tir.for %i in 8 {
    %0 = tir.load %x[%i] : !tir.buffer<8xf32> -> f32
    %1 = arith.fptosi %0 : f32 to i32
    %2 = tir.index [%i * 2 + 1] : index
    %3 = arith.index_cast %2 : index to i32
    %4 = arith.addi %1, %3 : i32
    tir.store %4, %n[%i] : i32, !tir.buffer<8xi32>
    %5 = arith.cmpf ogt, %0, %zero : f32
    %6 = math.asin %0 : f32
    %7 = tir.call_extern "expf"(%0) : (f32) -> f32
    %8 = arith.select %5, %6, %7 : f32
    tir.store %8, %y[%i] : f32, !tir.buffer<8xf32>
  }
}
