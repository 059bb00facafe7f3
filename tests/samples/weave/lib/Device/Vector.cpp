#define DECLARE_BINARY(op, dim, type) void _mlir_ciface_##op##_##dim##d_##type(vec<type, dim> *a, vec<type, dim> *b)

#define MAKE_ADD(dim, type) \
  DECLARE_BINARY(vadd, dim, type) { \
    run(a, b); \
  }

extern "C" {
MAKE_ADD(1, float)
MAKE_ADD(2, half)

void _mlir_ciface_sum_all_float(vec<float, 1> *a) { run(a); }
}
