// RUN: xdsl-opt %s -p "relay-split-args{max-function-args=2},relay-fuse-ops{opt-level=3}" --print-debuginfo | filecheck %s
// RUN: xdsl-opt %s -p relay-split-args,relay-fuse-ops{opt-level=3} | filecheck %s --check-prefix=FEW

relay.func @main(%a: tensor<2x1xf32>, %b: tensor<2x1xf32>, %c: tensor<2x2xf32>, %d: tensor<2x1xf32>, %e: tensor<2x1xf32>) -> (tensor<2x6xf32>) {
  %0 = relay.concatenate %a, %b, %c, %d, %e {axis = 1} : (tensor<2x1xf32>, tensor<2x1xf32>, tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x6xf32> loc("join"("m.onnx":0:0))
  relay.return %0 : tensor<2x6xf32> loc("return")
} loc("main")

// CHECK-LABEL: relay.func @main
// CHECK-NEXT: %0 = relay.call @fused_concatenate(%b, %c) {{.*}} loc("join"("m.onnx":0:0))
// CHECK-NEXT: %1 = relay.call @fused_concatenate_1(%d, %e) {{.*}} loc("join"("m.onnx":0:0))
// CHECK-NEXT: %2 = relay.call @fused_concatenate_2(%0, %1) {{.*}} loc("join"("m.onnx":0:0))
// CHECK-NEXT: %3 = relay.call @fused_concatenate_3(%a, %2) {{.*}} loc("join"("m.onnx":0:0))
// CHECK-NEXT: relay.return %3
// CHECK-NOT: stop_fusion
// FEW: relay.call @fused_concatenate(%a, %b, %c, %d, %e)
// FEW-NEXT: relay.return
