/* Encodes the coefficients of a JPEG of several scans again, as a baseline JPEG of one scan,
 * because libjpeg would keep all coefficients of several scans in memory (jpeg_scans.h). Called by
 * runner/image/jpeg.c. Allocates through jpeg_rows.c.
 *
 * The result has the coefficients and quantization tables of the file, so libjpeg decodes it to the
 * same pixels. */
#include "runner/image/jpeg_state.h"

/* Huffman codes. The size of a coefficient is the number of bits of its absolute value, up to 15.
 * The code of a DC coefficient is its size, in 5 bits. The code of an AC coefficient stands for the
 * integer size * 16 + number of zeros before it; it has 8 bits if that is below 192, else 9. */
enum { DC_BITS = 5, DC_CODES = 16, AC_SHORT = 192, AC_CODES = 256, MOST_SIZE = 15 };
enum { MOST_BLOCK_BYTES = 2 * ((DC_BITS + MOST_SIZE + (COEFS - 1) * (9 + MOST_SIZE) + 7) / 8) };

static uint8_t *put_two(uint8_t *out, int x)
{
  *out++ = (uint8_t)(x >> 8);
  *out++ = (uint8_t)x;
  return out;
}

/* Writes the marker and the length of a segment with n bytes of content. */
static uint8_t *put_segment(uint8_t *out, int marker, int n)
{
  return put_two(put_two(out, 0xff00 | marker), 2 + n);
}

static uint8_t *put_tables(uint8_t *out)
{
  out = put_segment(out, DHT, 17 + DC_CODES);
  memset(out, 0, 17);
  out[DC_BITS] = DC_CODES;
  for (int i = 0; i < DC_CODES; i++) out[17 + i] = (uint8_t)i;
  out = put_segment(out + 17 + DC_CODES, DHT, 17 + AC_CODES);
  memset(out, 0, 17);
  out[0] = 0x10;
  out[8] = AC_SHORT;
  out[9] = AC_CODES - AC_SHORT;
  for (int i = 0; i < AC_CODES; i++) out[17 + i] = (uint8_t)(i << 4 | i >> 4);
  return out + 17 + AC_CODES;
}

static uint8_t *put_header(const struct mafat_jpeg_scans *s, uint8_t *out)
{
  int n = s->frame.n_components;
  out = put_two(out, 0xff00 | SOI);
  for (int i = 0; i < n; i++) {
    out = put_segment(out, DQT, 1 + 2 * COEFS);
    *out++ = (uint8_t)(0x10 | i);
    for (int k = 0; k < COEFS; k++) out = put_two(out, s->of[i].quantization[k]);
  }
  out = put_segment(out, SOF1, 6 + 3 * n);
  *out++ = 8;
  out = put_two(put_two(out, s->frame.height), s->frame.width);
  *out++ = (uint8_t)n;
  for (int i = 0; i < n; i++) {
    *out++ = (uint8_t)s->frame.of[i].id;
    *out++ = (uint8_t)(s->frame.of[i].h << 4 | s->frame.of[i].v);
    *out++ = (uint8_t)i;
  }
  out = put_segment(put_tables(out), SOS, 4 + 2 * n);
  *out++ = (uint8_t)n;
  for (int i = 0; i < n; i++) out = put_two(out, s->frame.of[i].id << 8);
  *out++ = 0;
  *out++ = COEFS - 1;
  *out++ = 0;
  return out;
}

static uint8_t *put_byte(uint8_t *out, unsigned c)
{
  *out++ = (uint8_t)c;
  if ((uint8_t)c == 0xff) *out++ = 0;
  return out;
}

/* Appends n bits, at most 24, to s->bits. Writes 32 bits to `out` whenever there are as many. */
static uint8_t *put_bits(struct mafat_jpeg_scans *s, uint8_t *out, unsigned bits, int n)
{
  s->bits = s->bits << n | bits;
  s->n_bits += n;
  if (s->n_bits < 32) return out;
  s->n_bits -= 32;
  uint32_t word = (uint32_t)(s->bits >> s->n_bits);
  if (word & ~(word + 0x01010101) & 0x80808080) { /* a byte may be ff: a 0 follows such bytes */
    for (int i = 24; i >= 0; i -= 8) out = put_byte(out, word >> i);
    return out;
  }
  for (int i = 0; i < 4; i++) out[i] = (uint8_t)(word >> (24 - 8 * i));
  return out + 4;
}

/* Number of bits of |x|. */
static int size_of(int x)
{
  return x ? 32 - __builtin_clz((unsigned)(x < 0 ? -x : x)) : 0;
}

/* Returns the lowest `size` bits of x, or of x - 1 if x is negative. */
static unsigned bits_of(int x, int size)
{
  return (unsigned)(x < 0 ? x - 1 : x) & ((1u << size) - 1);
}

static uint8_t *put_ac(struct mafat_jpeg_scans *s, uint8_t *out, int run, int x)
{
  int size = size_of(x), symbol = size * 16 + run;
  if (size > MOST_SIZE) s->too_large = true;
  unsigned code = (unsigned)(symbol < AC_SHORT ? symbol : symbol + AC_SHORT);
  return put_bits(s, out, code << size | bits_of(x, size), (symbol < AC_SHORT ? 8 : 9) + size);
}

static uint8_t *put_block(struct mafat_jpeg_scans *s, uint8_t *out, int *dc, const int16_t *block)
{
  int difference = (int16_t)(block[0] - *dc), size = size_of(difference), run = 0;
  *dc = block[0];
  if (size > MOST_SIZE) {
    s->too_large = true;
    return out;
  }
  out = put_bits(s, out, (unsigned)size << size | bits_of(difference, size), DC_BITS + size);
  for (int k = 1; k < COEFS; k++) {
    if (k % 4 == 0 && mafat_jpeg_no_four(block + k)) {
      k += 3;
      run += 4;
    } else if (block[k] == 0) {
      run++;
    } else {
      for (; run > 15; run -= 16) out = put_ac(s, out, 15, 0);
      out = put_ac(s, out, run, block[k]);
      run = 0;
    }
  }
  return run ? put_ac(s, out, 0, 0) : out;
}

static uint8_t *put_mcu(struct mafat_jpeg_scans *s, uint8_t *out)
{
  for (int i = 0; i < s->frame.n_components; i++) {
    struct mafat_jpeg_component *c = &s->of[i];
    int h = s->frame.of[i].h, v = s->frame.of[i].v;
    for (int b = 0; b < h * v; b++)
      out = put_block(s, out, &c->dc,
                      c->blocks + (size_t)(b / h * c->stride + s->mcu * h + b % h) * COEFS);
  }
  s->mcu++;
  return out;
}

/* Writes the remaining bits, and pads the last byte with ones. */
static uint8_t *put_end(struct mafat_jpeg_scans *s, uint8_t *out)
{
  int padding = -s->n_bits & 7;
  s->bits = s->bits << padding | ((1u << padding) - 1);
  for (s->n_bits += padding; s->n_bits > 0; s->n_bits -= 8)
    out = put_byte(out, (unsigned)(s->bits >> (s->n_bits - 8)));
  return put_two(out, 0xff00 | EOI);
}

int mafat_jpeg_scans_read(struct mafat_jpeg_scans *s, uint8_t *out, size_t *n,
                          struct mafat_diagnostic *d)
{
  uint8_t *end = out;
  int code = MAFAT_OK;
  if (!s->row) {
    end = put_header(s, end);
    code = mafat_jpeg_rows_begin(s, d);
  }
  while (code == MAFAT_OK && s->mcu_row < s->mcus_down &&
         end - out < MAFAT_JPEG_SCANS_CAPACITY - MOST_BLOCKS * MOST_BLOCK_BYTES) {
    if (s->mcu < s->mcus_across) {
      end = put_mcu(s, end);
    } else {
      s->mcu = 0;
      if (++s->mcu_row < s->mcus_down) code = mafat_jpeg_rows_next(s, d);
    }
  }
  if (s->mcu_row == s->mcus_down) end = put_end(s, end);
  *n = (size_t)(end - out);
  if (code == MAFAT_OK && s->too_large)
    code = mafat_fail(d, MAFAT_EUNSUPPORTED,
                      "%s: cannot read this JPEG picture: a coefficient has more than %d bits",
                      s->name, MOST_SIZE);
  return code;
}
