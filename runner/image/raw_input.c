/* Reads a file of raw elements or a .npy file as the input of a run. Called by api/inputs.c and
 * api/model.c, and by the executor, which requests rows through struct mafat_input_source;
 * api/footprint.c asks how much memory it needs. Reads the file ahead of use, asynchronously
 * (runner/weights/reads.h); writes the input in the arena; maps buffers, which closing unmaps
 * unless keeps_memory is set. */
#include "runner/image/raw_input.h"

#include "runner/image/npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum {
  /* bytes of all read buffers together: for 608 x 608 x 3 floats, there is room for two bands of 16
   * rows, and a read has 40 KB */
  ROOM = 256 << 10,
  /* bytes of all read buffers if floats are read into an 8-bit input: less, because this is rare,
   * but counted in the predicted memory of every 8-bit input */
  NUMBERS_ROOM = 64 << 10,
  READS_BYTES = 32 << 10 /* memory of the read queue, in this process and in the kernel */
};

/* ---- bands ---- */

static size_t row_bytes(const struct mafat_raw_input *r)
{
  return (size_t)mafat_dtype_bytes(r->type, r->order->row_elements);
}

/* Returns the bytes of all elements of the file. Has 64 bits, because they may exceed the address
 * space of a 32-bit process, which can nevertheless read them row by row. */
static uint64_t elements_bytes(const struct mafat_raw_input *r)
{
  return (uint64_t)row_bytes(r) * (uint64_t)r->order->rows * (uint64_t)r->order->planes;
}

/* True for 8-bit types, whose elements are not converted to floats. */
static bool is_number(enum mafat_dtype type)
{
  return type == MAFAT_I8 || type == MAFAT_U8;
}

static size_t room_of(const struct mafat_raw_input *r)
{
  return r->type == MAFAT_F32 && is_number(r->order->type) ? NUMBERS_ROOM : ROOM;
}

/* Returns the number of reads of a band: one for each group of band_planes planes. */
static int n_groups(const struct mafat_raw_input *r)
{
  return (r->order->planes + r->band_planes - 1) / r->band_planes;
}

/* Returns the most bytes that an aligned read of this many rows of a plane may have. */
static size_t read_bytes(const struct mafat_raw_input *r, int rows)
{
  const size_t a = MAFAT_FETCH_ALIGNMENT;
  return ((size_t)rows * row_bytes(r) + 2 * a - 2) / a * a;
}

/* Chooses the rows of a band, the planes of a read, and the number of read buffers, for room_of(r)
 * bytes of buffers. There are these cases:
 * 1. The file has many planes, and all of it fits: one read has the whole file.
 * 2. Planes have a single row: a read has as many planes as fit in half of the room.
 * 3. Otherwise each read has one plane of a band. With many planes a band is a single row. Else it
 *    has as many rows as possible, but so few that two bands fit: one is used while the next is
 *    read. */
static void cut(struct mafat_raw_input *r)
{
  const struct mafat_file_order *o = r->order;
  bool many = 2 * o->planes > MAFAT_READS_DEPTH;
  r->band_rows = r->band_planes = 1;
  if (many && elements_bytes(r) <= room_of(r)) {
    r->band_rows = o->rows;
    r->band_planes = o->planes;
    r->read_bytes = read_bytes(r, o->planes * o->rows);
    r->n_places = 1;
    return;
  }
  if (o->rows == 1 && o->planes > 1) {
    size_t most = (room_of(r) / 2 - 2 * MAFAT_FETCH_ALIGNMENT) / row_bytes(r);
    r->band_planes = most < 1 ? 1 : most < (size_t)o->planes ? (int)most : o->planes;
    r->read_bytes = read_bytes(r, r->band_planes);
    r->n_places = n_groups(r) < 2 || 2 * r->read_bytes > room_of(r) ? 1 : 2;
    return;
  }
  if (!many)
    while (r->band_rows < o->rows &&
           2 * (size_t)o->planes * read_bytes(r, r->band_rows + 1) <= room_of(r))
      r->band_rows++;
  r->read_bytes = read_bytes(r, r->band_rows);
  size_t places = room_of(r) / r->read_bytes;
  int most = o->planes > MAFAT_READS_DEPTH / 2 ? MAFAT_READS_DEPTH : 2 * o->planes;
  if (r->band_rows == o->rows && o->planes < most) most = o->planes;
  r->n_places = places < 1 ? 1 : places < (size_t)most ? (int)places : most;
}

static size_t places_bytes(const struct mafat_raw_input *r)
{
  return (size_t)r->n_places * r->read_bytes;
}

/* Returns the bytes of the read buffers and, if the file's elements must be converted to floats, of
 * a row of floats. */
static size_t memory_bytes(const struct mafat_raw_input *r)
{
  return places_bytes(r) +
         (r->type == MAFAT_F32 || is_number(r->type) ? 0 : r->order->row_elements * sizeof(float));
}

static size_t bytes_of_type(const struct mafat_file_order *order, enum mafat_dtype type)
{
  struct mafat_raw_input r = {.order = order, .type = type};
  cut(&r);
  return memory_bytes(&r) + READS_BYTES;
}

/* Returns the larger of two sizes: a .npy file may have floats although the input is quantized. */
size_t mafat_raw_input_bytes(const struct mafat_file_order *order)
{
  size_t own = bytes_of_type(order, order->type), floats = bytes_of_type(order, MAFAT_F32);
  return own > floats ? own : floats;
}

/* ---- opening ---- */

static const char *name_elements(const struct mafat_raw_input *r)
{
  return r->type == MAFAT_F32 ? "floats" : mafat_dtype_name(r->type);
}

/* Writes the dimensions to `text`, such as "3 x 416 x 416", and returns it. */
static const char *name_dims(const struct mafat_file_order *o, char *text, size_t capacity)
{
  size_t n = 0;
  text[0] = '\0';
  for (int i = 0; i < o->view.n_dims && n < capacity; i++)
    n += (size_t)snprintf(text + n, capacity - n, "%s%lld", i ? " x " : "", o->view.dims[i]);
  return o->view.n_dims ? text : "1";
}

static int check_size(const struct mafat_raw_input *r, uint64_t bytes, struct mafat_diagnostic *d)
{
  char dims[160];
  uint64_t elements = elements_bytes(r);
  if (bytes == r->begin + elements) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EFORMAT, "%s: expected a file of %llu bytes (%s %s), found %llu",
                    r->path, (unsigned long long)(r->begin + elements),
                    name_dims(r->order, dims, sizeof dims), name_elements(r),
                    (unsigned long long)bytes);
}

static int check_file(struct mafat_raw_input *r, struct mafat_file_state *state,
                      struct mafat_diagnostic *d)
{
  struct stat st;
  char dims[160];
  if (stat(r->path, &st) != 0)
    return mafat_fail(d, MAFAT_EIO, "%s: cannot open: %s", r->path, strerror(errno));
  if (!S_ISREG(st.st_mode))
    return mafat_fail(d, MAFAT_EIO, "%s: expected a regular file of %llu bytes (%s %s)", r->path,
                      (unsigned long long)elements_bytes(r), name_dims(r->order, dims, sizeof dims),
                      name_elements(r));
  *state = mafat_file_state(&st);
  /* If the file has exactly as many bytes as the elements, it is raw, whatever its first bytes
   * are. */
  if ((uint64_t)st.st_size != elements_bytes(r)) {
    int code = mafat_npy_read(r->path, &r->order->view, &r->type, &r->begin, d);
    if (code) return code;
  }
  return check_size(r, (uint64_t)st.st_size, d);
}

/* Fails if the file was replaced or changed after its header was read. */
static int check_opened(const struct mafat_raw_input *r, const struct mafat_file_state *looked_at,
                        struct mafat_diagnostic *d)
{
  struct mafat_file_state opened = mafat_read_queue_state(r->reads, 0);
  if (mafat_file_state_same(&opened, looked_at)) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EIO, "%s: was written to or replaced while it was opened", r->path);
}

struct mafat_raw_input mafat_raw_input_none(void)
{
  return (struct mafat_raw_input){.memory = MAP_FAILED};
}

static void give_memory_back(struct mafat_raw_input *r)
{
  if (r->memory != MAP_FAILED) munmap(r->memory, r->memory_bytes);
  r->memory = MAP_FAILED;
}

static int take_memory(struct mafat_raw_input *r, struct mafat_diagnostic *d)
{
  /* memory that was kept from a file of another type may have the wrong size */
  if (r->memory != MAP_FAILED && r->memory_bytes != memory_bytes(r)) give_memory_back(r);
  r->memory_bytes = memory_bytes(r);
  if (r->memory == MAP_FAILED)
    r->memory =
        mmap(NULL, r->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return r->memory == MAP_FAILED ? mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", r->path)
                                 : MAFAT_OK;
}

int mafat_raw_input_open(struct mafat_raw_input *r, const char *path, int input,
                         const struct mafat_file_order *order, struct mafat_diagnostic *d)
{
  size_t kept = r->memory == MAP_FAILED ? 0 : r->memory_bytes;
  *r = (struct mafat_raw_input){.path = path,
                                .input = input,
                                .order = order,
                                .type = order->type,
                                .memory = r->memory,
                                .memory_bytes = kept,
                                .keeps_memory = r->keeps_memory};
  struct mafat_file_state state = {.known = false};
  int code = check_file(r, &state, d);
  cut(r);
  if (code == MAFAT_OK) code = mafat_read_queue_open_cached(&r->reads, path, d);
  if (code == MAFAT_OK) code = check_opened(r, &state, d);
  if (code == MAFAT_OK) code = take_memory(r, d);
  if (code) mafat_raw_input_close(r);
  return code;
}

void mafat_raw_input_release(struct mafat_raw_input *r)
{
  mafat_read_queue_close(&r->reads); /* waits for pending reads into the memory */
  give_memory_back(r);
}

void mafat_raw_input_close(struct mafat_raw_input *r)
{
  if (r->keeps_memory) mafat_read_queue_close(&r->reads);
  else mafat_raw_input_release(r);
}

/* ---- reading ---- */

/* Returns the file offset of read `number`. */
static uint64_t offset_of(const struct mafat_raw_input *r, long long number)
{
  const struct mafat_file_order *o = r->order;
  uint64_t plane = (uint64_t)(number % n_groups(r)) * (uint64_t)r->band_planes,
           row = (uint64_t)(number / n_groups(r)) * (uint64_t)r->band_rows;
  return r->begin + (plane * (uint64_t)o->rows + row) * row_bytes(r);
}

static char *place_of(const struct mafat_raw_input *r, long long number)
{
  return r->memory + (size_t)(number % r->n_places) * r->read_bytes;
}

static int submit(struct mafat_raw_input *r, struct mafat_diagnostic *d)
{
  const struct mafat_file_order *o = r->order;
  long long number = r->submitted;
  int row = (int)(number / n_groups(r)) * r->band_rows;
  int rows = o->rows - row < r->band_rows ? o->rows - row : r->band_rows;
  if (r->band_planes > 1) {
    int plane = (int)(number % n_groups(r)) * r->band_planes;
    rows = o->rows * (o->planes - plane < r->band_planes ? o->planes - plane : r->band_planes);
  }
  size_t a = mafat_read_queue_alignment(r->reads), bytes = (size_t)rows * row_bytes(r);
  uint64_t begin = offset_of(r, number) / a * a,
           end = (offset_of(r, number) + bytes + a - 1) / a * a;
  int code = mafat_read_queue_submit(r->reads, (unsigned)(number % r->n_places),
                                     place_of(r, number), (size_t)(end - begin), begin, d);
  if (code == MAFAT_OK) r->submitted++;
  return code;
}

/* Submits as many reads as there are free buffers, then waits for read `number`. */
static int await(struct mafat_raw_input *r, long long number, struct mafat_diagnostic *d)
{
  long long n = (long long)((r->order->rows + r->band_rows - 1) / r->band_rows) * n_groups(r);
  int code = MAFAT_OK;
  while (code == MAFAT_OK && r->submitted < n && r->submitted < r->released + r->n_places)
    code = submit(r, d);
  if (code || number < r->awaited) return code;
  code = mafat_read_queue_wait(r->reads, (unsigned)(number % r->n_places), d);
  if (code == MAFAT_OK) r->awaited++;
  return code;
}

/* Returns element i of a row of integers as a float. The row may be unaligned. */
static float integer_value(const char *row, size_t i, enum mafat_dtype type)
{
  int32_t narrow;
  int64_t wide;
  if (type == MAFAT_I64) memcpy(&wide, row + i * sizeof wide, sizeof wide);
  else memcpy(&narrow, row + i * sizeof narrow, sizeof narrow);
  return type == MAFAT_I64 ? (float)wide : (float)narrow;
}

/* Returns a row of a plane as floats; converts integers, of which those above 24 bits are
 * rounded. */
static const float *row_of_floats(const struct mafat_raw_input *r, const char *row)
{
  float *floats = (float *)(r->memory + places_bytes(r));
  if (r->type == MAFAT_F32) return (const float *)row;
  for (size_t i = 0; i < r->order->row_elements; i++) floats[i] = integer_value(row, i, r->type);
  return floats;
}

/* Sets rows of the input from a band of one plane, `bytes`, which begins with row `first`. If the
 * file has a single row with the whole map, `bytes` is that row. */
static void take_floats(const struct mafat_raw_input *r, struct mafat_executor *e, int plane,
                        struct mafat_span rows, const char *bytes, int first)
{
  const struct mafat_file_order *o = r->order;
  bool whole = o->rows < o->shape.h;
  const float *line = NULL;
  for (int y = rows.begin; y < rows.end; y++) {
    if (!whole || !line)
      line = row_of_floats(r, bytes + (whole ? 0 : (size_t)(y - first) * row_bytes(r)));
    if (o->planes > 1) mafat_executor_set_input_row(e, r->input, o, plane, y, line);
    else mafat_executor_set_input_line(e, r->input, o, y, line);
  }
}

static void take_numbers(const struct mafat_raw_input *r, struct mafat_executor *e, int plane,
                         struct mafat_span rows, const unsigned char *bytes, int first)
{
  const struct mafat_file_order *o = r->order;
  struct mafat_span channels =
      o->planes > 1 ? mafat_span(plane, plane + 1) : mafat_span(0, o->shape.c);
  for (int y = rows.begin; y < rows.end; y++)
    mafat_executor_set_input_numbers(
        e, r->input, o, channels, y,
        bytes + (o->rows < o->shape.h ? 0 : (size_t)(y - first) * row_bytes(r)));
}

/* Waits for the read that has these rows of a plane, and sets the input's rows. */
static int take_rows(struct mafat_raw_input *r, struct mafat_executor *e, int plane,
                     struct mafat_span rows, struct mafat_diagnostic *d)
{
  const struct mafat_file_order *o = r->order;
  bool whole = o->rows < o->shape.h; /* the file has a single row with the whole map */
  int band = whole ? 0 : rows.begin / r->band_rows, first = band * r->band_rows;
  long long number = (long long)band * n_groups(r) + plane / r->band_planes;
  int code = await(r, number, d), in_group = plane % r->band_planes;
  if (code) return code;
  const char *bytes = place_of(r, number) +
                      offset_of(r, number) % mafat_read_queue_alignment(r->reads) +
                      (size_t)in_group * (size_t)o->rows * row_bytes(r);
  bool last = in_group == r->band_planes - 1 || plane == o->planes - 1;
  if (is_number(r->type))
    take_numbers(r, e, plane, rows, (const unsigned char *)bytes, whole ? 0 : first);
  else take_floats(r, e, plane, rows, bytes, whole ? 0 : first);
  if (last && (rows.end == o->shape.h || (!whole && rows.end == first + r->band_rows)))
    r->released++;
  return MAFAT_OK;
}

/* Sets the input if it is a single pixel: each group of planes has contiguous channels of it. */
static int take_pixel(struct mafat_raw_input *r, struct mafat_executor *e,
                      struct mafat_diagnostic *d)
{
  int planes = r->order->planes;
  for (int number = 0, plane = 0; plane < planes; number++, plane += r->band_planes) {
    int code = await(r, number, d);
    if (code) return code;
    const char *bytes =
        place_of(r, number) + offset_of(r, number) % mafat_read_queue_alignment(r->reads);
    int end = planes - plane < r->band_planes ? planes : plane + r->band_planes;
    mafat_executor_set_input_channels(e, r->input, mafat_span(plane, end), (const float *)bytes);
    r->released++;
  }
  return MAFAT_OK;
}

/* True if the input is a single pixel of several float channels, which are planes of floats in the
 * file. */
static bool is_pixel(const struct mafat_raw_input *r)
{
  const struct mafat_shape *s = &r->order->shape;
  return r->order->planes == s->c && s->c > 1 && s->h == 1 && s->w == 1 && r->type == MAFAT_F32 &&
         r->order->type == MAFAT_F32;
}

static int read_rows(void *context, struct mafat_executor *e, struct mafat_span rows,
                     struct mafat_diagnostic *d)
{
  struct mafat_raw_input *r = context;
  const struct mafat_file_order *o = r->order;
  for (int y = rows.begin, end; y < rows.end; y = end) {
    if (mafat_executor_is_canceled(e))
      return mafat_fail(d, MAFAT_ECANCELED, "%s: reading was canceled", r->path);
    end = o->rows < o->shape.h ? rows.end : (y / r->band_rows + 1) * r->band_rows;
    if (end > rows.end) end = rows.end;
    int code = is_pixel(r) ? take_pixel(r, e, d) : MAFAT_OK;
    for (int plane = 0; plane < o->planes && !is_pixel(r) && code == MAFAT_OK; plane++)
      code = take_rows(r, e, plane, mafat_span(y, end), d);
    if (code) return code;
  }
  if (rows.end < o->shape.h) return MAFAT_OK;
  int code = mafat_read_queue_check_bytes(r->reads, d);
  mafat_raw_input_close(r); /* frees the buffers before the layers run */
  return code;
}

struct mafat_input_source mafat_raw_input_source(struct mafat_raw_input *r)
{
  return (struct mafat_input_source){read_rows, r};
}
