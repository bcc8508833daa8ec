/* Video kernels for AVX2: compiles frame_rows_body.h and adds kernels for planes, which convert 32
 * pixels, or resize 8, at a time and need few shuffles. Used through the table in
 * runner/kernels/frame_rows.c. */
#include <immintrin.h>

#include "runner/kernels/frame_rows.h"

#define INLINE static inline __attribute__((always_inline))

enum { PIXELS = 32, EIGHT = MAFAT_PLANE_PIXELS };

/* ---- colours: the arithmetic of frame_rows_body.h ---- */

INLINE __m256i load(const void *p) { return _mm256_loadu_si256(p); }
INLINE void store(void *p, __m256i v) { _mm256_storeu_si256(p, v); }

/* Returns (words - black) * 2^7. */
INLINE __m256i above(__m256i words, __m256i black)
{
  return _mm256_slli_epi16(_mm256_sub_epi16(words, black), 7);
}

struct rule_words {
  __m256i luma, v_red, u_green, v_green, u_blue, black;
};

/* Converts 32 pixels. luma has a byte for each pixel; u and v have 16 bits for each pair of
 * pixels. */
INLINE void colour_planes_run(const struct rule_words *k, __m256i luma, __m256i u, __m256i v,
                              uint8_t *red, uint8_t *green, uint8_t *blue)
{
  const __m256i zero = _mm256_setzero_si256(), half = _mm256_set1_epi16(128),
                rounding = _mm256_set1_epi16(8 + 1);
  const __m256i du = above(u, half), dv = above(v, half);
  const __m256i chroma[3] = {_mm256_mulhi_epi16(dv, k->v_red),
                             _mm256_add_epi16(_mm256_mulhi_epi16(du, k->u_green),
                                              _mm256_mulhi_epi16(dv, k->v_green)),
                             _mm256_mulhi_epi16(du, k->u_blue)};
  const __m256i low = _mm256_add_epi16(
      _mm256_mulhi_epi16(above(_mm256_unpacklo_epi8(luma, zero), k->black), k->luma), rounding);
  const __m256i high = _mm256_add_epi16(
      _mm256_mulhi_epi16(above(_mm256_unpackhi_epi8(luma, zero), k->black), k->luma), rounding);
  uint8_t *const planes[3] = {red, green, blue};
  for (int i = 0; i < 3; i++) {
    const __m256i c = chroma[i];
    const __m256i sixteenths[2] = {_mm256_add_epi16(low, _mm256_unpacklo_epi16(c, c)),
                                   _mm256_add_epi16(high, _mm256_unpackhi_epi16(c, c))};
    store(planes[i], _mm256_packus_epi16(_mm256_srai_epi16(sixteenths[0], 4),
                                         _mm256_srai_epi16(sixteenths[1], 4)));
  }
}

/* Separates the 64 bytes of `first` and `second` into bytes with even and with odd index. */
INLINE void part_bytes(__m256i first, __m256i second, __m256i *even, __m256i *odd)
{
  const __m256i mask = _mm256_set1_epi16(0xff);
  const __m256i e =
      _mm256_packus_epi16(_mm256_and_si256(first, mask), _mm256_and_si256(second, mask));
  const __m256i o = _mm256_packus_epi16(_mm256_srli_epi16(first, 8), _mm256_srli_epi16(second, 8));
  *even = _mm256_permute4x64_epi64(e, 0xd8);
  *odd = _mm256_permute4x64_epi64(o, 0xd8);
}

INLINE void take_run(const struct rule_words *k, const uint8_t *luma, const uint8_t *u,
                     const uint8_t *v, int luma_step, int chroma_step, uint8_t *red, uint8_t *green,
                     uint8_t *blue)
{
  __m256i y, uv;
  if (luma_step == 2) part_bytes(load(luma), load(luma + PIXELS), &y, &uv);
  else y = load(luma);
  if (chroma_step == 1) {
    colour_planes_run(k, y, _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)u)),
                      _mm256_cvtepu8_epi16(_mm_loadu_si128((const void *)v)), red, green, blue);
    return;
  }
  if (chroma_step == 2) uv = load(u);
  colour_planes_run(k, y, _mm256_and_si256(uv, _mm256_set1_epi16(0xff)), _mm256_srli_epi16(uv, 8),
                    red, green, blue);
}

INLINE void colour_planes_row(const struct mafat_colour_call *c, const int luma_step,
                              const int chroma_step)
{
  const struct mafat_colour_rule *r = c->rule;
  const struct rule_words k = {_mm256_set1_epi16(r->luma),    _mm256_set1_epi16(r->v_red),
                               _mm256_set1_epi16(r->u_green), _mm256_set1_epi16(r->v_green),
                               _mm256_set1_epi16(r->u_blue),  _mm256_set1_epi16(r->black)};
  uint8_t *const red = c->rgb, *const green = red + c->n, *const blue = green + c->n;
  int x = 0;
  for (; x + PIXELS <= c->n; x += PIXELS)
    take_run(&k, c->luma + x * luma_step, c->u + x / 2 * chroma_step, c->v + x / 2 * chroma_step,
             luma_step, chroma_step, red + x, green + x, blue + x);
  if (x == c->n) return;
  uint8_t luma[PIXELS], u[PIXELS / 2], v[PIXELS / 2], planes[3][PIXELS];
  for (int i = 0; i < PIXELS; i++) { /* the last pixel is repeated */
    const int from = x + i < c->n ? x + i : c->n - 1;
    luma[i] = c->luma[from * luma_step];
    u[i / 2] = c->u[from / 2 * chroma_step];
    v[i / 2] = c->v[from / 2 * chroma_step];
  }
  take_run(&k, luma, u, v, 1, 1, planes[0], planes[1], planes[2]);
  for (int i = 0; i < 3; i++)
    for (int j = x; j < c->n; j++) c->rgb[i * c->n + j] = planes[i][j - x];
}

static void colour_planes(const struct mafat_colour_call *c)
{
  if (c->luma_step == 2) colour_planes_row(c, 2, 4);
  else if (c->chroma_step == 2) colour_planes_row(c, 1, 2);
  else colour_planes_row(c, 1, 1);
}

/* ---- resizing: the arithmetic of resample.h ---- */

/* Returns value / 255, correctly rounded: the product with `high` is exact, so the fused operation
 * gives the same result. */
INLINE __m256 scaled(__m256i numbers)
{
  const __m256 high = _mm256_set1_ps(257.0f / 65536),
               low = _mm256_set1_ps((float)(1 / 255. - 257. / 65536)),
               x = _mm256_cvtepi32_ps(numbers);
  return _mm256_fmadd_ps(x, high, _mm256_mul_ps(x, low));
}

INLINE __m256 mixed(__m256 first, __m256 second, __m256 first_weight, __m256 second_weight)
{
  return _mm256_add_ps(_mm256_mul_ps(first_weight, first), _mm256_mul_ps(second_weight, second));
}

INLINE void across_plane(const struct mafat_plane_taps *taps, const uint8_t *plane, float *out)
{
  const __m128i left = _mm_loadu_si128((const void *)(plane + taps->at[0])),
                right = _mm_loadu_si128((const void *)(plane + taps->at[1]));
  const __m256i bytes = _mm256_inserti128_si256(_mm256_castsi128_si256(left), right, 1);
  const __m256 first = scaled(_mm256_shuffle_epi8(bytes, load(taps->first))),
               second = scaled(_mm256_shuffle_epi8(bytes, load(taps->second)));
  _mm256_storeu_ps(out, mixed(first, second, _mm256_loadu_ps(taps->first_weight),
                              _mm256_loadu_ps(taps->second_weight)));
}

static void across_planes(const struct mafat_plane_taps *taps, int n, const uint8_t *planes,
                          int width, float *out)
{
  const int stride = n * EIGHT;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 3; k++)
      across_plane(&taps[i], planes + k * width, out + k * stride + i * EIGHT);
}

/* Interleaves red, green and blue of eight pixels. */
INLINE void weave(__m256 r, __m256 g, __m256 b, float *out)
{
  const __m256 rg = _mm256_shuffle_ps(r, g, _MM_SHUFFLE(2, 0, 2, 0)),
               gb = _mm256_shuffle_ps(g, b, _MM_SHUFFLE(3, 1, 3, 1)),
               br = _mm256_shuffle_ps(b, r, _MM_SHUFFLE(3, 1, 2, 0));
  const __m256 one = _mm256_shuffle_ps(rg, br, _MM_SHUFFLE(2, 0, 2, 0)),
               two = _mm256_shuffle_ps(gb, rg, _MM_SHUFFLE(3, 1, 2, 0)),
               three = _mm256_shuffle_ps(br, gb, _MM_SHUFFLE(3, 1, 3, 1));
  _mm_storeu_ps(out, _mm256_castps256_ps128(one));
  _mm_storeu_ps(out + 4, _mm256_castps256_ps128(two));
  _mm_storeu_ps(out + 8, _mm256_castps256_ps128(three));
  _mm_storeu_ps(out + 12, _mm256_extractf128_ps(one, 1));
  _mm_storeu_ps(out + 16, _mm256_extractf128_ps(two, 1));
  _mm_storeu_ps(out + 20, _mm256_extractf128_ps(three, 1));
}

static void between_planes(const float *first, const float *second, const float weights[2],
                           float *out, int n)
{
  const __m256 w0 = _mm256_set1_ps(weights[0]), w1 = _mm256_set1_ps(weights[1]);
  const int stride = (n + EIGHT - 1) / EIGHT * EIGHT;
  for (int x = 0; x < n; x += EIGHT) {
    __m256 of[3];
    float rest[3 * EIGHT];
    for (int k = 0; k < 3; k++)
      of[k] = mixed(_mm256_loadu_ps(first + k * stride + x),
                    _mm256_loadu_ps(second + k * stride + x), w0, w1);
    weave(of[0], of[1], of[2], x + EIGHT <= n ? out + 3 * x : rest);
    for (int i = 3 * x; x + EIGHT > n && i < 3 * n; i++) out[i] = rest[i - 3 * x];
  }
}

#undef INLINE
#define FRAME_ROWS_PLANES \
  .colour_planes = colour_planes, .across_planes = across_planes, .between_planes = between_planes
#define FRAME_ROWS_TABLE mafat_frame_kernels_avx2
#include "runner/kernels/frame_rows_body.h"
