#include "runner/image/raw_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum {
  /* Of memory, where a band's rows leave a choice: two bands of 608 x 608 x 3 have 16 rows
   * each then, and a read 40 KB. */
  ROOM = 256 << 10,
  READS_BYTES = 32 << 10 /* records of the reads, and the kernel's */
};

/* ---- bands ---- */

static size_t row_bytes(struct mafat_shape s)
{
  return (size_t)s.w * sizeof(float);
}

/* A read of so many rows may begin and end anywhere between what direct reads are aligned to. */
static size_t read_bytes(struct mafat_shape s, int rows)
{
  const size_t a = MAFAT_FETCH_ALIGNMENT;
  return ((size_t)rows * row_bytes(s) + 2 * a - 2) / a * a;
}

/* Two bands where they fit, all reads of each; else single rows, as many as fit, which need
 * not be there together. */
static void cut(struct mafat_raw_input *r, struct mafat_shape s)
{
  r->shape = s;
  r->band_rows = 1;
  if (2 * s.c <= MAFAT_READS_DEPTH)
    while (r->band_rows < s.h && 2 * (size_t)s.c * read_bytes(s, r->band_rows + 1) <= ROOM) r->band_rows++;
  r->read_bytes = read_bytes(s, r->band_rows);
  size_t places = ROOM / r->read_bytes;
  int most = s.c > MAFAT_READS_DEPTH / 2 ? MAFAT_READS_DEPTH : 2 * s.c;
  if (r->band_rows == s.h && s.c < most) most = s.c;
  r->n_places = places < 1 ? 1 : places < (size_t)most ? (int)places : most;
}

static size_t memory_bytes(const struct mafat_raw_input *r)
{
  return (size_t)r->n_places * r->read_bytes;
}

size_t mafat_raw_input_bytes(struct mafat_shape shape)
{
  struct mafat_raw_input r;
  cut(&r, shape);
  return memory_bytes(&r) + READS_BYTES;
}

/* ---- opening ---- */

/* More, maybe, than a 32-bit process can address: a plan of rows reads it all the same. */
static uint64_t file_bytes(struct mafat_shape s)
{
  return (uint64_t)row_bytes(s) * (uint64_t)s.h * (uint64_t)s.c;
}

static int check_size(const char *path, uint64_t bytes, struct mafat_shape s, struct mafat_diagnostic *d)
{
  if (bytes == file_bytes(s)) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EFORMAT, "%s: expected a file of %llu bytes (%d x %d x %d floats), found %llu", path,
                    (unsigned long long)file_bytes(s), s.c, s.h, s.w, (unsigned long long)bytes);
}

static int check_file(const char *path, struct mafat_shape s, struct mafat_diagnostic *d)
{
  struct stat st;
  if (stat(path, &st) != 0) return mafat_fail(d, MAFAT_EIO, "%s: cannot open: %s", path, strerror(errno));
  if (!S_ISREG(st.st_mode))
    return mafat_fail(d, MAFAT_EIO, "%s: expected a regular file of %llu bytes (%d x %d x %d floats)", path,
                      (unsigned long long)file_bytes(s), s.c, s.h, s.w);
  return check_size(path, (uint64_t)st.st_size, s, d);
}

int mafat_raw_input_open(struct mafat_raw_input *r, const char *path, struct mafat_shape shape,
                         struct mafat_diagnostic *d)
{
  *r = (struct mafat_raw_input){.path = path, .memory = MAP_FAILED};
  cut(r, shape);
  int code = check_file(path, shape, d);
  if (code == MAFAT_OK) code = mafat_reads_open_cached(&r->reads, path, d);
  /* Once more: another file may have the name by now. */
  if (code == MAFAT_OK) code = check_size(path, mafat_reads_file_bytes(r->reads), shape, d);
  if (code == MAFAT_OK) {
    r->memory = mmap(NULL, memory_bytes(r), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (r->memory == MAP_FAILED) code = mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", path);
  }
  if (code) mafat_raw_input_close(r);
  return code;
}

void mafat_raw_input_close(struct mafat_raw_input *r)
{
  mafat_reads_close(&r->reads); /* waits for what is under way to the memory */
  if (r->memory != MAP_FAILED) munmap(r->memory, memory_bytes(r));
  r->memory = MAP_FAILED;
}

/* ---- reading ---- */

/* Where the floats of a read begin in the file. */
static uint64_t offset_of(const struct mafat_raw_input *r, long long number)
{
  uint64_t channel = (uint64_t)(number % r->shape.c), row = (uint64_t)(number / r->shape.c) * (uint64_t)r->band_rows;
  return (channel * (uint64_t)r->shape.h + row) * row_bytes(r->shape);
}

static char *place_of(const struct mafat_raw_input *r, long long number)
{
  return r->memory + (size_t)(number % r->n_places) * r->read_bytes;
}

static int submit(struct mafat_raw_input *r, struct mafat_diagnostic *d)
{
  long long number = r->submitted;
  int row = (int)(number / r->shape.c) * r->band_rows;
  int rows = r->shape.h - row < r->band_rows ? r->shape.h - row : r->band_rows;
  size_t a = mafat_reads_alignment(r->reads), bytes = (size_t)rows * row_bytes(r->shape);
  uint64_t begin = offset_of(r, number) / a * a, end = (offset_of(r, number) + bytes + a - 1) / a * a;
  int code = mafat_reads_submit(r->reads, (unsigned)(number % r->n_places), place_of(r, number), (size_t)(end - begin),
                                begin, d);
  if (code == MAFAT_OK) r->submitted++;
  return code;
}

/* Has as many reads under way as there is room for, and waits for this one, the next at most. */
static int await(struct mafat_raw_input *r, long long number, struct mafat_diagnostic *d)
{
  long long n = (long long)((r->shape.h + r->band_rows - 1) / r->band_rows) * r->shape.c;
  int code = MAFAT_OK;
  while (code == MAFAT_OK && r->submitted < n && r->submitted < r->released + r->n_places) code = submit(r, d);
  if (code || number < r->awaited) return code;
  code = mafat_reads_wait(r->reads, (unsigned)(number % r->n_places), d);
  if (code == MAFAT_OK) r->awaited++;
  return code;
}

/* Rows that lie in one band, of one channel. */
static int take_rows(struct mafat_raw_input *r, struct mafat_executor *e, int c, struct mafat_span rows,
                     struct mafat_diagnostic *d)
{
  int band = rows.begin / r->band_rows, first = band * r->band_rows;
  long long number = (long long)band * r->shape.c + c;
  int code = await(r, number, d);
  if (code) return code;
  const char *floats = place_of(r, number) + offset_of(r, number) % mafat_reads_alignment(r->reads);
  for (int y = rows.begin; y < rows.end; y++)
    mafat_executor_set_input_row(e, c, y, (const float *)(floats + (size_t)(y - first) * row_bytes(r->shape)));
  if (rows.end == first + r->band_rows || rows.end == r->shape.h) r->released++;
  return MAFAT_OK;
}

static int read_rows(void *context, struct mafat_executor *e, struct mafat_span rows, struct mafat_diagnostic *d)
{
  struct mafat_raw_input *r = context;
  for (int y = rows.begin, end; y < rows.end; y = end) {
    end = (y / r->band_rows + 1) * r->band_rows;
    if (end > rows.end) end = rows.end;
    for (int c = 0; c < r->shape.c; c++) {
      int code = take_rows(r, e, c, mafat_span(y, end), d);
      if (code) return code;
    }
  }
  if (rows.end == r->shape.h) mafat_raw_input_close(r); /* the layers run without it */
  return MAFAT_OK;
}

struct mafat_input_source mafat_raw_input_source(struct mafat_raw_input *r)
{
  return (struct mafat_input_source){read_rows, r};
}
