// RUN: not whence-opt %s -p convert-te-to-tir 2>&1 | filecheck %s

// CHECK: whence-opt: error: pass convert-te-to-tir: schedule.sequence: expected a te.func @gone in the module, got none (layer 'dense1')
schedule.sequence @gone {
  %b = schedule.stage "b" loc("dense1")
} loc("dense1")
