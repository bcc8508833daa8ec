/* Kernels that convert a picture's bytes to floats, and interpolate between two lines. Products and
 * sums are never fused, so all levels give Darknet's bits. Included by bodies.h and
 * frame_rows_body.h; called by runner/image/resized_lines.c. Touches only its arguments. */

/* Computes byte / 255, correctly rounded, as a sum of two products: 1 / 255 is `high`, a short
 * number, plus `low`. The product with `high` is exact. The product with `low` has an error of
 * 2^-40 relative to the sum, which is too small to change the rounding: no quotient is within 2^-33
 * (relative) of a midpoint between two floats. */
INLINE void scale_run(const uint8_t *restrict bytes, float *restrict out, const int n)
{
  const float high = 257.0f / 65536, low = (float)(1 / 255. - 257. / 65536);
  for (int i = 0; i < n; i++) out[i] = (float)bytes[i] * high + (float)bytes[i] * low;
}

static void scale_bytes(const uint8_t *bytes, float *out, int n)
{
  enum { RUN = 32 };
  if (n < RUN) {
    scale_run(bytes, out, n);
    return;
  }
  for (int i = 0; i < n - RUN; i += RUN) scale_run(bytes + i, out + i, RUN);
  scale_run(bytes + n - RUN, out + n - RUN, RUN); /* the last run may repeat some bytes */
}

/* RESAMPLE_LANES: floats of a vector that holds a pixel. RESAMPLE_ROOM: floats of a line's
 * buffer */
enum { RESAMPLE_LANES = 4, RESAMPLE_ROOM = MAFAT_RESAMPLE_BYTES + RESAMPLE_LANES };
typedef float quad __attribute__((vector_size(RESAMPLE_LANES * sizeof(float))));

INLINE quad quad_load(const float *p)
{
  quad v;
  memcpy(&v, p, sizeof v);
  return v;
}

INLINE quad quad_all(float x)
{
  return (quad){x, x, x, x};
}

/* Interpolates between the two pixels of a tap; `line` begins with byte `begin` of the stored
 * line. */
INLINE quad pixel_between(const struct mafat_resample_tap *tap, const float *line, int begin)
{
  return quad_all(tap->first_weight) * quad_load(line + (tap->first - begin)) +
         quad_all(tap->second_weight) * quad_load(line + (tap->second - begin));
}

INLINE quad pixel_of_row(const struct mafat_resample_tap *tap, const float *first,
                         const float *second, int begin, quad above, quad below)
{
  return above * pixel_between(tap, first, begin) + below * pixel_between(tap, second, begin);
}

/* Computes a row. Each pixel is stored as a whole vector, whose excess lanes the next pixels
 * overwrite. The last pixels are stored without excess lanes. */
INLINE void resample_row(const struct mafat_resample_call *c, const float *first,
                         const float *second)
{
  const struct mafat_resample_tap *restrict tap = c->taps;
  const quad above = quad_all(c->weights[0]), below = quad_all(c->weights[1]);
  const int n_channels = c->n_channels, begin = c->begin,
            n_next = (RESAMPLE_LANES - 1) / n_channels;
  const int n_whole = c->n_pixels > n_next ? c->n_pixels - n_next : 0;
  float *restrict out = c->out;
  for (int i = 0; i < n_whole; i++, tap++, out += n_channels) {
    const quad v = pixel_of_row(tap, first, second, begin, above, below);
    memcpy(out, &v, sizeof v);
  }
  for (int i = n_whole; i < c->n_pixels; i++, tap++, out += n_channels) {
    const quad v = pixel_of_row(tap, first, second, begin, above, below);
    memcpy(out, &v, (size_t)n_channels * sizeof *out);
  }
}

INLINE void resample_column(const struct mafat_resample_call *c, float *restrict first,
                            const float *restrict second)
{
  float *out = c->out;
  for (int i = 0; i < c->n_bytes; i++)
    first[i] = c->weights[0] * first[i] + c->weights[1] * second[i];
  for (int i = 0; i < c->n_pixels; i++, out += c->out_stride) {
    const quad v = pixel_between(&c->taps[i], first, c->begin);
    memcpy(out, &v, (size_t)c->n_channels * sizeof *out);
  }
}

static void resample(const struct mafat_resample_call *c)
{
  float lines[2][RESAMPLE_ROOM];
  for (int i = 0; i < 2; i++) {
    scale_bytes(c->lines[i] + c->begin, lines[i], c->n_bytes);
    memset(lines[i] + c->n_bytes, 0, RESAMPLE_LANES * sizeof(float));
  }
  if (c->column) resample_column(c, lines[0], lines[1]);
  else resample_row(c, lines[0], lines[1]);
}
