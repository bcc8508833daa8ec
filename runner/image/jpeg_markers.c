/* Finds the scans of a JPEG and their tables, and decides whether they can be converted. Called by
 * runner/image/jpeg.c and runner/image/jpeg_rows.c. Allocates; reads the file. */
#include "runner/image/jpeg_scans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/image/decoder.h"
#include "runner/image/jpeg_state.h"

/* ---- markers ---- */

/* A Huffman table of the file. */
struct table {
  bool defined;
  uint8_t counts[17], symbols[256];
  struct mafat_jpeg_huffman *made; /* NULL: no scan has used it */
};

/* A walk over the file's markers. */
struct marker_walk {
  struct mafat_jpeg_scans *s;
  struct mafat_image_source source;
  bool unusual, ended; /* unusual: a segment is invalid or cannot be converted; ended: no bytes are
                          left */
  int error;           /* errno */
  unsigned interval;
  struct table tables[2][COMPONENTS]; /* [1: AC] */
  bool quantized[COMPONENTS];
  uint16_t quantization[COMPONENTS][COEFS];
};

static unsigned take(struct marker_walk *w)
{
  struct mafat_image_source *source = &w->source;
  if (source->left == 0 && !w->ended) {
    bool canceled = mafat_image_source_check(source, w->s->name, NULL) != MAFAT_OK;
    int filled = canceled ? 0 : mafat_image_source_fill(source);
    if (filled < 0 || canceled) w->error = canceled ? ECANCELED : errno;
    w->ended = filled <= 0;
  }
  if (w->ended) return 0;
  source->left--;
  return *source->next++;
}

static unsigned take_two(struct marker_walk *w)
{
  unsigned high = take(w) << 8;
  return high | take(w);
}

static void skip(struct marker_walk *w, size_t n)
{
  size_t here = n < w->source.left ? n : w->source.left;
  w->source.next += here;
  w->source.left -= here;
  w->source.position += (off_t)(n - here);
}

static off_t position_of(const struct marker_walk *w)
{
  return w->source.position - (off_t)w->source.left;
}

/* Returns the next marker; skips the data before it. EOI at the end of the file. */
static unsigned next_marker(struct marker_walk *w)
{
  while (!w->ended) {
    const uint8_t *ff = w->source.left ? memchr(w->source.next, 0xff, w->source.left) : NULL;
    skip(w, ff ? (size_t)(ff - w->source.next) : w->source.left);
    unsigned c = take(w);
    if (c != 0xff) continue; /* the first byte of the next part of the file */
    while (c == 0xff) c = take(w);
    if (c) return c;
  }
  return EOI;
}

/* Reads Huffman tables. Like libjpeg, accepts only tables 0 to 3. */
static void read_huffman(struct marker_walk *w, size_t n)
{
  while (n > 17 && !w->ended) {
    unsigned index = take(w), sum = 0;
    if (index & 0xec) break;
    struct table *t = &w->tables[index >> 4][index & 3];
    t->defined = false;
    for (int i = 1; i <= 16; i++) sum += t->counts[i] = (uint8_t)take(w);
    n -= 17;
    if (sum > 256 || sum > n) break;
    memset(t->symbols, 0, sizeof t->symbols);
    for (unsigned i = 0; i < sum; i++) t->symbols[i] = (uint8_t)take(w);
    n -= sum;
    t->defined = true;
    t->made = NULL;
  }
  if (n) w->unusual = true;
}

static void read_quantization(struct marker_walk *w, size_t n)
{
  while (n > COEFS && !w->ended) {
    unsigned index = take(w), wide = index >> 4 ? 2 : 1;
    if ((index & 15) >= COMPONENTS || n < 1 + COEFS * wide) break;
    w->quantized[index & 15] = true;
    for (int k = 0; k < COEFS; k++)
      w->quantization[index & 15][k] = (uint16_t)(wide == 2 ? take_two(w) : take(w));
    n -= 1 + COEFS * wide;
  }
  if (n) w->unusual = true;
}

/* Makes a decoding table; NULL: it is invalid, or there is no memory. */
static struct mafat_jpeg_huffman *make_table(struct marker_walk *w, struct table *from, bool ac)
{
  if (from->made) return from->made;
  struct mafat_jpeg_huffman *t = calloc(1, sizeof *t);
  if (!t) {
    w->error = ENOMEM;
    return NULL;
  }
  t->next = w->s->tables;
  w->s->tables = t;
  w->s->n_tables++;
  memcpy(t->symbols, from->symbols, sizeof t->symbols);
  int code = 0, k = 0;
  for (int n = 1; n <= 16; n++, code <<= 1) {
    t->offset[n] = k - code;
    for (int i = 0; i < from->counts[n]; i++, code++, k++) {
      if (!ac && t->symbols[k] > 15) return NULL;
      for (int j = 0; n <= 8 && j < 1 << (8 - n) && code < 1 << n; j++)
        t->ahead[code << (8 - n) | j] = (uint16_t)(n << 8 | t->symbols[k]);
    }
    t->most[n] = from->counts[n] ? code - 1 : -1;
    if (from->counts[n] && code >= 1 << n) return NULL; /* a code must not consist of ones only */
  }
  return from->made = t;
}

/* True if libjpeg accepts the scan's parameters without a warning after the previous scans. Records
 * which bits of coefficients the scan adds. */
static bool note_bits(struct marker_walk *w, const struct mafat_jpeg_scan *scan)
{
  bool usual = true;
  if (w->s->frame.progressive) {
    usual = scan->first <= scan->last && scan->last < COEFS && scan->low <= 13 &&
            (scan->high == 0 || scan->high == scan->low + 1) &&
            (scan->first ? scan->n == 1 : scan->last == 0);
  } else {
    usual = scan->first == 0 && scan->last == COEFS - 1 && scan->high == 0 && scan->low == 0;
  }
  for (int i = 0; i < scan->n && usual; i++) {
    int8_t *low = w->s->of[scan->components[i]].low;
    if (scan->first && low[0] < 0) usual = false;
    for (int k = scan->first; k <= scan->last; k++) {
      if (low[k] < 0 ? scan->high != 0 : scan->high == 0 || scan->high != low[k]) usual = false;
      low[k] = (int8_t)scan->low;
    }
  }
  return usual;
}

/* Copies a component's quantization table as it is at the component's first scan. */
static bool note_component(struct marker_walk *w, int i)
{
  struct mafat_jpeg_component *c = &w->s->of[i];
  int from = w->s->frame.of[i].quantization;
  if (c->seen) return true;
  c->seen = true;
  if (from < 0 || from >= COMPONENTS || !w->quantized[from]) return false;
  memcpy(c->quantization, w->quantization[from], sizeof c->quantization);
  return true;
}

/* Reads the components of a scan header, and finds their tables. */
static bool read_components(struct marker_walk *w, struct mafat_jpeg_scan *scan,
                            uint8_t tables[COMPONENTS])
{
  const struct mafat_jpeg_frame *f = &w->s->frame;
  int blocks = 0;
  for (int i = 0, c = 0; i < scan->n; i++, c++) {
    int id = (int)take(w);
    tables[i] = (uint8_t)take(w);
    while (c < f->n_components && f->of[c].id != id) c++; /* in the order of the frame header */
    if (c >= f->n_components) return false;
    scan->components[i] = (uint8_t)c;
    blocks += f->of[c].h * f->of[c].v;
  }
  return scan->n == 1 || blocks <= MOST_BLOCKS;
}

/* Most tables that are kept. Opening a picture takes memory before its budget is checked, and
 * encoders write a table or two for each of about ten scans. */
enum { MOST_TABLES = 64 };

static bool find_tables(struct marker_walk *w, struct mafat_jpeg_scan *scan, const uint8_t *tables)
{
  if (w->unusual) return false; /* they would not be used */
  for (int i = 0; i < scan->n; i++)
    for (int ac = 0; ac < 2; ac++) {
      unsigned index = ac ? tables[i] & 15u : tables[i] >> 4;
      if (ac ? scan->last == 0 : scan->first > 0 || scan->high > 0) continue; /* none is needed */
      if (index >= COMPONENTS || !w->tables[ac][index].defined) return false;
      if (!(scan->tables[ac][i] = make_table(w, &w->tables[ac][index], ac))) return false;
    }
  return w->s->n_tables <= MOST_TABLES;
}

static bool read_scan(struct marker_walk *w, struct mafat_jpeg_scan *scan, size_t n)
{
  uint8_t tables[COMPONENTS];
  scan->n = (uint8_t)take(w);
  if (scan->n < 1 || scan->n > w->s->frame.n_components || n != 4 + 2u * scan->n) return false;
  if (!read_components(w, scan, tables)) return false;
  scan->first = (uint8_t)take(w);
  scan->last = (uint8_t)take(w);
  unsigned bits = take(w);
  scan->high = (uint8_t)(bits >> 4);
  scan->low = bits & 15;
  scan->interval = scan->left = w->interval;
  scan->at = position_of(w);
  bool usual = !w->ended && note_bits(w, scan);
  for (int i = 0; i < scan->n; i++) usual = note_component(w, scan->components[i]) && usual;
  return usual && (w->s->frame.arithmetic || find_tables(w, scan, tables));
}

static void add_scan(struct marker_walk *w, size_t n)
{
  struct mafat_jpeg_scans *s = w->s;
  struct mafat_jpeg_scan *scan = calloc(1, sizeof *scan);
  if (!scan) {
    w->error = ENOMEM;
    return;
  }
  *s->end = scan;
  s->end = &scan->next;
  s->n_scans++;
  if (!read_scan(w, scan, n)) w->unusual = true;
}

/* Reads the segment that follows a marker. */
static void read_segment(struct marker_walk *w, unsigned marker)
{
  off_t begin = position_of(w);
  size_t n = take_two(w);
  off_t end = begin + (off_t)n;
  if (n < 2) {
    w->unusual = true;
    return;
  }
  if (marker == SOS) add_scan(w, n - 2);
  else if (marker == DHT) read_huffman(w, n - 2);
  else if (marker == DQT) read_quantization(w, n - 2);
  else if (marker == DRI) w->interval = take_two(w);
  if (marker == DRI && n != 4) w->unusual = true;
  if (position_of(w) < end) skip(w, (size_t)(end - position_of(w)));
}

/* True for the markers, other than frame headers, that libjpeg accepts. */
static bool is_known(unsigned marker)
{
  return marker == DHT || marker == DAC || (marker >= SOS && marker <= DRI) ||
         (marker >= APP0 && marker <= APP15) || marker == COM;
}

static void find_scans(struct marker_walk *w)
{
  int frames = 0;
  unsigned marker;
  take_two(w); /* SOI */
  while ((marker = next_marker(w)) != EOI && !w->error && w->s->n_scans <= MAFAT_JPEG_SCANS) {
    if (marker == TEM || (marker >= RST0 && marker <= RST7)) continue;
    if (!is_known(marker) && ++frames > 1) w->unusual = true;
    read_segment(w, marker);
  }
  w->s->endless = w->ended;
  w->s->file_bytes = (long long)w->source.position;
}

/* True if the scans give all bits of the first n coefficients of each component. */
static bool is_complete(const struct mafat_jpeg_scans *s, int n)
{
  for (int i = 0; i < s->frame.n_components; i++)
    for (int k = 0; k < n; k++)
      if (!s->of[i].seen || s->of[i].low[k] != 0) return false;
  return true;
}

/* ---- opening ---- */

static struct mafat_jpeg_scans *make_scans(struct mafat_image_source *source,
                                           const struct mafat_jpeg_frame *frame, const char *name)
{
  enum { SIDE = 8 };
  int h_max = 1, v_max = 1;
  struct mafat_jpeg_scans *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  *s = (struct mafat_jpeg_scans){.source = source, .name = name, .frame = *frame, .end = &s->scans};
  if (frame->n_components == 1) s->frame.of[0].h = s->frame.of[0].v = 1;
  for (int i = 0; i < frame->n_components; i++) {
    if (s->frame.of[i].h > h_max) h_max = s->frame.of[i].h;
    if (s->frame.of[i].v > v_max) v_max = s->frame.of[i].v;
  }
  s->mcus_across = s->mcu = (frame->width + SIDE * h_max - 1) / (SIDE * h_max);
  s->mcu_row = -1;
  s->mcus_down = (frame->height + SIDE * v_max - 1) / (SIDE * v_max);
  for (int i = 0; i < frame->n_components; i++) {
    struct mafat_jpeg_component *c = &s->of[i];
    int h = s->frame.of[i].h, v = s->frame.of[i].v;
    c->across = (frame->width * h + SIDE * h_max - 1) / (SIDE * h_max);
    c->down = (frame->height * v + SIDE * v_max - 1) / (SIDE * v_max);
    c->stride = s->mcus_across * h;
    s->row_blocks += (size_t)c->stride * (size_t)v;
    memset(c->low, -1, sizeof c->low);
  }
  return s;
}

/* True if the file can be converted; see mafat_jpeg_scans_open. */
static bool is_usable(const struct marker_walk *w)
{
  enum { SMOOTHED = 10 }; /* libjpeg smooths if one of these coefficients is not complete */
  int blocks = 0;
  for (int i = 0; i < w->s->frame.n_components; i++)
    blocks += w->s->frame.of[i].h * w->s->frame.of[i].v;
  return !w->unusual && !w->s->frame.arithmetic && blocks <= MOST_BLOCKS &&
         is_complete(w->s, SMOOTHED);
}

int mafat_jpeg_scans_refuse_end(const struct mafat_jpeg_scans *s, struct mafat_diagnostic *d)
{
  return mafat_fail(
      d, MAFAT_EFORMAT,
      "%s: truncated JPEG picture: the file ends after %lld bytes, before its end marker", s->name,
      s->file_bytes);
}

int mafat_jpeg_refuse_work(const char *name, int width, int height, struct mafat_diagnostic *d)
{
  return mafat_fail(d, MAFAT_EUNSUPPORTED,
                    "%s: JPEG picture of %dx%d: expected at most 32 scans of the whole picture, or "
                    "%d small ones, found more; save it again as baseline JPEG",
                    name, width, height, MAFAT_JPEG_SCANS);
}

static uint64_t component_blocks(const struct mafat_jpeg_component *c)
{
  return (uint64_t)c->across * (uint64_t)c->down;
}

/* True if decoding visits too many blocks, or the number of scans is too large. */
static bool is_too_much_work(const struct mafat_jpeg_scans *s)
{
  uint64_t blocks = 0, work = 0;
  for (int i = 0; i < s->frame.n_components; i++) blocks += component_blocks(&s->of[i]);
  for (const struct mafat_jpeg_scan *scan = s->scans; scan; scan = scan->next)
    for (int i = 0; i < scan->n && i < COMPONENTS; i++)
      if (scan->components[i] < s->frame.n_components)
        work += component_blocks(&s->of[scan->components[i]]);
  return s->n_scans > MAFAT_JPEG_SCANS || work > mafat_jpeg_most_work(blocks);
}

static int judge(const struct marker_walk *w, struct mafat_diagnostic *d)
{
  const char *name = w->s->name;
  if (w->error == ENOMEM) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", name);
  if (w->error == ECANCELED)
    return mafat_fail(d, MAFAT_ECANCELED, "%s: reading was canceled", name);
  if (w->error) return mafat_fail(d, MAFAT_EIO, "%s: cannot read: %s", name, strerror(w->error));
  if (is_too_much_work(w->s))
    return mafat_jpeg_refuse_work(name, w->s->frame.width, w->s->frame.height, d);
  if (w->s->endless && !is_complete(w->s, COEFS)) return mafat_jpeg_scans_refuse_end(w->s, d);
  return MAFAT_OK;
}

int mafat_jpeg_scans_open(struct mafat_jpeg_scans **out, bool *whole,
                          struct mafat_image_source *source, const struct mafat_jpeg_frame *frame,
                          const char *name, struct mafat_diagnostic *d)
{
  *out = NULL;
  struct marker_walk *w = calloc(1, sizeof *w);
  struct mafat_jpeg_scans *s = w ? make_scans(source, frame, name) : NULL;
  if (!s) {
    free(w);
    return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", name);
  }
  w->s = s;
  mafat_image_source_restart(&w->source, source);
  find_scans(w);
  mafat_image_source_forget(&w->source);
  int code = judge(w, d);
  *whole = !is_usable(w);
  free(w);
  if (code) mafat_jpeg_scans_close(&s);
  *out = s;
  return code;
}

size_t mafat_jpeg_scans_chunk(const struct mafat_jpeg_scans *s)
{
  enum { CHUNK = 4096, LARGE_CHUNK = 8192, FEW_SCANS = 16 };
  return s->n_scans <= FEW_SCANS ? LARGE_CHUNK : CHUNK;
}

size_t mafat_jpeg_scans_bytes(const struct mafat_jpeg_scans *s)
{
  enum { ALLOCATOR = 16, PAGES = 2 * 4096 };
  size_t scan = sizeof(struct mafat_jpeg_scan) + ALLOCATOR + mafat_jpeg_scans_chunk(s),
         table = sizeof(struct mafat_jpeg_huffman) + ALLOCATOR;
  return sizeof *s + s->n_scans * scan + s->n_tables * table +
         s->row_blocks * COEFS * sizeof *s->row + PAGES;
}

size_t mafat_jpeg_scans_file_bytes(const struct mafat_jpeg_scans *s)
{
  return 2 * s->n_scans * mafat_jpeg_scans_chunk(s);
}

int mafat_jpeg_scans_count(const struct mafat_jpeg_scans *s)
{
  return (int)s->n_scans;
}

bool mafat_jpeg_scans_endless(const struct mafat_jpeg_scans *s)
{
  return s->endless;
}

void mafat_jpeg_scans_close(struct mafat_jpeg_scans **scans)
{
  struct mafat_jpeg_scans *s = *scans;
  *scans = NULL;
  if (!s) return;
  for (struct mafat_jpeg_scan *scan = s->scans, *next; scan; scan = next) {
    next = scan->next;
    free(scan);
  }
  for (struct mafat_jpeg_huffman *t = s->tables, *next; t; t = next) {
    next = t->next;
    free(t);
  }
  free(s->row);
  free(s->buffers);
  free(s);
}
