LogicalResult mlir::weave::VecAddOp::verify() {
  if (getLhs().getType() != getRhs().getType())
    return emitOpError("operands have types ") << getLhs().getType() << " and " << getRhs().getType();
  return success();
}
