"""Reading TTGIR: layouts, address patterns, trip counts; what the CUDA symptoms and the CUDA cost both stand on."""
