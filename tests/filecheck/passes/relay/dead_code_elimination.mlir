// RUN: whence-opt %s -p relay-dead-code-elimination --print-debuginfo --audit | filecheck %s
// RUN: whence-opt %s -p 'relay-dead-code-elimination{inline-once=true}' --print-debuginfo --audit | filecheck %s --check-prefix=ONCE

relay.func @main(%x: tensor<4xf32> loc("x"), %r: !relay.ref<tensor<4xf32>> loc("r")) -> (tensor<4xf32>) {
  %b, %c = relay.let pure {
    %a = relay.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("exp")
    %b = relay.negative %x : (tensor<4xf32>) -> tensor<4xf32> loc("negative")
    %c = relay.log %a : (tensor<4xf32>) -> tensor<4xf32> loc("log")
    relay.yield %b, %c : tensor<4xf32>, tensor<4xf32> loc("yield")
  } loc("let")
  %n = relay.let pure {
    %n = relay.sqrt %c : (tensor<4xf32>) -> tensor<4xf32> loc("sqrt")
    relay.yield %n : tensor<4xf32> loc("yield 2")
  } loc("let 2")
  %u = relay.ref_write %r, %x : !relay.ref<tensor<4xf32>>, tensor<4xf32> -> tuple<> loc("write")
  %v = relay.ref_read %r : !relay.ref<tensor<4xf32>> -> tensor<4xf32> loc("read")
  relay.return %b : tensor<4xf32> loc("return")
} loc("main")

// What is written may be read by whoever has the reference; what is read here is not.
// CHECK-LABEL: relay.func @main
// CHECK-NEXT: %[[B:.*]] = relay.let pure {
// CHECK-NEXT:   %[[N:.*]] = relay.negative %x : {{.*}} loc("negative")
// CHECK-NEXT:   relay.yield %[[N]] : tensor<4xf32> loc("yield")
// CHECK-NEXT: } loc("let")
// CHECK-NEXT: %u = relay.ref_write {{.*}} loc("write")
// CHECK-NEXT: relay.return %[[B]]

// ONCE-LABEL: relay.func @main
// ONCE-NEXT: %[[B:.*]] = relay.negative %x : {{.*}} loc("negative")
// ONCE-NEXT: %u = relay.ref_write {{.*}} loc("write")
// ONCE-NEXT: relay.return %[[B]]
