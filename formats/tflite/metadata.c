/* Reads how pictures are preprocessed from the metadata of a .tflite file: a FlatBuffer with a
 * schema of its own, stored in a buffer of the file. Damaged metadata is ignored. Called by
 * formats/tflite/tflite.c. Reads the file; sets the model's `picture`. */
#include "formats/tflite/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fields of the tables. */
enum { MODEL_METADATA = 6, METADATA_NAME = 0, METADATA_BUFFER = 1, BUFFER_DATA = 0 };
enum { ROOT_GRAPHS = 3, GRAPH_INPUTS = 2, TENSOR_UNITS = 4, UNIT_TYPE = 0, UNIT_OPTIONS = 1 };
enum { NORMALIZATION_MEAN = 0, NORMALIZATION_DEVIATION = 1 };
enum { UNIT_NORMALIZES = 1, IDENTIFIER_BYTES = 4, MAX_METADATA = 64 };

static const char name[] = "TFLITE_METADATA", identifier[] = "M001";

/* Returns element i of a vector of tables; an absent table if i is out of range or the vector is
 * too long. */
static struct mafat_flat_table table_of(struct mafat_flat *f, const struct mafat_flat_vector *v,
                                        uint32_t i)
{
  struct mafat_flat_table t = {0};
  if (i >= v->n || v->n > MAX_METADATA) return t;
  uint32_t offsets[MAX_METADATA];
  mafat_flat_copy(f, v, i + 1, sizeof *offsets, offsets);
  return f->code ? t : mafat_flat_element(f, v, i, offsets[i]);
}

static struct mafat_flat_table table_in(struct mafat_flat *f, const struct mafat_flat_table *t,
                                        int field, uint32_t i)
{
  struct mafat_flat_vector v = mafat_flat_vector(f, t, field, sizeof(uint32_t));
  return table_of(f, &v, i);
}

static bool has_name(struct mafat_flat *f, const struct mafat_flat_table *t)
{
  char text[sizeof name];
  struct mafat_flat_vector v = mafat_flat_vector(f, t, METADATA_NAME, 1);
  if (v.n != sizeof name - 1) return false;
  mafat_flat_copy(f, &v, v.n, 1, text);
  return memcmp(text, name, v.n) == 0;
}

/* Returns the location of the metadata in the file; empty if none. */
static struct mafat_flat_vector find_metadata(struct mafat_flat *f,
                                              const struct mafat_tflite_reader *r,
                                              const struct mafat_flat_table *model)
{
  struct mafat_flat_vector list = mafat_flat_vector(f, model, MODEL_METADATA, sizeof(uint32_t));
  for (uint32_t i = 0; i < list.n && i < MAX_METADATA && !f->code; i++) {
    struct mafat_flat_table t = table_of(f, &list, i);
    if (!t.at || !has_name(f, &t)) continue;
    uint32_t buffer = (uint32_t)mafat_flat_uint(f, &t, METADATA_BUFFER, 4, 0);
    if (buffer >= r->buffers.n) break;
    struct mafat_flat_table b =
        mafat_flat_element(f, &r->buffers, buffer, r->buffer_offsets[buffer]);
    return mafat_flat_vector(f, &b, BUFFER_DATA, 1);
  }
  return (struct mafat_flat_vector){0};
}

/* Reads a list of one number, which is for all channels, or of three, one for each channel. False:
 * the list has another length, or a number is not finite. */
static bool read_numbers(struct mafat_flat *f, const struct mafat_flat_table *t, int field,
                         float numbers[3])
{
  struct mafat_flat_vector v = mafat_flat_vector(f, t, field, sizeof *numbers);
  if (v.n != 1 && v.n != 3) return false;
  mafat_flat_copy(f, &v, v.n, sizeof *numbers, numbers);
  for (uint32_t c = v.n; c < 3; c++) numbers[c] = numbers[0];
  return !f->code && isfinite(numbers[0]) && isfinite(numbers[1]) && isfinite(numbers[2]);
}

static void read_normalization(struct mafat_flat *f, const struct mafat_flat_table *options,
                               struct mafat_picture_declared *declared)
{
  struct mafat_picture_declared s = {.normalized = true};
  float deviation[3];
  if (!read_numbers(f, options, NORMALIZATION_MEAN, s.mean) ||
      !read_numbers(f, options, NORMALIZATION_DEVIATION, deviation))
    return;
  for (int c = 0; c < 3; c++) {
    s.scale[c] = 1 / deviation[c];
    if (!mafat_picture_is_finite(s.mean[c], s.scale[c])) return;
  }
  *declared = s;
}

/* Reads what the metadata at byte `at` of the file declares for the first input. */
static void read_metadata(struct mafat_flat *f, uint64_t at,
                          struct mafat_picture_declared *declared)
{
  struct mafat_flat_table root = mafat_flat_root_at(f, at, identifier);
  struct mafat_flat_table graph = table_in(f, &root, ROOT_GRAPHS, 0),
                          input = table_in(f, &graph, GRAPH_INPUTS, 0);
  struct mafat_flat_vector units = mafat_flat_vector(f, &input, TENSOR_UNITS, sizeof(uint32_t));
  for (uint32_t i = 0; i < units.n && !f->code; i++) {
    struct mafat_flat_table unit = table_of(f, &units, i);
    if (!unit.at) return;
    if (mafat_flat_uint(f, &unit, UNIT_TYPE, 1, 0) != UNIT_NORMALIZES) continue;
    struct mafat_flat_table options = mafat_flat_table(f, &unit, UNIT_OPTIONS);
    read_normalization(f, &options, declared);
    return;
  }
}

void mafat_tflite_read_picture(const struct mafat_tflite_reader *r,
                               const struct mafat_flat_table *model)
{
  struct mafat_flat f = mafat_flat(r->f.file, NULL);
  struct mafat_flat_vector data = find_metadata(&f, r, model);
  if (data.n > 2 * IDENTIFIER_BYTES && !f.code) read_metadata(&f, data.at, &r->model->picture);
}
