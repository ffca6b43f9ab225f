// RUN: xdsl-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// CHECK: Expected 2 operands, but got 1
func.func @few(%x: tensor<4xf32>) {
  %0 = "stablehlo.add"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// CHECK: property 'comparison_direction' expected
func.func @without(%x: tensor<4xf32>) {
  %0 = "stablehlo.compare"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return
}

// -----

// CHECK: expected one of EQ, NE, GE, GT, LE, LT as stablehlo.comparison_direction, got XX
func.func @word(%x: tensor<4xf32>) {
  %0 = "stablehlo.compare"(%x, %x) <{comparison_direction = #stablehlo<comparison_direction XX>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return
}

// -----

// CHECK: expected each of lhs_batching_dimensions, rhs_batching_dimensions, lhs_contracting_dimensions, rhs_contracting_dimensions once at most, got depth
"test.op"() {numbers = #stablehlo.dot<depth = [1]>} : () -> ()
