// RUN: xdsl-opt %s --verify-diagnostics --split-input-file | filecheck %s

llvm.func @predicate(%v : vector<4xf32>) {
  // CHECK: llvm_ext.fcmp: expected a predicate among oeq, {{.*}}, got less
  %b = llvm_ext.fcmp "less" %v, %v : vector<4xf32> to vector<4xi1>
  llvm.return
}

// -----

llvm.func @scalars(%x : f32, %c : i1) {
  // CHECK: i1 should be of base attribute vector
  %b = "llvm_ext.select"(%c, %x, %x) : (i1, f32, f32) -> f32
  llvm.return
}

// -----

llvm.func @splat(%x : f32) {
  // CHECK: attribute f32 expected from variable 'T', but got f64
  %b = "llvm_ext.splat"(%x) : (f32) -> vector<4xf64>
  llvm.return
}
