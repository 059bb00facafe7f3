using namespace mlir;

template <typename SourceOp, typename TargetOp>
struct BinaryToWeave : public OpConversionPattern<SourceOp> {
  LogicalResult matchAndRewrite(SourceOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<TargetOp>(op, adaptor.getLhs(), adaptor.getRhs());
    return success();
  }
};

struct ReduceToWeave : public OpRewritePattern<linalg::ReduceOp> {
  LogicalResult matchAndRewrite(linalg::ReduceOp op, PatternRewriter &rewriter) const override {
    if (op.getInputs().size() != 1)
      return rewriter.notifyMatchFailure(op, "more than one input to a reduction");
    auto sum = weave::VecSumOp::create(rewriter, op.getLoc(), op.getInputs()[0]);
    rewriter.replaceOp(op, sum);
    return success();
  }
};

void mlir::weave::populateArithPatterns(RewritePatternSet &patterns) {
  patterns.add<BinaryToWeave<arith::AddFOp, weave::VecAddOp>, ReduceToWeave>(patterns.getContext());
}
