void mlir::weave::buildWeavePipeline(OpPassManager &pm, const WeaveOptions &options) {
  pm.addPass(createLowerToWeavePass());
  if (options.enableSumTree) {
    SumTreeOptions treeOptions;
    treeOptions.width = options.treeWidth;
    pm.addNestedPass<func::FuncOp>(createSumTreePass(treeOptions));
  }
}
