// RUN: whence-opt %s -p schedule-apply | filecheck %s
// RUN: whence-opt %s -p "convert-te-to-tir,tir-simplify,tir-vectorize" | filecheck %s --check-prefix VECTOR

// Products of int8 are summed in int32, then rounded and narrowed with 16 lanes.

// CHECK:      tir.prim_func @quantized(%A: !tir.buffer<8x32xi8>, %B: !tir.buffer<16x32xi8>, %out: !tir.buffer<8x16xi8>) outputs 1 {
// CHECK-NEXT:   %C = tir.alloc : !tir.buffer<1x16xi32>
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     tir.for %j in 16 {
// CHECK:            tir.store %{{.*}}, %C[0, %j] : i32, !tir.buffer<1x16xi32>
// CHECK-NEXT:       tir.for %k in 32 {
// CHECK:              %{{.*}} = arith.extsi %{{.*}} : i8 to i32
// CHECK:              %{{.*}} = arith.extsi %{{.*}} : i8 to i32
// CHECK-NEXT:         %{{.*}} = arith.muli %{{.*}}, %{{.*}} : i32
// CHECK:              tir.store %{{.*}}, %C[0, %j] : i32, !tir.buffer<1x16xi32>
// CHECK:          tir.for vectorized %j_1 in 16 {
// CHECK:            %{{.*}} = arith.shrsi %{{.*}}, %{{.*}} : i32
// CHECK-NEXT:       %{{.*}} = arith.trunci %{{.*}} : i32 to i8
// CHECK-NEXT:       tir.store %{{.*}}, %out[%i, %j_1] : i8, !tir.buffer<8x16xi8>

// VECTOR:      %{{.*}} = tir.load %C[0, 0] : !tir.buffer<1x16xi32> -> vector<16xi32>
// VECTOR:      %{{.*}} = arith.constant dense<8> : vector<16xi32>
// VECTOR-NEXT: %{{.*}} = arith.addi %{{.*}}, %{{.*}} : vector<16xi32>
// VECTOR:      %{{.*}} = arith.constant dense<4> : vector<16xi32>
// VECTOR-NEXT: %{{.*}} = arith.shrsi %{{.*}}, %{{.*}} : vector<16xi32>
// VECTOR-NEXT: %{{.*}} = tir.cast trunci %{{.*}} : vector<16xi32> to vector<16xi8>
// VECTOR-NEXT: tir.store %{{.*}}, %out[%i, 0] : vector<16xi8>, !tir.buffer<8x16xi8>

te.func @quantized(%A: tensor<8x32xi8>, %B: tensor<16x32xi8>) -> (tensor<8x16xi8>) {
  %C = te.compute "C" (%i in 8, %j in 16) sum(%k in 32) : tensor<8x16xi32> {
    %0 = te.read %A[%i, %k] : tensor<8x32xi8>
    %1 = arith.extsi %0 : i8 to i32
    %2 = te.read %B[%j, %k] : tensor<16x32xi8>
    %3 = arith.extsi %2 : i8 to i32
    %4 = arith.muli %1, %3 : i32
    te.yield %4 : i32
  }
  %D = te.compute "D" (%i in 8, %j in 16) : tensor<8x16xi8> {
    %0 = te.read %C[%i, %j] : tensor<8x16xi32>
    %1 = arith.constant 8 : i32
    %2 = arith.addi %0, %1 : i32
    %3 = arith.constant 4 : i32
    %4 = arith.shrsi %2, %3 : i32
    %5 = arith.trunci %4 : i32 to i8
    te.yield %5 : i8
  }
  te.return %D : tensor<8x16xi8>
}
schedule.sequence @quantized {
  %D = schedule.stage "D"
  %i, %j = schedule.axes %D : 2
  schedule.vectorize %j
  %C = schedule.stage "C"
  schedule.compute_at %C, %D, %i
}
