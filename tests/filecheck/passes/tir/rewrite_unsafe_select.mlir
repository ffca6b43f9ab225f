// RUN: whence-opt %s -p "tir-rewrite-unsafe-select" --print-debuginfo | filecheck %s

// The load of a place that only data knows happens where it is chosen; it moves behind the condition.
// CHECK-LABEL: tir.prim_func @load
tir.prim_func @load(%n: !tir.buffer<8xi32>, %a: !tir.buffer<8xf32>, %b: !tir.buffer<8xf32>) outputs 1 {
  %three = arith.constant 3 : i32 loc("c")
  tir.for %i in 8 {
    // CHECK:      %[[N:[0-9]+]] = tir.load %n[%i] : !tir.buffer<8xi32> -> i32 loc("n")
    // CHECK-NEXT: %[[K:[0-9]+]] = arith.index_cast %[[N]] : i32 to index loc("k")
    // CHECK-NEXT: %[[IF:[0-9]+]] = arith.cmpi slt, %[[N]], %three : i32 loc("if")
    // CHECK-NEXT: %[[E:[0-9]+]] = tir.load %a[%i] : !tir.buffer<8xf32> -> f32 loc("else")
    // CHECK-NEXT: %[[W:[0-9]+]] = arith.extui %[[IF]] : i1 to i64 loc("select")
    // CHECK-NEXT: %[[T:[0-9]+]] = arith.index_cast %[[W]] : i64 to index loc("select")
    // CHECK-NEXT: %[[V:[0-9]+]] = tir.load %a[%[[K]]] if [%[[T]] - 1] >= 0 else 0.000000e+00 : f32 : !tir.buffer<8xf32> -> f32 loc("then")
    // CHECK-NEXT: %[[X:[0-9]+]] = math.exp %[[V]] : f32 loc("exp")
    // CHECK-NEXT: arith.select %[[IF]], %[[X]], %[[E]] : f32 loc("select")
    %0 = tir.load %n[%i] : !tir.buffer<8xi32> -> i32 loc("n")
    %1 = arith.index_cast %0 : i32 to index loc("k")
    %2 = tir.load %a[%1] : !tir.buffer<8xf32> -> f32 loc("then")
    %3 = math.exp %2 : f32 loc("exp")
    %4 = arith.cmpi slt, %0, %three : i32 loc("if")
    %5 = tir.load %a[%i] : !tir.buffer<8xf32> -> f32 loc("else")
    %6 = arith.select %4, %3, %5 : f32 loc("select")
    tir.store %6, %b[%i] : f32, !tir.buffer<8xf32> loc("s")
  } loc("i")
} loc("f")

// Chosen where the condition does not hold; a guard of its own stays.
// CHECK-LABEL: tir.prim_func @orelse
tir.prim_func @orelse(%c: !tir.buffer<8xi1>, %a: !tir.buffer<6xf32>, %b: !tir.buffer<8xf32>) outputs 1 {
  %one = arith.constant 1.0 : f32 loc("c")
  tir.for %i in 8 {
    // CHECK: tir.load %a[%i - 1] if [%i - 1, %{{[0-9]+}} * -1] >= 0 else 5.000000e+00 : f32
    %0 = tir.load %c[%i] : !tir.buffer<8xi1> -> i1 loc("if")
    %1 = tir.load %a[%i - 1] if [%i - 1] >= 0 else 5.0 : f32 : !tir.buffer<6xf32> -> f32 loc("else")
    %2 = arith.select %0, %one, %1 : f32 loc("select")
    tir.store %2, %b[%i] : f32, !tir.buffer<8xf32> loc("s")
  } loc("i")
} loc("g")

// CHECK-LABEL: tir.prim_func @divide
tir.prim_func @divide(%n: !tir.buffer<8xi32>, %b: !tir.buffer<8xi32>) outputs 1 {
  %zero = arith.constant 0 : i32 loc("c")
  %nine = arith.constant 9 : i32 loc("c")
  tir.for %i in 8 {
    // CHECK:      %[[R:[0-9]+]] = arith.remsi %{{.*}}, %nine : i32 loc("rem")
    // CHECK-NEXT: %[[ONE:[0-9]+]] = arith.constant 1 : i32 loc("select")
    // CHECK-NEXT: %[[D:[0-9]+]] = arith.select %{{[0-9]+}}, %{{[0-9]+}}, %[[ONE]] : i32 loc("select")
    // CHECK-NEXT: %[[Q:[0-9]+]] = arith.divsi %nine, %[[D]] : i32 loc("div")
    // CHECK-NEXT: arith.select %{{[0-9]+}}, %[[Q]], %[[R]] : i32 loc("select")
    %0 = tir.load %n[%i] : !tir.buffer<8xi32> -> i32 loc("n")
    %1 = arith.cmpi ne, %0, %zero : i32 loc("if")
    %2 = arith.divsi %nine, %0 : i32 loc("div")
    %3 = arith.remsi %0, %nine : i32 loc("rem")
    %4 = arith.select %1, %2, %3 : i32 loc("select")
    tir.store %4, %b[%i] : i32, !tir.buffer<8xi32> loc("s")
  } loc("i")
} loc("h")
