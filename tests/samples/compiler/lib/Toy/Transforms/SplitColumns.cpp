#include "Toy/Passes.h"

namespace {
// A column of a row-major tile has no two neighbours in memory, so each element is copied alone.
struct SplitColumnsPass : public PassWrapper<SplitColumnsPass, OperationPass<>> {
  void runOnOperation() override {
    getOperation()->walk([&](CopyRowOp op) { scalarize(op); });
  }
};
} // namespace

std::unique_ptr<Pass> toy::createSplitColumnsPass() {
  return std::make_unique<SplitColumnsPass>();
}
