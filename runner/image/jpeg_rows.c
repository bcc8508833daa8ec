/* Decodes the first row of MCUs (minimum coded units) of all scans of a JPEG, then the next row,
 * and so on. Called by runner/image/jpeg_baseline.c. Reads the file; allocates the memory for a row
 * and the scans' buffers.
 *
 * Fails on damaged data of which libjpeg only warns. Accepts all other data, and gets the same
 * coefficients as libjpeg. */
#include <errno.h>
#include <stdlib.h>

#include "runner/image/decoder.h"
#include "runner/image/jpeg_state.h"

/* ---- bits of a scan ---- */

/* Reads the next chunk of the file. False at its end. */
static bool read_chunk(struct mafat_jpeg_scans *s, struct mafat_jpeg_scan *scan)
{
  enum { PAGE = 4096 };
  size_t n = mafat_jpeg_scans_chunk(s) - (size_t)scan->at % PAGE; /* to the end of a page */
  ssize_t got = mafat_image_source_read(s->source, scan->at, scan->buffer, n, &scan->from);
  if (got < 0) s->error = errno;
  if (got <= 0) return false;
  scan->at += got;
  scan->end = scan->from + got;
  return true;
}

/* Reads bits until there are more than 56, or the data ends. */
static void fill(struct mafat_jpeg_scans *s, struct mafat_jpeg_scan *scan)
{
  while (scan->n_bits <= 56 && !scan->marker) {
    if (scan->from == scan->end && !read_chunk(s, scan)) {
      scan->marker = EOI;
      return;
    }
    uint8_t c = *scan->from++;
    if (c == 0xff) {
      scan->after_ff = true;
      continue;
    }
    if (scan->after_ff) {
      scan->after_ff = false;
      if (c) {
        scan->marker = c;
        return;
      }
      c = 0xff;
    }
    scan->bits = scan->bits << 8 | c;
    scan->n_bits += 8;
  }
}

/* Returns the next n bits, at most 16; zeros after the end of the data. */
static unsigned take_bits(struct mafat_jpeg_scans *s, struct mafat_jpeg_scan *scan, int n)
{
  if (scan->n_bits < n) fill(s, scan);
  if (scan->n_bits < n) {
    scan->missing = true;
    scan->bits <<= 32;
    scan->n_bits += 32;
  }
  scan->n_bits -= n;
  return (unsigned)(scan->bits >> scan->n_bits) & ((1u << n) - 1);
}

static unsigned take_symbol(struct mafat_jpeg_scans *s, struct mafat_jpeg_scan *scan,
                            const struct mafat_jpeg_huffman *t)
{
  if (scan->n_bits < 8) fill(s, scan);
  unsigned ahead = scan->n_bits < 8 ? 0 : t->ahead[scan->bits >> (scan->n_bits - 8) & 255];
  if (ahead) {
    scan->n_bits -= (int)(ahead >> 8);
    return ahead & 255;
  }
  int code = 0;
  for (int n = 1; n <= 16; n++) {
    code = code << 1 | (int)take_bits(s, scan, 1);
    if (code <= t->most[n]) return t->symbols[(code + t->offset[n]) & 255];
  }
  scan->bad_code = true;
  return 0;
}

/* Returns a signed number of n bits: those below 1 << (n - 1) are negative. */
static int take_number(struct mafat_jpeg_scans *s, struct mafat_jpeg_scan *scan, int n)
{
  int x = n ? (int)take_bits(s, scan, n) : 0;
  return n && x < 1 << (n - 1) ? x - (1 << n) + 1 : x;
}

/* ---- blocks ---- */

static int16_t shifted(int x, int low)
{
  return (int16_t)(uint16_t)((unsigned)x << low);
}

/* Damaged data may run past the last coefficient; then, as in libjpeg, the last one changes. */
static int16_t *coefficient(int16_t *block, int k)
{
  return &block[k < COEFS ? k : COEFS - 1];
}

static void first_dc(struct mafat_jpeg_scans *s, struct mafat_jpeg_scan *scan, int i,
                     int16_t *block)
{
  int difference = take_number(s, scan, (int)take_symbol(s, scan, scan->tables[0][i]));
  if (__builtin_add_overflow(scan->dc[i], difference, &scan->dc[i])) scan->bad_code = true;
  block[0] = shifted(scan->dc[i], scan->low);
}

/* Reads the length of a run of blocks without further coefficients: 2^r plus a number of r bits. */
static void start_run(struct mafat_jpeg_scans *s, struct mafat_jpeg_scan *scan, unsigned r)
{
  scan->run = (1u << r) + (r ? take_bits(s, scan, (int)r) : 0);
}

static void first_ac(struct mafat_jpeg_scans *s, struct mafat_jpeg_scan *scan, int i,
                     int16_t *block)
{
  if (scan->run > 0) {
    scan->run--;
    return;
  }
  for (int k = scan->first ? scan->first : 1; k <= scan->last; k++) {
    unsigned symbol = take_symbol(s, scan, scan->tables[1][i]), r = symbol >> 4;
    if (symbol & 15) {
      k += (int)r;
      *coefficient(block, k) = shifted(take_number(s, scan, symbol & 15), scan->low);
    } else if (r == 15) {
      k += 15;
    } else {
      if (!s->frame.progressive) return;
      start_run(s, scan, r);
      scan->run--;
      return;
    }
  }
}

/* Reads one more bit of a coefficient that is not 0. */
static void refine(struct mafat_jpeg_scans *s, struct mafat_jpeg_scan *scan, int16_t *x)
{
  int bit = 1 << scan->low;
  if (take_bits(s, scan, 1) && (*x & bit) == 0) *x = (int16_t)(*x + (*x >= 0 ? bit : -bit));
}

/* Refines the coefficients from k on. */
static void refine_rest(struct mafat_jpeg_scans *s, struct mafat_jpeg_scan *scan, int16_t *block,
                        int k)
{
  for (; k <= scan->last; k++)
    if (k % 4 == 0 && mafat_jpeg_no_four(block + k)) k += 3;
    else if (block[k]) refine(s, scan, &block[k]);
}

static void refine_ac(struct mafat_jpeg_scans *s, struct mafat_jpeg_scan *scan, int16_t *block)
{
  int k = scan->first, last = scan->last;
  for (; scan->run == 0 && k <= last; k++) {
    unsigned symbol = take_symbol(s, scan, scan->tables[1][0]);
    int zeros = (int)(symbol >> 4), added = 0;
    if (symbol & 15) {
      if ((symbol & 15) != 1) scan->bad_code = true;
      added = take_bits(s, scan, 1) ? 1 : -1;
    } else if (zeros < 15) {
      start_run(s, scan, symbol >> 4);
      break;
    }
    for (; k <= last; k++) {
      if (block[k]) refine(s, scan, &block[k]);
      else if (--zeros < 0) break;
    }
    if (added) *coefficient(block, k) = shifted(added, scan->low);
  }
  if (scan->run == 0) return;
  refine_rest(s, scan, block, k);
  scan->run--;
}

static void decode_block(struct mafat_jpeg_scans *s, struct mafat_jpeg_scan *scan, int i,
                         int16_t *block)
{
  if (scan->high == 0) {
    if (scan->first == 0) first_dc(s, scan, i, block);
    if (scan->last > 0) first_ac(s, scan, i, block);
  } else if (scan->first == 0) {
    if (take_bits(s, scan, 1)) block[0] = (int16_t)(block[0] | 1 << scan->low);
  } else {
    refine_ac(s, scan, block);
  }
}

/* ---- rows of MCUs ---- */

/* Skips to the restart marker, which must be the next one. */
static void restart(struct mafat_jpeg_scans *s, struct mafat_jpeg_scan *scan)
{
  while (!scan->marker) {
    scan->n_bits = 0;
    fill(s, scan);
  }
  if (scan->marker == RST0 + scan->restart) scan->marker = 0;
  else scan->missing = true;
  scan->restart = (scan->restart + 1) & 7;
  scan->n_bits = 0;
  scan->left = scan->interval;
  scan->run = 0;
  memset(scan->dc, 0, sizeof scan->dc);
}

static void count_mcu(struct mafat_jpeg_scans *s, struct mafat_jpeg_scan *scan)
{
  if (!scan->interval) return;
  if (scan->left == 0) restart(s, scan);
  scan->left--;
}

/* Decodes the scan's part of the row of MCUs. */
static void decode_row(struct mafat_jpeg_scans *s, struct mafat_jpeg_scan *scan)
{
  if (scan->n == 1) {
    const struct mafat_jpeg_component *c = &s->of[scan->components[0]];
    int v = s->frame.of[scan->components[0]].v, left = c->down - s->mcu_row * v;
    for (int y = 0; y < v && y < left; y++)
      for (int x = 0; x < c->across; x++) {
        count_mcu(s, scan);
        decode_block(s, scan, 0, c->blocks + (size_t)(y * c->stride + x) * COEFS);
      }
    return;
  }
  for (int mcu = 0; mcu < s->mcus_across; mcu++) {
    count_mcu(s, scan);
    for (int i = 0; i < scan->n; i++) {
      const struct mafat_jpeg_component *c = &s->of[scan->components[i]];
      int h = s->frame.of[scan->components[i]].h, v = s->frame.of[scan->components[i]].v;
      for (int b = 0; b < h * v; b++)
        decode_block(s, scan, i,
                     c->blocks + (size_t)(b / h * c->stride + mcu * h + b % h) * COEFS);
    }
  }
}

static int check_scan(const struct mafat_jpeg_scans *s, const struct mafat_jpeg_scan *scan,
                      struct mafat_diagnostic *d)
{
  if (s->error) return mafat_fail(d, MAFAT_EIO, "%s: cannot read: %s", s->name, strerror(s->error));
  if (scan->missing && s->endless && !scan->next) return mafat_jpeg_scans_refuse_end(s, d);
  if (scan->missing || scan->bad_code)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: damaged JPEG picture: a scan %s", s->name,
                      scan->missing ? "ends too early" : "has an invalid Huffman code");
  return MAFAT_OK;
}

int mafat_jpeg_rows_next(struct mafat_jpeg_scans *s, struct mafat_diagnostic *d)
{
  int code = MAFAT_OK;
  memset(s->row, 0, s->row_blocks * COEFS * sizeof *s->row);
  for (struct mafat_jpeg_scan *scan = s->scans; scan && code == MAFAT_OK; scan = scan->next) {
    decode_row(s, scan);
    code = check_scan(s, scan, d);
  }
  return code;
}

int mafat_jpeg_rows_begin(struct mafat_jpeg_scans *s, struct mafat_diagnostic *d)
{
  s->row = malloc(s->row_blocks * COEFS * sizeof *s->row);
  s->buffers = malloc(s->n_scans * mafat_jpeg_scans_chunk(s));
  if (!s->row || !s->buffers) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", s->name);
  int16_t *blocks = s->row;
  for (int i = 0; i < s->frame.n_components; i++) {
    s->of[i].blocks = blocks;
    blocks += s->of[i].stride * s->frame.of[i].v * COEFS;
  }
  uint8_t *buffer = s->buffers;
  for (struct mafat_jpeg_scan *scan = s->scans; scan; scan = scan->next) {
    scan->buffer = buffer;
    buffer += mafat_jpeg_scans_chunk(s);
  }
  return MAFAT_OK;
}
