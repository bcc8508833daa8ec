/* Covers runner/weights/{pack_integers, packer}.c: packed files of integer networks give, under any
 * plan, exactly the results of TFLite's rule of rounding, and a change of any byte of their weights
 * is found, whether weights are kept, loaded or streamed. Packed files are in memory (memfd). */
#include "formats/packed/identity.h"
#include "predictor/schedule/schedule.h"
#include "api/model_files.h"
#include "runner/weights/pack_integers.h"
#include "runner/weights/packer.h"
#include "runner/weights/weights.h"
#include "tests/support/network_files.h"
#include "tests/support/imported.h"
#include "tests/support/integer_runs.h"
#include "tests/support/weight_files.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

Suite *packed_integers_suite(void);

enum { GRAPHS = 200 };

static struct mafat_diagnostic diagnostic;

/* ---- a random model, and its packed file ---- */

static struct test_integer_graph graph;

struct packed {
  int fd;
  char path[64];
  struct mafat_network
      *network; /* read from the packed file; NULL: this version cannot run the model */
};

static struct packed pack_graph(uint64_t seed)
{
  struct packed p = {.fd = -1};
  test_integer_graph_open(&graph, seed * 0x9e3779b97f4a7c15u);
  struct test_imported m = test_import_tflite(&graph.model, &diagnostic);
  if (m.code == MAFAT_OK) {
    p.fd = memfd_create("packed", MFD_CLOEXEC);
    snprintf(p.path, sizeof p.path, "/proc/self/fd/%d", p.fd);
    test_pack_graph(&mafat_tflite_reader, m.path, NULL, MAFAT_F32, p.fd);
    int code = mafat_model_network(&p.network, p.path, NULL, NULL, NULL, &diagnostic);
    ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  }
  test_imported_close(&m);
  return p;
}

static void close_packed(struct packed *p)
{
  mafat_network_close(&p->network);
  if (p->fd >= 0) close(p->fd);
  test_integer_graph_close(&graph);
}

/* Bytes of weights that the layer has in the file. */
static size_t weights_of(const struct packed *p, int layer)
{
  return mafat_packed_layer_bytes(&p->network->layers[layer]);
}

static bool is_table(const struct packed *p, int layer)
{
  return mafat_layer_copies_weights(&p->network->layers[layer]);
}

/* The first model, with this seed or a later one, that has a layer for which has() is true. */
static struct packed find_graph(uint64_t seed,
                                bool (*has)(const struct packed *p, int layer, int what), int what,
                                int *layer)
{
  for (;; seed++) {
    struct packed p = pack_graph(seed);
    for (int l = 0; p.network && l < p.network->n_layers; l++)
      if (has(&p, l, what)) {
        *layer = l;
        return p;
      }
    close_packed(&p);
  }
}

/* ---- what comes out ---- */

START_TEST(any_plan_gives_the_rules_numbers)
{
  struct packed p = pack_graph((uint64_t)_i);
  if (p.network) {
    ck_assert_msg(mafat_packer_check(p.path, NULL, &diagnostic) == MAFAT_OK, "%s", diagnostic.text);
    test_integer_run_plans(&graph, p.network, p.path, true);
  }
  close_packed(&p);
}
END_TEST

/* Plans that keep weights, load them for each group, or stream them for each step of rows or
 * panels. */
static const char *const placements[] = {
    "1x1", "1x1:loaded", "1x1:streamed", "rows2:loaded", "rows1:streamed", "panels:streamed",
    "panels:streamed4"};
enum { N_PLACEMENTS = sizeof placements / sizeof *placements };

static int run_placement(const struct packed *p, int which, int threads)
{
  const struct test_integer_run run = {.path = p->path,
                                       .plan = placements[which],
                                       .packed = true,
                                       .keeps_all = threads % 2 == 0,
                                       .threads = threads};
  return test_integer_run(&graph, p->network, &run, &diagnostic);
}

static void check_placements(const struct packed *p)
{
  for (int i = 0; i < N_PLACEMENTS; i++)
    for (int threads = 1; threads <= 3; threads++)
      ck_assert_msg(run_placement(p, i, threads) == MAFAT_OK, "%s: %s", placements[i],
                    diagnostic.text);
}

/* True for layers that sum integers and have at least `filters` filters. */
static bool has_panels(const struct packed *p, int layer, int filters)
{
  const struct mafat_layer *l = &p->network->layers[layer];
  return mafat_layer_sums_integers(l) && l->out.c >= filters;
}

START_TEST(weights_may_be_anywhere)
{
  int layer;
  struct packed p = find_graph((uint64_t)_i * 1000, has_panels, _i % 2 ? 33 : 1, &layer);
  check_placements(&p);
  close_packed(&p);
}
END_TEST

/* ---- tables of any length ---- */

/* Marks the layers whose weights a run needs; layers that no other reads are not computed. */
static void find_used(const struct mafat_network *n, bool *used)
{
  struct mafat_plan_options options;
  struct mafat_schedule *s;
  struct mafat_step step;
  mafat_plan_defaults(&options);
  options.keep_all = true;
  struct mafat_plan *plan = test_plan_with(n, "1x1", &options);
  ck_assert_int_eq(mafat_schedule_open(&s, n, plan), MAFAT_OK);
  while (mafat_schedule_next(s, &step)) used[step.layer] = true;
  mafat_schedule_close(&s);
  mafat_plan_close(&plan);
}

/* True for a table that a run needs, whose length modulo 4 is which % 4, in a graph that is signed
 * if and only if `which` is 4 or more. */
static bool is_table_of(const struct packed *p, int layer, int which)
{
  bool used[MAFAT_MAX_LAYERS] = {false};
  if (!is_table(p, layer)) return false;
  find_used(p->network, used);
  return used[layer] && weights_of(p, layer) % 4 == (size_t)which % 4 &&
         graph.is_signed == which / 4;
}

START_TEST(tables_are_as_long_as_they_are)
{
  int layer;
  struct packed p = find_graph((uint64_t)_i * 1000, is_table_of, _i, &layer);
  struct mafat_packed *described = test_describe(p.path);
  ck_assert_uint_eq(described->entries[layer].bytes, weights_of(&p, layer));
  ck_assert_int_eq(described->types[layer], p.network->layers[layer].weights_type);
  mafat_packed_close(&described);
  check_placements(&p);
  close_packed(&p);
}
END_TEST

/* ---- checksums ---- */

static uint64_t sum_of_parts(struct test_rng *rng, const char *bytes, size_t n)
{
  uint64_t sum = 0;
  for (size_t at = 0, part; at < n; at += part) {
    part = (size_t)test_random_int(rng, 0, 9);
    if (part > n - at) part = n - at;
    sum += mafat_packed_checksum(bytes + at, at, part);
  }
  return sum;
}

/* The checksum is the sum over any parts. Missing bytes of the last word count as 0, and a change
 * of any byte changes the sum. */
START_TEST(a_checksum_is_the_sum_of_any_parts)
{
  char bytes[60];
  struct test_rng rng = test_rng((uint64_t)_i);
  size_t n = (size_t)_i;
  memset(bytes, 0, sizeof bytes);
  for (size_t i = 0; i < n; i++) bytes[i] = (char)test_random(&rng);
  uint64_t whole = mafat_packed_checksum(bytes, 0, n);
  ck_assert_uint_eq(whole, mafat_packed_checksum(bytes, 0, (n + 3) / 4 * 4));
  for (int k = 0; k < 50; k++) ck_assert_uint_eq(sum_of_parts(&rng, bytes, n), whole);
  for (size_t i = 0; i < n; i++) {
    bytes[i] = (char)(bytes[i] ^ 1);
    ck_assert_uint_ne(mafat_packed_checksum(bytes, 0, n), whole);
    bytes[i] = (char)(bytes[i] ^ 1);
  }
}
END_TEST

/* Damages one byte and expects an error for every placement of weights: at opening if they are
 * kept, else by the end of the first run. */
static void check_damage(const struct packed *p, int layer, uint64_t at)
{
  char byte, says[64];
  snprintf(says, sizeof says, "layer %d [%s] is damaged: ", layer,
           mafat_layer_type_name(p->network->layers[layer].type));
  ck_assert_int_eq(pread(p->fd, &byte, 1, (off_t)at), 1);
  byte ^= 0x10;
  test_damage(p->path, (long)at, &byte, 1);
  for (int i = 0; i < N_PLACEMENTS; i++) {
    diagnostic.text[0] = '\0';
    int code = run_placement(p, i, 1);
    ck_assert_msg(code == MAFAT_EFORMAT && strstr(diagnostic.text, says),
                  "%s: expected %s, found %d, %s", placements[i], says, code, diagnostic.text);
  }
  ck_assert_int_eq(mafat_packer_check(p->path, NULL, &diagnostic), MAFAT_EFORMAT);
  ck_assert_msg(strstr(diagnostic.text, "is damaged: "), "%s", diagnostic.text);
  byte ^= 0x10;
  test_damage(p->path, (long)at, &byte, 1);
}

START_TEST(no_byte_of_weights_changes_unseen)
{
  int table;
  bool used[MAFAT_MAX_LAYERS] = {false};
  struct packed p = find_graph((uint64_t)_i * 1000, is_table_of, _i, &table);
  struct mafat_packed *described = test_describe(p.path);
  find_used(p.network, used);
  for (int l = 0; l < p.network->n_layers; l++) {
    const struct mafat_packed_entry *e = &described->entries[l];
    if (e->bytes == 0 || !used[l]) continue;
    check_damage(&p, l, e->offset);
    check_damage(&p, l, e->offset + e->bytes / 2);
    check_damage(&p, l, e->offset + e->bytes - 1);
  }
  mafat_packed_close(&described);
  close_packed(&p);
}
END_TEST

/* ---- contents that only a deliberate writer produces ---- */

/* The index ends with the last layer's type and order, offset, length and checksum. Distance of the
 * length from the end, in bytes. */
enum { LENGTH_BEFORE_END = 16 };

static void is_refused(const struct packed *p, const char *says)
{
  struct mafat_network *n = NULL;
  struct mafat_weights *w = NULL;
  diagnostic.text[0] = '\0';
  int code = mafat_model_network(&n, p->path, NULL, NULL, NULL, &diagnostic);
  if (code == MAFAT_OK)
    code = mafat_weights_open_kept(&w, p->path, n, n->n_layers, NULL, &diagnostic);
  ck_assert_int_eq(code, MAFAT_EFORMAT);
  ck_assert_msg(strstr(diagnostic.text, says) && !strchr(diagnostic.text, '\n'),
                "expected %s, found %s", says, diagnostic.text);
  mafat_network_close(&n);
}

static char *map_packed(const struct packed *p, size_t *bytes, uint64_t *index_end)
{
  struct stat st;
  ck_assert_int_eq(fstat(p->fd, &st), 0);
  *bytes = (size_t)st.st_size;
  char *whole = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, 0);
  ck_assert(whole != MAP_FAILED);
  memcpy(index_end, whole + TEST_INDEX_BYTES_AT, sizeof *index_end);
  *index_end += MAFAT_PACKED_ALIGNMENT;
  return whole;
}

static uint64_t pages_of(uint64_t bytes)
{
  return bytes / MAFAT_PACKED_ALIGNMENT + (bytes % MAFAT_PACKED_ALIGNMENT > 0);
}

/* The expected message for a wrong length; it depends on where the file would have to end. */
static const char *what_is_said(uint64_t bytes, uint64_t other)
{
  if (pages_of(other) > pages_of(bytes)) return ": the file ends in layer ";
  return pages_of(other) < pages_of(bytes) ? " bytes, found "
                                           : "the table of layers is damaged: expected ";
}

/* A table whose length in the index is wrong is refused, also if another table could have that
 * length. */
START_TEST(other_lengths_are_refused)
{
  static const uint64_t more[] = {
      1, 2, 3, 4, (uint64_t)-1, (uint64_t)-3, (uint64_t)-4, MAFAT_PACKED_ALIGNMENT, 1 << 20,
      UINT64_MAX / 2};
  int table;
  size_t bytes;
  uint64_t end, length;
  struct packed p = find_graph((uint64_t)_i * 1000, is_table_of, _i, &table);
  char *whole = map_packed(&p, &bytes, &end);
  memcpy(&length, whole + end - LENGTH_BEFORE_END, sizeof length);
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
    uint64_t other = length + more[i];
    if (other == 0) continue; /* a layer without weights is not in the index */
    memcpy(whole + end - LENGTH_BEFORE_END, &other, sizeof other);
    test_seal_packed(whole);
    is_refused(&p, what_is_said(length, other));
  }
  memcpy(whole + end - LENGTH_BEFORE_END, &length, sizeof length);
  test_seal_packed(whole);
  ck_assert_int_eq(run_placement(&p, 0, 1), MAFAT_OK);
  munmap(whole, bytes);
  close_packed(&p);
}
END_TEST

/* The expected message for the first int8 layer: byte counts are checked before the types. */
static const char *what_is_said_of_type(const struct packed *p)
{
  struct mafat_packed *described = test_describe(p->path);
  int l = 0;
  while (described->entries[l].bytes == 0 || described->types[l] != MAFAT_I8) l++;
  const char *says = described->entries[l].bytes % sizeof(uint32_t)
                         ? " is not where it should be"
                         : "cannot have weights of type int4";
  mafat_packed_close(&described);
  return says;
}

/* A file in which "int8" became "int4" is refused. The search includes the length before the word
 * because "uint8" contains "int8". */
START_TEST(other_types_are_refused)
{
  int layer;
  size_t bytes;
  uint64_t end;
  struct packed p = find_graph((uint64_t)_i * 1000, has_panels, 1, &layer);
  const char *says = what_is_said_of_type(&p);
  char *whole = map_packed(&p, &bytes, &end);
  char *word =
      memmem(whole + MAFAT_PACKED_ALIGNMENT, end - MAFAT_PACKED_ALIGNMENT, "\5\0\0\0int8", 8);
  ck_assert_ptr_nonnull(word);
  memcpy(word + 4, "int4", 4);
  test_seal_packed(whole);
  is_refused(&p, says);
  munmap(whole, bytes);
  close_packed(&p);
}
END_TEST

/* ---- numbers that packing does not make ---- */

/* Writes a number into a layer's weights and recomputes all checksums. */
static void put_number(char *whole, uint64_t end, const struct mafat_packed_entry *e, size_t at,
                       int32_t number)
{
  char *index = whole + MAFAT_PACKED_ALIGNMENT;
  const uint64_t place[] = {e->offset, e->bytes};
  char *entry = memmem(index, end - MAFAT_PACKED_ALIGNMENT, place, sizeof place);
  ck_assert_ptr_nonnull(entry);
  memcpy(whole + e->offset + at, &number, sizeof number);
  uint64_t sum = mafat_packed_checksum(whole + e->offset, 0, e->bytes);
  memcpy(entry + sizeof place, &sum, sizeof sum);
  test_seal_packed(whole);
}

/* Expects the message for every placement of weights; NULL: the file opens. */
static void check_number(const struct packed *p, const char *says)
{
  struct mafat_weights *w;
  if (!says) {
    ck_assert_msg(mafat_weights_open_kept(&w, p->path, p->network, p->network->n_layers, NULL,
                                          &diagnostic) == MAFAT_OK,
                  "%s", diagnostic.text);
    mafat_weights_close(&w);
  }
  for (int i = 0; says && i < N_PLACEMENTS; i++) {
    diagnostic.text[0] = '\0';
    int code = run_placement(p, i, 1);
    ck_assert_msg(code == MAFAT_EFORMAT && strstr(diagnostic.text, says) &&
                      !strchr(diagnostic.text, '\n'),
                  "%s: expected %s, found %d, %s", placements[i], says, code, diagnostic.text);
  }
}

static bool has_used_panels(const struct packed *p, int layer, int filters)
{
  bool used[MAFAT_MAX_LAYERS] = {false};
  if (!has_panels(p, layer, filters)) return false;
  find_used(p->network, used);
  return used[layer];
}

/* TFLite's rule refuses multipliers and shifts that no kernel supports, and zero points of weights
 * that do not fit into a byte. The bounds themselves are valid. */
START_TEST(only_multipliers_and_shifts_that_packing_makes)
{
  static const struct {
    int row; /* 1: multipliers, 2: shifts */
    int32_t number;
    const char *says; /* expected message; NULL: the number is valid */
  } rows[] = {{1, 1, "multiplier of 1,"},
              {1, (1 << 30) - 1, "multiplier of 1073741823,"},
              {1, 1 - (1 << 30), "multiplier of -1073741823,"},
              {1, 0, NULL},
              {1, 1 << 30, NULL},
              {1, INT32_MAX, NULL},
              {1, INT32_MIN, NULL},
              {2, 31, "shift of 31,"},
              {2, 0xffe0, "shift of -32,"},
              {2, 0x7fff, "shift of 32767,"},
              {2, 0x8000, "shift of -32768,"},
              {2, 30, NULL},
              {2, 0xffe1, NULL},
              {2, (128 << 16) | 0xffff, "zero point of weights of 128,"},
              {2, -129 * 65536, "zero point of weights of -129,"},
              {2, INT32_MIN, "zero point of weights of -32768,"}};
  int layer, filters = _i % 2 ? 33 : 1;
  size_t bytes;
  uint64_t end;
  struct packed p = find_graph((uint64_t)_i * 1000, has_used_panels, filters, &layer);
  const struct mafat_layer *l = &p.network->layers[layer];
  int filter = _i % 2 ? l->out.c - 1 : 0, first = 0; /* the first panel or the last */
  while (mafat_panel_end(l, first) <= filter) first = mafat_panel_end(l, first);
  size_t width = (size_t)mafat_panel_width(mafat_panel_end(l, first) - first);
  size_t biases = mafat_packed_offset(l, first) + mafat_quads_taps(l, first) * width;
  struct mafat_packed *described = test_describe(p.path);
  char *whole = map_packed(&p, &bytes, &end);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    size_t at = biases + ((size_t)rows[i].row * width + (size_t)(filter - first)) * sizeof(int32_t);
    int32_t number;
    memcpy(&number, whole + described->entries[layer].offset + at, sizeof number);
    put_number(whole, end, &described->entries[layer], at, rows[i].number);
    check_number(&p, rows[i].says);
    put_number(whole, end, &described->entries[layer], at, number);
  }
  mafat_packed_close(&described);
  munmap(whole, bytes);
  close_packed(&p);
}
END_TEST

/* True if the layer's first block slice ends inside a quad. */
static bool has_filled_quads(const struct packed *p, int layer, int filters)
{
  const struct mafat_layer *l = &p->network->layers[layer];
  return has_used_panels(p, layer, filters) && !mafat_layer_is_depthwise(l) &&
         mafat_block_slice_end(l, 0) % MAFAT_QUAD;
}

/* Kernels read whole quads (four channels), also the undefined bytes after a pixel's last channel.
 * So padding weights must be 0, else results would depend on the plan. A file with other padding
 * weights is refused. */
START_TEST(what_fills_up_quads_is_nothing)
{
  int layer;
  size_t bytes;
  uint64_t end;
  struct packed p = find_graph((uint64_t)_i * 1000, has_filled_quads, _i % 2 ? 33 : 1, &layer);
  const struct mafat_layer *l = &p.network->layers[layer];
  int filter = _i % 2 ? l->out.c - 1 : 0, first = 0, taps = mafat_layer_matrix(l).taps;
  while (mafat_panel_end(l, first) <= filter) first = mafat_panel_end(l, first);
  size_t width = (size_t)mafat_panel_width(mafat_panel_end(l, first) - first),
         quads = (size_t)mafat_divide_up(mafat_block_slice_end(l, 0), MAFAT_QUAD);
  struct mafat_packed *described = test_describe(p.path);
  char *whole = map_packed(&p, &bytes, &end);
  for (int tap = 0; tap < taps;
       tap += mafat_max(taps - 1, 1)) { /* the first and the last tap of the block slice */
    size_t quad = ((size_t)(tap + 1) * quads - 1) * width + (size_t)(filter - first);
    size_t at = mafat_packed_offset(l, first) + quad * MAFAT_QUAD;
    char before[MAFAT_QUAD], after[MAFAT_QUAD];
    int32_t number;
    memcpy(before, whole + described->entries[layer].offset + at, sizeof before);
    memcpy(after, before, sizeof after);
    ck_assert_int_eq(before[MAFAT_QUAD - 1], 0);
    after[MAFAT_QUAD - 1] = -7;
    memcpy(&number, after, sizeof number);
    put_number(whole, end, &described->entries[layer], at, number);
    check_number(&p, "has a padding weight of -7, which no packed file has");
    memcpy(&number, before, sizeof number);
    put_number(whole, end, &described->entries[layer], at, number);
    check_number(&p, NULL);
  }
  mafat_packed_close(&described);
  munmap(whole, bytes);
  close_packed(&p);
}
END_TEST

/* With ONNX's rule, both rows of numbers of a panel are float factors. Any number is valid except
 * NaN. A NaN is reported with its filter, whichever part of the layer is checked. */
START_TEST(factors_are_numbers)
{
  int layer;
  struct packed p = find_graph((uint64_t)_i * 1000, has_panels, 33, &layer);
  struct mafat_layer l = p.network->layers[layer];
  l.quantization.rounding = MAFAT_REQUANTIZE_EVEN;
  const int32_t nan = 0x7fc00000;
  size_t bytes = mafat_packed_layer_bytes(&l),
         last =
             bytes - sizeof nan; /* the last panel's last factor, for negative sums */
  char *data = calloc(bytes, 1);
  ck_assert_ptr_nonnull(data);
  for (int first = 0; first < l.out.c;
       first = mafat_panel_end(&l, first)) { /* weights stay 0: some are padding */
    size_t width = (size_t)mafat_panel_width(mafat_panel_end(&l, first) - first);
    memset(data + mafat_packed_offset(&l, first) + mafat_quads_taps(&l, first) * width, 1,
           MAFAT_INTEGERS_OF_FILTER * sizeof(int32_t) * width);
  }
  ck_assert_ptr_null(mafat_pack_integers_find_fault(&l, 0, data, bytes).what);
  memcpy(data + last, &nan, sizeof nan);
  struct mafat_integer_fault whole = mafat_pack_integers_find_fault(&l, 0, data, bytes),
                             end =
                                 mafat_pack_integers_find_fault(&l, last, data + last, sizeof nan);
  ck_assert_str_eq(whole.what, "factor");
  ck_assert_str_eq(end.what, "factor");
  ck_assert_int_eq(whole.filter, end.filter);
  ck_assert_int_ge(whole.filter, l.out.c - 1); /* a panel may have unused lanes */
  ck_assert_ptr_null(mafat_pack_integers_find_fault(&l, 0, data, last).what);
  free(data);
  close_packed(&p);
}
END_TEST

/* ---- quantization of the network ---- */

static int open_beside(const struct packed *p, const char *path)
{
  struct mafat_weights *w = NULL;
  diagnostic.text[0] = '\0';
  int code = mafat_weights_open_kept(&w, path, p->network, p->network->n_layers, NULL, &diagnostic);
  mafat_weights_close(&w);
  return code;
}

/* Multipliers and biases depend on the network's quantization, so the file is refused for a network
 * that differs only in its quantization. */
START_TEST(numbers_that_mean_another_are_refused)
{
  int layer;
  char other[64];
  struct packed p = find_graph((uint64_t)_i * 1000, has_panels, 1, &layer);
  struct mafat_layer *l = &p.network->layers[layer], before = *l;
  snprintf(other, sizeof other, "/dev/fd/%d",
           p.fd); /* the same file by another name */
  ck_assert_msg(open_beside(&p, other) == MAFAT_OK, "%s", diagnostic.text);
  for (int i = 0; i < 5; i++) {
    if (i == 0) l->quantization.scale *= 2;
    if (i == 1) l->quantization.zero ^= 1;
    if (i == 2) l->quantization.most ^= 1;
    if (i == 3) l->weights_zero ^= 1;
    if (i == 4) l->quantization.rounding ^= 1;
    ck_assert_int_eq(open_beside(&p, other), MAFAT_EFORMAT);
    ck_assert_msg(strstr(diagnostic.text, "packed for another network than "), "%s",
                  diagnostic.text);
    *l = before;
  }
  close_packed(&p);
}
END_TEST

/* Older files do not have the quantization in their hash: they run with the network that they
 * hold, and with no other. */
START_TEST(files_without_it_go_with_their_own_network)
{
  enum { NETWORK_HASH_AT = 24 };
  int layer;
  size_t bytes;
  uint64_t end, hash;
  char other[64];
  struct packed p = find_graph((uint64_t)_i * 1000, has_panels, 1, &layer);
  char *whole = map_packed(&p, &bytes, &end);
  snprintf(other, sizeof other, "/dev/fd/%d", p.fd);
  memcpy(&hash, whole + NETWORK_HASH_AT, sizeof hash);
  ck_assert_uint_eq(hash, mafat_packed_network_hash(p.network, MAFAT_PACKED_GRAPH_VERSION));
  hash = mafat_packed_shapes_hash(p.network, MAFAT_PACKED_GRAPH_VERSION);
  memcpy(whole + NETWORK_HASH_AT, &hash, sizeof hash);
  test_seal_packed(whole);
  mafat_network_close(&p.network);
  ck_assert_int_eq(mafat_model_network(&p.network, p.path, NULL, NULL, NULL, &diagnostic),
                   MAFAT_OK); /* again: the file has changed */
  ck_assert_msg(open_beside(&p, p.path) == MAFAT_OK, "%s", diagnostic.text);
  ck_assert_int_eq(open_beside(&p, other), MAFAT_EFORMAT);
  munmap(whole, bytes);
  close_packed(&p);
}
END_TEST

Suite *packed_integers_suite(void)
{
  Suite *suite = suite_create("packed_integers");
  TCase *t = tcase_create("packed_integers");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, any_plan_gives_the_rules_numbers, 0, test_seeds(GRAPHS));
  tcase_add_loop_test(t, weights_may_be_anywhere, 0, test_seeds(20));
  tcase_add_loop_test(t, tables_are_as_long_as_they_are, 0, 8);
  tcase_add_loop_test(t, a_checksum_is_the_sum_of_any_parts, 0, 48);
  tcase_add_loop_test(t, no_byte_of_weights_changes_unseen, 0, 8);
  tcase_add_loop_test(t, other_lengths_are_refused, 0, 8);
  tcase_add_loop_test(t, other_types_are_refused, 0, 8);
  tcase_add_loop_test(t, only_multipliers_and_shifts_that_packing_makes, 0, 8);
  tcase_add_loop_test(t, what_fills_up_quads_is_nothing, 0, 8);
  tcase_add_loop_test(t, factors_are_numbers, 0, 4);
  tcase_add_loop_test(t, numbers_that_mean_another_are_refused, 0, 8);
  tcase_add_loop_test(t, files_without_it_go_with_their_own_network, 0, 8);
  suite_add_tcase(suite, t);
  return suite;
}
