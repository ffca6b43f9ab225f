// RUN: xdsl-opt %s --print-debuginfo | filecheck %s
// RUN: xdsl-opt %s --print-op-generic --print-debuginfo | xdsl-opt --print-debuginfo | filecheck %s

// A knob is a choice that primitives follow from; it changes nothing by itself, and is one of its candidates.

// CHECK:      schedule.sequence @f {
// CHECK-NEXT:   schedule.knob "rows" in [4, 6, 8] {decision = 8} loc("fc")
// CHECK-NEXT:   schedule.knob "columns" in [1, 2] {decision = 1} attributes {why = "few"} loc("fc")
schedule.sequence @f {
  schedule.knob "rows" in [4, 6, 8] {decision = 8} loc("fc")
  schedule.knob "columns" in [1, 2] {decision = 1} attributes {why = "few"} loc("fc")
} loc("fc")
