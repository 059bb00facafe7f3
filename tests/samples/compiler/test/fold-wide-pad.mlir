// RUN: toy-opt --toy-fold-wide-pad=max-pad-bytes=64 -split-input-file %s | FileCheck %s

// CHECK-LABEL: @fold_contiguous_row
func.func @fold_contiguous_row(%x: memref<16xf32>) {
  // CHECK-NOT: toy.ir.pad
  %0 = "toy.ir.pad"(%x) : (memref<16xf32>) -> memref<32xf32>
  return
}

// -----

// A strided row stays as it is.
func.func @keep_strided_row(%x: memref<16xf32, strided<[2]>>) {
  %0 = "toy.ir.pad"(%x) : (memref<16xf32, strided<[2]>>) -> memref<32xf32>
  return
}
