// RUN: whence-opt %s -p 'convert-relay-to-te{target="llvm -mcpu=haswell" decisions="rows=3,vectors=1"}' --audit --print-debuginfo | filecheck %s
// RUN: not whence-opt %s -p 'convert-relay-to-te{decisions="rows=300"}' 2>&1 | filecheck %s --check-prefix=FAR
// RUN: not whence-opt %s -p 'convert-relay-to-te{decisions="colour=3"}' 2>&1 | filecheck %s --check-prefix=STRANGE

// Another schedule by other decisions, in the functions that have these knobs; each choice is at its layer.

// CHECK:      schedule.sequence @product
// CHECK:        %vectors = schedule.knob "vectors" in [1, 2] {decision = 1, made_for = 1} loc("fc")
// CHECK-NEXT:   %rows = schedule.knob "rows" in [{{.*}}] {decision = 3, made_for = 3} loc("fc")
// CHECK:        schedule.split %{{.*}} factor %rows loc("fc")
// CHECK:      schedule.sequence @plain
// CHECK-NOT:    schedule.knob "rows"
// FAR:     knob 'rows': expected one of [1, 2, 3, {{.*}}], got 300
// STRANGE: decisions: expected knobs of some schedule, got colour
relay.func primitive @product(%p0: tensor<12x32xf32> loc("x"), %p1: tensor<4x32x16xf32> loc("w")) -> (tensor<12x64xf32>) {
  %0 = relay.nn.contrib_dense_pack %p0, %p1 : (tensor<12x32xf32>, tensor<4x32x16xf32>) -> tensor<12x64xf32> loc("fc")
  relay.return %0 : tensor<12x64xf32> loc("fc")
} loc("fc")
relay.func primitive @plain(%p0: tensor<64xf32> loc("x")) -> (tensor<64xf32>) {
  %0 = relay.nn.relu %p0 : (tensor<64xf32>) -> tensor<64xf32> loc("act")
  relay.return %0 : tensor<64xf32> loc("act")
} loc("act")
