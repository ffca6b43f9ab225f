// RUN: xdsl-opt %s --print-debuginfo | filecheck %s
// RUN: xdsl-opt %s --print-op-generic --print-debuginfo | xdsl-opt --print-debuginfo | filecheck %s

// A knob is a number that primitives are given, also through arithmetic; it is one of its candidates. A text without
// names for its values is read, too.

// CHECK:      schedule.sequence @f {
// CHECK-NEXT:   %rows = schedule.knob "rows" in [4, 6, 8] {decision = 8} loc("fc")
// CHECK-NEXT:   %columns = schedule.knob "columns" in [1, 2] {decision = 1, made_for = 1} attributes {why = "few"} loc("fc")
// CHECK-NEXT:   %wide = schedule.arith product(%rows, 16) loc("fc")
// CHECK-NEXT:   %half = schedule.arith quotient(%wide, 2) attributes {why = "half"} loc("fc")
// CHECK-NEXT:   %least = schedule.arith min(64, %half) loc("fc")
// CHECK-NEXT:   %a = schedule.stage "a"
// CHECK-NEXT:   %i, %j = schedule.axes %a : 2
// CHECK-NEXT:   %o, %n = schedule.split %i factor %rows {tail = "cut"} loc("fc")
// CHECK-NEXT:   %p, %q = schedule.split_by_nparts %j nparts %least loc("fc")
// CHECK-NEXT:   schedule.pragma %p "step" of %half loc("fc")
schedule.sequence @f {
  %rows = schedule.knob "rows" in [4, 6, 8] {decision = 8} loc("fc")
  schedule.knob "columns" in [1, 2] {decision = 1, made_for = 1} attributes {why = "few"} loc("fc")
  %wide = schedule.arith product(%rows, 16) loc("fc")
  %half = schedule.arith quotient(%wide, 2) attributes {why = "half"} loc("fc")
  %least = schedule.arith min(64, %half) loc("fc")
  %a = schedule.stage "a" loc("fc")
  %i, %j = schedule.axes %a : 2 loc("fc")
  %o, %n = schedule.split %i factor %rows {tail = "cut"} loc("fc")
  %p, %q = schedule.split_by_nparts %j nparts %least loc("fc")
  schedule.pragma %p "step" of %half loc("fc")
} loc("fc")
