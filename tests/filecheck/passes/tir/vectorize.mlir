// RUN: whence-opt %s -p "tir-vectorize" --print-debuginfo | filecheck %s

// Contiguous, strided, reversed and uniform accesses; what is the same for all lanes stays scalar.
// CHECK-LABEL: tir.prim_func @strides
// CHECK-NEXT:   tir.for %i in 4 {
// CHECK-NEXT:     %0 = tir.load %a[%i, 0] : !tir.buffer<4x16xf32> -> vector<16xf32> loc("row")
// CHECK-NEXT:     %1 = tir.load %b[0, %i] stride 4 : !tir.buffer<16x4xf32> -> vector<16xf32> loc("column")
// CHECK-NEXT:     %2 = tir.load %a[%i, 15] stride -1 : !tir.buffer<4x16xf32> -> vector<16xf32> loc("reversed")
// CHECK-NEXT:     %3 = tir.load %b[%i, 1] : !tir.buffer<16x4xf32> -> f32 loc("bias")
// CHECK-NEXT:     %4 = arith.negf %3 : f32 loc("neg")
// CHECK-NEXT:     %5 = vector.broadcast %4 : f32 to vector<16xf32> loc(fused["add", "sub"])
// CHECK-NEXT:     %6 = arith.addf %0, %5 : vector<16xf32> loc("add")
// CHECK-NEXT:     %7 = arith.subf %1, %5 : vector<16xf32> loc("sub")
// CHECK-NEXT:     %8 = math.fma %6, %7, %2 : vector<16xf32> loc("fma")
// CHECK-NEXT:     tir.store %8, %out[%i, 0] : vector<16xf32>, !tir.buffer<4x16xf32> loc("store")
// CHECK-NEXT:   } loc("i")
tir.prim_func @strides(%a: !tir.buffer<4x16xf32>, %b: !tir.buffer<16x4xf32>, %out: !tir.buffer<4x16xf32>) outputs 1 {
  tir.for %i in 4 {
    tir.for vectorized %j in 16 {
      %0 = tir.load %a[%i, %j] : !tir.buffer<4x16xf32> -> f32 loc("row")
      %1 = tir.load %b[%j, %i] : !tir.buffer<16x4xf32> -> f32 loc("column")
      %2 = tir.load %a[%i, 15 - %j] : !tir.buffer<4x16xf32> -> f32 loc("reversed")
      %3 = tir.load %b[%i, (%j + 16) floordiv 16] : !tir.buffer<16x4xf32> -> f32 loc("bias")
      %4 = arith.negf %3 : f32 loc("neg")
      %5 = arith.addf %0, %4 : f32 loc("add")
      %6 = arith.subf %1, %4 : f32 loc("sub")
      %7 = math.fma %5, %6, %2 : f32 loc("fma")
      tir.store %7, %out[%i, %j] : f32, !tir.buffer<4x16xf32> loc("store")
    } loc("j")
  } loc("i")
} loc("f")

// Constants and loop variables become vectors where they stand; the lane itself is an index; lanewise ops of tir where
// arith takes scalars only.
// CHECK-LABEL: tir.prim_func @numbers
// CHECK-NEXT:   %c = arith.constant 0.000000e+00 : f32 loc("zero")
// CHECK-NEXT:   %c_1 = arith.constant dense<0.000000e+00> : vector<8xf32> loc("zero")
// CHECK-NEXT:   tir.for %i in 4 {
// CHECK-NEXT:     %i_1 = vector.broadcast %i : index to vector<8xindex> loc("sum")
// CHECK-NEXT:     %j = tir.index [0] stride 1 : vector<8xindex> loc("sum")
// CHECK-NEXT:     %0 = tir.index [%i * 8 + 1] stride 2 : vector<8xindex> loc("index")
// CHECK-NEXT:     %1 = arith.addi %j, %i_1 : vector<8xindex> loc("sum")
// CHECK-NEXT:     %2 = arith.addi %0, %1 : vector<8xindex> loc("sum")
// CHECK-NEXT:     %3 = tir.cast index_cast %2 : vector<8xindex> to vector<8xi32> loc("cast")
// CHECK-NEXT:     %4 = tir.cast sitofp %3 : vector<8xi32> to vector<8xf32> loc("cast")
// CHECK-NEXT:     %5 = tir.load %a[0] : !tir.buffer<8xf32> -> vector<8xf32> loc("load")
// CHECK-NEXT:     %6 = tir.compare ogt %5, %c_1 : vector<8xf32> loc("compare")
// CHECK-NEXT:     %7 = tir.select %6, %5, %4 : vector<8xi1>, vector<8xf32> loc("select")
// CHECK-NEXT:     %8 = arith.cmpi eq, %i, %i : index loc("uniform")
// CHECK-NEXT:     %9 = arith.select %8, %7, %c_1 : vector<8xf32> loc("uniform")
// CHECK-NEXT:     tir.store %9, %out[0] : vector<8xf32>, !tir.buffer<8xf32> loc("store")
// CHECK-NEXT:   } loc("i")
// CHECK-NEXT:   tir.store %c_1, %out[0] : vector<8xf32>, !tir.buffer<8xf32> loc("fill")
tir.prim_func @numbers(%a: !tir.buffer<8xf32>, %out: !tir.buffer<8xf32>) outputs 1 {
  %c = arith.constant 0.0 : f32 loc("zero")
  tir.for %i in 4 {
    tir.for vectorized %j in 8 {
      %0 = tir.index [%i * 8 + %j * 2 + 1] : index loc("index")
      %1 = arith.addi %j, %i : index loc("sum")
      %2 = arith.addi %0, %1 : index loc("sum")
      %3 = arith.index_cast %2 : index to i32 loc("cast")
      %4 = arith.sitofp %3 : i32 to f32 loc("cast")
      %5 = tir.load %a[%j] : !tir.buffer<8xf32> -> f32 loc("load")
      %6 = arith.cmpf ogt, %5, %c : f32 loc("compare")
      %7 = arith.select %6, %5, %4 : f32 loc("select")
      %8 = arith.cmpi eq, %i, %i : index loc("uniform")
      %9 = arith.select %8, %7, %c : f32 loc("uniform")
      tir.store %9, %out[%j] : f32, !tir.buffer<8xf32> loc("store")
    } loc("j")
  } loc("i")
  tir.for vectorized %j in 8 {
    tir.store %c, %out[%j] : f32, !tir.buffer<8xf32> loc("fill")
  } loc("j")
} loc("g")

// Uniform guards stay; loops and ifs inside are kept around vector code; of nested loops the innermost wins.
// CHECK-LABEL: tir.prim_func @nested
// CHECK-NEXT:   tir.for %i in 4 {
// CHECK-NEXT:     %0 = tir.load %a[%i - 1, 0] if [%i - 1] >= 0 else dense<0.000000e+00> : vector<4xf32> : !tir.buffer<4x4xf32> -> vector<4xf32> loc("load")
// CHECK-NEXT:     tir.for %k in 3 {
// CHECK-NEXT:       tir.if [%i + %k * -1] >= 0 {
// CHECK-NEXT:         %1 = tir.load %out[%i, 0] : !tir.buffer<4x4xf32> -> vector<4xf32> loc("acc")
// CHECK-NEXT:         %2 = arith.addf %0, %1 : vector<4xf32> loc("add")
// CHECK-NEXT:         tir.store %2, %out[%i, 0] : vector<4xf32>, !tir.buffer<4x4xf32> loc("store")
// CHECK-NEXT:       } loc("if")
// CHECK-NEXT:     } loc("k")
// CHECK-NEXT:   } loc("i")
tir.prim_func @nested(%a: !tir.buffer<4x4xf32>, %out: !tir.buffer<4x4xf32>) outputs 1 {
  tir.for vectorized %i in 4 {
    tir.for vectorized %j in 4 {
      %0 = tir.load %a[%i - 1, %j] if [%i - 1, %j] >= 0 else 0.0 : f32 : !tir.buffer<4x4xf32> -> f32 loc("load")
      tir.for %k in 3 {
        tir.if [%i - %k, %j * 0 + 3 - %j] >= 0 {
          %1 = tir.load %out[%i, %j] : !tir.buffer<4x4xf32> -> f32 loc("acc")
          %2 = arith.addf %0, %1 : f32 loc("add")
          tir.store %2, %out[%i, %j] : f32, !tir.buffer<4x4xf32> loc("store")
        } loc("if")
      } loc("k")
    } loc("j")
  } loc("i")
} loc("h")
