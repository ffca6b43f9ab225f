// RUN: xdsl-opt %s --verify-diagnostics --parsing-diagnostics --split-input-file | filecheck %s

// CHECK: schedule.split: expected a factor of at least 1, got 0 (layer 'conv1', m.onnx node 4)
schedule.sequence @f {
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  %o, %n = schedule.split %i factor 0 loc("conv1"("m.onnx":4:0))
}

// -----

// CHECK: schedule.split: expected a live axis, got %i that schedule.split did away with (layer 'conv1', m.onnx node 4)
schedule.sequence @f {
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  %o, %n = schedule.split %i factor 2
  %p, %q = schedule.split %i factor 2 loc("conv1"("m.onnx":4:0))
}

// -----

// CHECK: schedule.vectorize: expected a live axis, got %j that schedule.fuse did away with
schedule.sequence @f {
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  %k = schedule.fuse %i, %j
  schedule.vectorize %j
}

// -----

// CHECK: schedule.fuse: expected two axes, got one axis twice
schedule.sequence @f {
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  %k = schedule.fuse %i, %i
}

// -----

// CHECK: schedule.reorder: expected distinct axes, got 3 that are 2
schedule.sequence @f {
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  schedule.reorder %j, %i, %j
}

// -----

// CHECK: schedule.compute_at: expected a stage and another that consumes it, got one stage twice
schedule.sequence @f {
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  schedule.compute_at %c, %c, %i
}

// -----

// CHECK: schedule.set_scope: expected a scope among global, shared, local, got texture
schedule.sequence @f {
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  schedule.set_scope %c "texture"
}

// -----

// CHECK: schedule.cache_write: expected a scope among global, shared, local, got texture
schedule.sequence @f {
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  %d = schedule.cache_write %c "texture"
}

// -----

// CHECK: schedule.sequence: expected schedule primitives only, got arith.constant
schedule.sequence @f {
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  %k = arith.constant 0 : i32
}

// -----

// CHECK: operand 'axis' at position 0 does not verify:
// CHECK-NEXT: !schedule.stage_handle should be of base attribute schedule.axis
schedule.sequence @f {
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  "schedule.parallel"(%c) : (!schedule.stage_handle) -> ()
}

// -----

// CHECK: operand 'stage' at position 0 does not verify:
// CHECK-NEXT: !schedule.axis should be of base attribute schedule.stage_handle
schedule.sequence @f {
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  "schedule.compute_root"(%i) : (!schedule.axis) -> ()
}

// -----

// CHECK: 'schedule.unroll' expects parent op 'schedule.sequence'
%i = "test.op"() : () -> !schedule.axis
schedule.unroll %i

// -----

// CHECK: schedule.split_by_nparts: expected at least 1 part, got 0
schedule.sequence @f {
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  %o, %n = schedule.split_by_nparts %i nparts 0
}

// -----

// CHECK: schedule.compute_root: expected a stage, got an argument of the function (layer 'conv1', m.onnx node 4)
schedule.sequence @f {
  %a = schedule.argument 0
  schedule.compute_root %a loc("conv1"("m.onnx":4:0))
}

// -----

// CHECK: schedule.vectorize: expected a live axis, got %k that schedule.rfactor did away with
schedule.sequence @f {
  %c = schedule.stage "c"
  %i, %k = schedule.axes %c : 2
  %rf = schedule.rfactor %k at 0
  schedule.vectorize %k
}

// -----

// CHECK: schedule.cache_read: expected a scope among global, shared, local, got texture
schedule.sequence @f {
  %c = schedule.stage "c"
  %d = schedule.cache_read %c "texture" readers(%c)
}

// -----

// CHECK: schedule.storage_align: expected a factor of at least 1 and an offset from 0 below it, got factor 4, offset 4
schedule.sequence @f {
  %c = schedule.stage "c"
  %i = schedule.axes %c : 1
  schedule.storage_align %i factor 4 offset 4
}

// -----

// CHECK: schedule.set_axis_separators: expected increasing positions, got [2, 1]
schedule.sequence @f {
  %c = schedule.stage "c"
  schedule.set_axis_separators %c [2, 1]
}

// -----

// CHECK: schedule.tensor_intrin: expected @pattern and some of @body, @reset, @update, got none
schedule.tensor_intrin "nothing" {
}

// -----

// CHECK: schedule.tensor_intrin: expected a pattern of one compute of one tensor, got 0 operations
schedule.tensor_intrin "copy" {
  te.func @pattern(%a: tensor<16xf32>) -> (tensor<16xf32>) {
    te.return %a : tensor<16xf32>
  }
  te.func @body(%a: tensor<16xf32>) -> (tensor<16xf32>) {
    te.return %a : tensor<16xf32>
  }
}

// -----

// CHECK: schedule.tensor_intrin: expected @update of type (tensor<4xf32>) -> tensor<4xf32>, got (tensor<8xf32>) -> tensor<8xf32>
schedule.tensor_intrin "wide" {
  te.func @pattern(%a: tensor<4xf32>) -> (tensor<4xf32>) {
    %b = te.compute "b" (%i in 4) : tensor<4xf32> {
      %0 = te.read %a[%i] : tensor<4xf32>
      te.yield %0 : f32
    }
    te.return %b : tensor<4xf32>
  }
  te.func @update(%a: tensor<8xf32>) -> (tensor<8xf32>) {
    te.return %a : tensor<8xf32>
  }
}

// -----

// CHECK: schedule.tensor_intrin: expected functions and their sequences, got arith.constant
schedule.tensor_intrin "number" {
  %0 = arith.constant 1 : i32
}

// -----

// CHECK: schedule.env_threads: expected an axis for each of at least one thread, got 0 for 0
schedule.sequence @f {
  %c = schedule.stage "c"
  schedule.env_threads %c()
}

// -----

// CHECK: schedule.knob: expected a decision among [4, 6, 8], got 5 (layer 'fc', m.onnx node 4)
schedule.sequence @f {
  schedule.knob "rows" in [4, 6, 8] {decision = 5} loc("fc"("m.onnx":4:0))
}

// -----

// CHECK: schedule.knob: expected different candidates, got [4, 4]
schedule.sequence @f {
  schedule.knob "rows" in [4, 4] {decision = 4}
}

// -----

// CHECK: schedule.knob: expected a knob of another name than those before, got 'rows' again
schedule.sequence @f {
  schedule.knob "rows" in [4, 6] {decision = 4}
  schedule.knob "rows" in [4, 8] {decision = 8}
}

// -----

// CHECK: schedule.knob: expected the decision 6, by which the primitives below were chosen, got 4
schedule.sequence @f {
  schedule.knob "rows" in [4, 6] {decision = 4, made_for = 6}
}

// -----

// CHECK: schedule.arith: expected arithmetic among product, quotient, parts, sum, min, got shift
schedule.sequence @f {
  %rows = schedule.knob "rows" in [4, 6] {decision = 4}
  %0 = schedule.arith shift(%rows, 1)
}

// -----

// CHECK: schedule.arith: expected two numbers, got 1
schedule.sequence @f {
  %rows = schedule.knob "rows" in [4, 6] {decision = 4}
  %0 = schedule.arith min(%rows)
}

// -----

// CHECK: schedule.arith: expected numbers, got "a"
schedule.sequence @f {
  %rows = schedule.knob "rows" in [4, 6] {decision = 4}
  %0 = schedule.arith min(%rows, "a")
}

// -----

// CHECK: schedule.split: expected a factor, as a constant or of a knob, got none
"schedule.sequence"() <{target = @f}> ({
  %a = "schedule.stage"() <{label = "a"}> : () -> !schedule.stage_handle
  %i = "schedule.axes"(%a) : (!schedule.stage_handle) -> !schedule.axis
  %o, %n = "schedule.split"(%i) : (!schedule.axis) -> (!schedule.axis, !schedule.axis)
}) : () -> ()
