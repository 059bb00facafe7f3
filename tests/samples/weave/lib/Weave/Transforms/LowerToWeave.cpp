#define GEN_PASS_DEF_LOWERTOWEAVE
#include "Weave/Passes.h.inc"

using namespace mlir;

struct LowerToWeavePass : public impl::LowerToWeaveBase<LowerToWeavePass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    weave::populateArithPatterns(patterns);
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};
