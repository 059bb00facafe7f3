// Runs every matrix product with the columns innermost: consecutive elements are then added to consecutive sums, which
// the CPU does several at a time. Each sum is still formed over k in rising order, so no result changes.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %products = transform.structured.match ops{["linalg.matmul"]} in %root : (!transform.any_op) -> !transform.any_op
    %loops = transform.structured.generalize %products : (!transform.any_op) -> !transform.any_op
    %ordered = transform.structured.interchange %loops iterator_interchange = [0, 2, 1]
      : (!transform.any_op) -> !transform.any_op
    %batches = transform.structured.match ops{["linalg.batch_matmul"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %batch_loops = transform.structured.generalize %batches : (!transform.any_op) -> !transform.any_op
    %batch_ordered = transform.structured.interchange %batch_loops iterator_interchange = [0, 1, 3, 2]
      : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
