// RUN: whence-opt %s -p convert-te-to-tir | filecheck %s

// A loop variable as a number, compared with one that is read.

// CHECK:      tir.prim_func @one_hot(%ids: !tir.buffer<8xi64>, %out: !tir.buffer<8x10xi8>) outputs 1 {
// CHECK-NEXT:   tir.for %i in 8 {
// CHECK-NEXT:     tir.for %j in 10 {
// CHECK-NEXT:       %{{.*}} = tir.load %ids[%i] : !tir.buffer<8xi64> -> i64
// CHECK-NEXT:       %{{.*}} = tir.index [%j] : index
// CHECK-NEXT:       %{{.*}} = arith.index_cast %{{.*}} : index to i32
// CHECK:            %{{.*}} = arith.cmpi eq, %{{.*}}, %{{.*}} : i64
// CHECK:            %{{.*}} = arith.select %{{.*}}, %{{.*}}, %{{.*}} : i8
// CHECK-NEXT:       tir.store %{{.*}}, %out[%i, %j] : i8, !tir.buffer<8x10xi8>

te.func @one_hot(%ids: tensor<8xi64>) -> (tensor<8x10xi8>) {
  %hot = te.compute "hot" (%i in 8, %j in 10) : tensor<8x10xi8> {
    %0 = te.read %ids[%i] : tensor<8xi64>
    %1 = te.index [%j]
    %2 = arith.index_cast %1 : index to i32
    %3 = arith.extsi %2 : i32 to i64
    %4 = arith.cmpi eq, %0, %3 : i64
    %5 = arith.constant 1 : i8
    %6 = arith.constant 0 : i8
    %7 = arith.select %4, %5, %6 : i8
    te.yield %7 : i8
  }
  te.return %hot : tensor<8x10xi8>
}
