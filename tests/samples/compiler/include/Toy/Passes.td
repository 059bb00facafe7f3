//===- Passes.td - passes of the toy dialect --------------------*- tablegen -*-===//

include "mlir/Pass/PassBase.td"

def FoldWidePad : Pass<"toy-fold-wide-pad", "func::FuncOp"> {
  let summary = "Fold a pad into the load that reads it";
  let description = [{
    A padded copy doubles the traffic of a row. This pass widens the load and drops
    the pad where the innermost stride is one.

    ```mlir
    toy.pad %x
    ```
  }];
  let options = [
    Option<"maxBytes", "max-pad-bytes", "unsigned", /*default=*/"256",
           "Do not fold pads wider than this.">,
  ];
}

def SplitColumns : Pass<"toy-split-columns"> {
  let summary = "Split a column walk into single elements";
  let constructor = "toy::createSplitColumnsPass()";
}
