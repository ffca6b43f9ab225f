// RUN: whence-opt -p tir-tile-products --audit --print-debuginfo %s | filecheck %s
// RUN: whence-opt -p tir-tile-products,tir-lower-tiles --audit --print-debuginfo %s | filecheck %s --check-prefix=VECTORS
// RUN: whence-opt -p "tir-tile-products,tir-lower-tiles{if_refused=true}" --audit %s | filecheck %s --check-prefix=BOTH

// Products have the location of the product, loads and stores of those that they stand for, zeros that of the first
// sums, loops over terms that of the loops, and a configuration those of all tiles.

// CHECK:      tir.for parallel %n in 2
// CHECK:        tir.tile_config rows [10, 10, 11, 11, 10, 11, 16, 16] words [16, 16, 16, 16, 16, 16, 16, 16] loc(fused["zero", "terms", "sum"
// CHECK-NEXT:   tir.tile_zero 0 as [10, 16] loc("zero")
// CHECK-NEXT:   tir.tile_zero 1 as [10, 16] loc("zero")
// CHECK-NEXT:   tir.tile_zero 2 as [11, 16] loc("zero")
// CHECK-NEXT:   tir.tile_zero 3 as [11, 16] loc("zero")
// CHECK-NEXT:   tir.for %k in 2
// CHECK-NEXT:     tir.tile_load 6, %b[%n, %k * 16, 0] step 32 as [16, 16] : {{.*}} loc("weight")
// CHECK-NEXT:     tir.tile_load 4, %a[0, %k * 16] step 32 as [10, 16] : {{.*}} loc("data")
// CHECK-NEXT:     tir.tile_dot "u8s8" 0, 4, 6 as [10, 16, 16] loc("product")
// CHECK-NEXT:     tir.tile_load 5, %a[10, %k * 16] step 32 as [11, 16] : {{.*}} loc("data")
// CHECK-NEXT:     tir.tile_dot "u8s8" 2, 5, 6 as [11, 16, 16] loc("product")
// CHECK-NEXT:     tir.tile_load 7, %b[%n, %k * 16, 16] step 32 as [16, 16] : {{.*}} loc("weight")
// CHECK-NEXT:     tir.tile_dot "u8s8" 1, 4, 7 as [10, 16, 16] loc("product")
// CHECK-NEXT:     tir.tile_dot "u8s8" 3, 5, 7 as [11, 16, 16] loc("product")
// CHECK-NEXT:   } loc("terms")
// CHECK-NEXT:   tir.tile_store 0, %sums[0, 0] step 32 as [10, 16] : {{.*}} loc("sum")
// CHECK-NEXT:   tir.tile_store 1, %sums[0, 16] step 32 as [10, 16] : {{.*}} loc("sum")
// CHECK-NEXT:   tir.tile_store 2, %sums[10, 0] step 32 as [11, 16] : {{.*}} loc("sum")
// CHECK-NEXT:   tir.tile_store 3, %sums[10, 16] step 32 as [11, 16] : {{.*}} loc("sum")

// VECTORS:      %tile0 = tir.alloc : !tir.buffer<10x16xi32, local> loc(fused["zero", "terms", "sum"
// VECTORS:      tir.dot4 {{.*}} : vector<16xi32> loc("product")
// VECTORS-NOT:  tir.tile_

// BOTH:      %[[ALLOWED:.*]] = tir.call_extern "whence_tiles_allowed"() : () -> i32
// BOTH-NEXT: %[[NUMBER:.*]] = arith.index_cast %[[ALLOWED]] : i32 to index
// BOTH-NEXT: tir.if [%[[NUMBER]] - 1] >= 0 {
// BOTH:        tir.tile_dot
// BOTH:      } else {
// BOTH-NOT:    tir.tile_
// BOTH:        tir.dot4 {{.*}} : vector<16xi32>
tir.prim_func @f(%a: !tir.buffer<21x32xi32>, %b: !tir.buffer<2x32x32xi32>, %out: !tir.buffer<21x64xi32>) outputs 1 {
  tir.for parallel %n in 2 {
    %sums = tir.alloc : !tir.buffer<21x32xi32, local> loc("sum")
    tir.for %i in 21 {
      tir.for %j in 32 {
        %z = arith.constant 0 : i32 loc("zero")
        tir.store %z, %sums[%i, %j] : i32, !tir.buffer<21x32xi32, local> loc("zero")
      } loc("zero")
    } loc("zero")
    tir.for %m in 21 {
      tir.for %j in 32 {
        tir.for %k in 32 attributes {"pragma_tiles" = 1 : i64} {
          %0 = tir.load %sums[%m, %j] : !tir.buffer<21x32xi32, local> -> i32 loc("sum")
          %1 = tir.load %a[%m, %k] : !tir.buffer<21x32xi32> -> i32 loc("data")
          %2 = tir.load %b[%n, %k, %j] : !tir.buffer<2x32x32xi32> -> i32 loc("weight")
          %3 = tir.dot4 %1, %2 : i32 loc("product")
          %4 = arith.addi %0, %3 : i32 loc("sum")
          tir.store %4, %sums[%m, %j] : i32, !tir.buffer<21x32xi32, local> loc("sum")
        } loc("terms")
      } loc("loops")
    } loc("loops")
    tir.for %m in 21 {
      tir.for %j in 32 {
        %0 = tir.load %sums[%m, %j] : !tir.buffer<21x32xi32, local> -> i32 loc("end")
        tir.store %0, %out[%m, %n * 32 + %j] : i32, !tir.buffer<21x64xi32> loc("end")
      } loc("end")
    } loc("end")
  } loc("loops")
} loc("f")
