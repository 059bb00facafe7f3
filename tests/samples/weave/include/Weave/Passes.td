def LowerToWeave : Pass<"lower-to-weave"> {
  let summary = "Turn arithmetic into weave operations";
}

def SumTree : Pass<"weave-sum-tree", "func::FuncOp"> {
  let summary = "Sum by a tree";
  let options = [
    Option<"width", "tree-width-limit", "unsigned", /*default=*/"8", "Leaves of one tree.">,
  ];
}
