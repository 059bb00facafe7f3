// RUN: weave-opt %s -pass-pipeline="builtin.module(func.func(weave-sum-tree{tree-width-limit=4}))" -cse -verify-diagnostics
// RUN: weave-opt --lower-to-weave %s

func.func @too_wide(%x: tensor<4xf32>) {
  // expected-error@+1 {{spilled, needs 4096 bytes while 1024 bytes are there! (a narrower tree may fit)}}
  %0 = "weave.hw.vsum"(%x) : (tensor<4xf32>) -> f32
  %1 = arith.addf %0, %0 : f32
  %2 = linalg.reduce ins(%x : tensor<4xf32>)
  strand.spin
  strand.join_all
  strand.wait
  return
}

// -----

func.func @second(%x: tensor<4xf32>) {
  weave.hw.mulL1 ins(%x : tensor<4xf32>)
  return
}
