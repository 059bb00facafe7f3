"""The symptoms of CUDA targets, one module each; `table.CUDA_SYMPTOMS` lists them."""
