// RUN: whence-opt %s --print-op-generic | whence-opt | filecheck %s
// RUN: whence-opt %s | whence-opt | filecheck %s

// CHECK:      %m = tir.mask [%i * -8 + 12, %i] steps [-1, 2] >= 0 : vector<8xi1>
// CHECK-NEXT: %all = tir.mask [] steps [] >= 0 : vector<8xi1>
// CHECK-NEXT: %0 = tir.masked_load %m, %a[%i * 8] else dense<0.000000e+00> : vector<8xf32> : !tir.buffer<13xf32> -> vector<8xf32>
// CHECK-NEXT: %1 = tir.masked_load %all, %a[%i + 5] else dense<1.000000e+00> : vector<8xf32> stride -2 : !tir.buffer<13xf32> -> vector<8xf32>
// CHECK-NEXT: tir.masked_store %0, %m, %b[%i * 8] : vector<8xf32>, !tir.buffer<13xf32>
// CHECK-NEXT: tir.masked_store %1, %all, %b[%i] stride 3 : vector<8xf32>, !tir.buffer<13xf32>
tir.prim_func @f(%a: !tir.buffer<13xf32>, %b: !tir.buffer<13xf32>) outputs 1 {
  tir.for %i in 2 {
    %m = tir.mask [%i * -8 + 12, %i] steps [-1, 2] >= 0 : vector<8xi1>
    %all = tir.mask [] steps [] >= 0 : vector<8xi1>
    %0 = tir.masked_load %m, %a[%i * 8] else dense<0.0> : vector<8xf32> : !tir.buffer<13xf32> -> vector<8xf32>
    %1 = tir.masked_load %all, %a[%i + 5] else dense<1.0> : vector<8xf32> stride -2 : !tir.buffer<13xf32> -> vector<8xf32>
    tir.masked_store %0, %m, %b[%i * 8] : vector<8xf32>, !tir.buffer<13xf32>
    tir.masked_store %1, %all, %b[%i] stride 3 : vector<8xf32>, !tir.buffer<13xf32>
  }
}
