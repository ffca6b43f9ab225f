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

// CHECK: schedule.set_scope: expected a scope among global, local, got shared
schedule.sequence @f {
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  schedule.set_scope %c "shared"
}

// -----

// CHECK: schedule.cache_write: expected a scope among global, local, got shared
schedule.sequence @f {
  %c = schedule.stage "c"
  %i, %j = schedule.axes %c : 2
  %d = schedule.cache_write %c "shared"
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

// CHECK: schedule.cache_read: expected a scope among global, local, got shared
schedule.sequence @f {
  %c = schedule.stage "c"
  %d = schedule.cache_read %c "shared" readers(%c)
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
