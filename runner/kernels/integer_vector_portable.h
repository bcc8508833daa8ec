/* Integer vectors of four lanes by the compiler's vector extension; interface in integer_vector.h.
 * Included by runner/kernels/integer_portable.c. */
#define IVEC_LANES 4
#define IVEC_PIXELS 2
#define IVEC_VECTORS 2
typedef int32_t ivec __attribute__((vector_size(16)));
typedef float fvec __attribute__((vector_size(16)));

INLINE ivec ivec_load(const int32_t *p)
{
  ivec v;
  memcpy(&v, p, sizeof v);
  return v;
}

INLINE void ivec_store(int32_t *p, ivec v) { memcpy(p, &v, sizeof v); }
INLINE ivec ivec_load_n(const int32_t *p, int n) { (void)n; return ivec_load(p); }
INLINE void ivec_store_n(int32_t *p, ivec v, int n) { (void)n; ivec_store(p, v); }
INLINE ivec ivec_all(int32_t x) { return (ivec){x, x, x, x}; }
INLINE ivec ivec_choose(ivec condition, ivec a, ivec b)
{
  return (a & condition) | (b & ~condition);
}
INLINE ivec ivec_max(ivec a, ivec b) { return ivec_choose(a > b, a, b); }
INLINE ivec ivec_min(ivec a, ivec b) { return ivec_choose(a < b, a, b); }

INLINE ivec ivec_widen(const uint8_t *p, int n)
{
  if (n >= 4) return (ivec){p[0], p[1], p[2], p[3]};
  return (ivec){p[0], n > 1 ? p[1] : 0, n > 2 ? p[2] : 0, 0};
}

INLINE void ivec_narrow(uint8_t *p, ivec v, int n)
{
  for (int i = 0; i < 4 && i < n; i++) p[i] = (uint8_t)v[i];
}

INLINE ivec ivec_high(ivec a, ivec b)
{
  ivec y;
  for (int i = 0; i < 4; i++) y[i] = (int32_t)(((int64_t)a[i] * b[i] + (1 << 30)) >> 31);
  return y;
}

INLINE ivec ivec_logical(ivec v, ivec n)
{
  ivec y;
  for (int i = 0; i < 4; i++) y[i] = (int32_t)((uint64_t)(uint32_t)v[i] >> n[i]);
  return y;
}

INLINE ivec ivec_taps(ivec sum, ivec x, ivec w)
{
  return sum + ((x << 16) >> 16) * ((w << 16) >> 16) + (x >> 16) * (w >> 16);
}

INLINE ivec ivec_add_quads(ivec sum, const uint8_t *p)
{
  for (int i = 0; i < 4; i++, p += 4) sum[i] += p[0] + p[1] + p[2] + p[3];
  return sum;
}

typedef struct {
  ivec of[4]; /* by channel */
} iweights;
typedef struct {
  int32_t of[4];
} iinput;

INLINE iweights iweights_load(const int8_t *p, int n)
{
  (void)n;
  ivec w;
  memcpy(&w, p, sizeof w);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  return (iweights){{w >> 24, (w << 8) >> 24, (w << 16) >> 24, (w << 24) >> 24}};
#else
  return (iweights){{(w << 24) >> 24, (w << 16) >> 24, (w << 8) >> 24, w >> 24}};
#endif
}

INLINE iinput iinput_load(const uint8_t *p) { return (iinput){{p[0], p[1], p[2], p[3]}}; }

/* Computes modulo 2^32, because sums before the zero point is subtracted may overflow. */
INLINE ivec ivec_dot(ivec sum, iinput x, iweights w)
{
  typedef uint32_t bits __attribute__((vector_size(16)));
  return (ivec)((bits)sum + (bits)(w.of[0] * x.of[0] + w.of[1] * x.of[1] + w.of[2] * x.of[2] +
                                   w.of[3] * x.of[3]));
}
