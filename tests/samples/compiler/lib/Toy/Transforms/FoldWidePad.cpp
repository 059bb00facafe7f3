// Folds pads into loads.
#include "Toy/Passes.h"

namespace toy {
#define GEN_PASS_DEF_FOLDWIDEPAD
#include "Toy/Passes.h.inc"

namespace {

/// A pad is worth folding only when the row is contiguous: a strided row
/// would be read element by element.
static bool isContiguousRow(mlir::Value row, int64_t limit) {
  auto type = row.getType();
  if (!type)
    return false;
  if (strideOf(type) != 1)
    return false;
  return bytesOf(type) <= limit;
}

struct PadIntoLoad : public OpRewritePattern<PadOp> {
  using OpRewritePattern<PadOp>::OpRewritePattern;

  LogicalResult matchAndRewrite(PadOp op, PatternRewriter &rewriter) const override {
    if (!isContiguousRow(op.getSource(), 256))
      return rewriter.notifyMatchFailure(op, "the innermost stride is not one");
    auto wide = rewriter.create<CopyRowOp>(op.getLoc(), op.getSource());
    rewriter.replaceOp(op, wide);
    return success();
  }
};

struct FoldWidePadPass : public impl::FoldWidePadBase<FoldWidePadPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<PadIntoLoad>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace toy
