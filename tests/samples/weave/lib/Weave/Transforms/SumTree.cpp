#define GEN_PASS_DEF_SUMTREE
#include "Weave/Passes.h.inc"

using namespace mlir;
using namespace mlir::weave;

namespace {
void reportSpill(func::FuncOp func, int64_t needed, int64_t available) {
  std::string text = stringify(space).str() + " spilled, needs " + std::to_string(needed) +
                     " bytes while " + std::to_string(available) + " bytes are there! "
                     "(a narrower tree may fit)";
  func.emitError() << text;
}

struct SumTreePass : public impl::SumTreeBase<SumTreePass> {
  void runOnOperation() override {
    getOperation()->walk([&](VecSumOp op) {
      if (width == 0)
        op.emitOpError("cannot split into ") << width << " leaves of type '" << op.getType() << "'";
      LLVM_DEBUG(llvm::dbgs() << "splitting a sum of " << width << " leaves\n");
    });
  }
};
} // namespace
