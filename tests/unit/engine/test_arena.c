/* Covers runner/engine/arena.c: models that share an arena give the same bits as alone. The arena
 * is as large as the largest model needs. Using it for two models at once fails with a clear
 * message. Models that are opened and closed leave no memory behind. The models' files are in
 * memory (memfd). */
#include "include/mafat_video.h"
#include "runner/engine/arena.h"
#include "api/model.h"
#include "runner/os/process.h"
#include "tests/support/failing_malloc.h"
#include "tests/support/support.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

Suite *arena_suite(void);

/* Sanitizers map memory themselves, so memory is not counted under them. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED
#endif

static const char small_cfg[] = "[net]\nwidth=24\nheight=16\nchannels=3\n"
                                "[convolutional]\nfilters=16\nsize=3\npad=1\nactivation=leaky\n"
                                "[maxpool]\nsize=2\nstride=2\n"
                                "[convolutional]\nfilters=7\nsize=1\nactivation=linear\n"
                                "[yolo]\nclasses=2\nnum=1\nanchors=4,5\n";
static const char large_cfg[] = "[net]\nwidth=256\nheight=256\nchannels=3\n"
                                "[convolutional]\nfilters=24\nsize=3\npad=1\nactivation=leaky\n"
                                "[convolutional]\nfilters=16\nsize=3\npad=1\nactivation=leaky\n"
                                "[maxpool]\nsize=2\nstride=2\n"
                                "[convolutional]\nfilters=9\nsize=1\nactivation=linear\n";

/* One of the networks, its files, and its outputs when it runs alone. */
struct subject {
  struct test_model_files files;
  const char *plan;
  float *input, *alone, *output;
  size_t n_inputs, n_outputs;
  size_t arena_bytes; /* when it runs alone */
};

static struct mafat_model *try_to_open(const struct subject *s, struct mafat_arena *arena,
                                       int *code, struct mafat_diagnostic *d)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_model *m;
  options.floats_only = true;
  options.plan = s->plan;
  options.arena = arena;
  *code = mafat_model_open(&m, s->files.cfg, s->files.weights, &options, d);
  return m;
}

static struct mafat_model *open_model(const struct subject *s, struct mafat_arena *arena)
{
  struct mafat_diagnostic d;
  int code;
  struct mafat_model *m = try_to_open(s, arena, &code, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  return m;
}

static size_t floats(int h, int w, int c)
{
  return (size_t)h * (size_t)w * (size_t)c;
}

static struct subject open_subject(const char *cfg, const char *plan, uint64_t seed)
{
  struct subject s = {.files = test_model_files(cfg, seed), .plan = plan};
  struct test_rng rng = test_rng(seed);
  int h, w, c;
  struct mafat_model *m = open_model(&s, NULL);
  mafat_model_input_shape(m, &h, &w, &c);
  s.n_inputs = floats(h, w, c);
  mafat_model_output_shape(m, &h, &w, &c);
  s.n_outputs = floats(h, w, c);
  s.input = malloc(s.n_inputs * sizeof *s.input);
  s.alone = malloc(s.n_outputs * sizeof *s.alone);
  s.output = malloc(s.n_outputs * sizeof *s.output);
  for (size_t i = 0; i < s.n_inputs; i++)
    s.input[i] = (float)(test_random(&rng) >> 8) / 16777216.0f;
  ck_assert_int_eq(mafat_model_run_floats(m, s.input, s.n_inputs, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_model_read_layer(m, mafat_model_n_layers(m) - 1, s.alone, NULL), MAFAT_OK);
  s.arena_bytes = m->choice.layout->total_bytes;
  mafat_model_close(&m);
  return s;
}

static void close_subject(struct subject *s)
{
  test_model_files_close(&s->files);
  free(s->input);
  free(s->alone);
  free(s->output);
}

/* Runs the model and compares its output with that of the run alone. Returns 1 if bits differ, or
 * the code of a failure. Uses no assertions of Check, because they allocate memory. */
static int run_alike(struct mafat_model *m, const struct subject *s, struct mafat_diagnostic *d)
{
  int code = mafat_model_run_floats(m, s->input, s->n_inputs, d);
  memset(s->output, 0xff, s->n_outputs * sizeof *s->output);
  if (code == MAFAT_OK) code = mafat_model_read_layer(m, mafat_model_n_layers(m) - 1, s->output, d);
  if (code) return code;
  return memcmp(s->output, s->alone, s->n_outputs * sizeof *s->output) == 0
             ? MAFAT_OK
             : mafat_fail(d, 1, "bits differ from those of the run alone");
}

static void run_and_check(struct mafat_model *m, const struct subject *s)
{
  struct mafat_diagnostic d;
  int code = run_alike(m, s, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
}

static size_t arena_bytes(struct mafat_arena *arena)
{
  size_t resident;
  return mafat_arena_bytes(arena, &resident);
}

static size_t arena_pages(struct mafat_arena *arena)
{
  size_t resident;
  mafat_arena_bytes(arena, &resident);
  return resident;
}

/* ---- sharing ---- */

/* Plans that keep the weights, and plans that load or stream them in every run. Test i uses the
 * i-th plan of both lists. */
static const char *const small_plans[] = {"1x1/NoCut", "rows2:streamed/3/panels:streamed",
                                          "2x2/NoCut"};
static const char *const large_plans[] = {"1x1/NoCut", "rows1:loaded/NoCut", "3x3/NoCut"};

START_TEST(test_two_models_in_one_arena_have_the_bits_that_they_have_alone)
{
  struct subject small = open_subject(small_cfg, small_plans[_i], 1),
                 large = open_subject(large_cfg, large_plans[_i], 2);
  struct mafat_arena *arena;
  ck_assert_int_eq(mafat_arena_open(&arena, NULL), MAFAT_OK);
  struct mafat_model *first = open_model(&small, arena);
  ck_assert_uint_eq(arena_bytes(arena), small.arena_bytes);
  run_and_check(first, &small);
  struct mafat_model *second = open_model(&large, arena); /* the arena grows and moves */
  size_t larger = small.arena_bytes > large.arena_bytes ? small.arena_bytes : large.arena_bytes;
  for (int i = 0; i < 3; i++) {
    run_and_check(second, &large);
    run_and_check(first, &small);
    ck_assert_uint_eq(arena_bytes(arena), larger);
  }
  mafat_model_close(&second);
  run_and_check(first, &small);
  mafat_model_close(&first);
  ck_assert_uint_eq(arena_bytes(arena), 0); /* no model uses it */
  first = open_model(&large, arena);
  run_and_check(first, &large);
  mafat_model_close(&first);
  mafat_arena_close(&arena);
  close_subject(&small);
  close_subject(&large);
}
END_TEST

static void check_nothing_to_read(const struct mafat_model *m, float *values)
{
  struct mafat_diagnostic d;
  struct mafat_detections *found;
  ck_assert_int_eq(mafat_model_read_layer(m, mafat_model_n_layers(m) - 1, values, &d),
                   MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(d.text, "no output to read"));
  ck_assert_int_eq(mafat_model_detect(m, .5f, .5f, &found, &d), MAFAT_EINVAL);
}

START_TEST(test_who_runs_or_is_opened_takes_away_what_the_others_put_out)
{
  struct subject small = open_subject(small_cfg, "1x1/NoCut", 1),
                 large = open_subject(large_cfg, "1x1/NoCut", 2);
  struct mafat_arena *arena;
  ck_assert_int_eq(mafat_arena_open(&arena, NULL), MAFAT_OK);
  struct mafat_model *a = open_model(&small, arena);
  run_and_check(a, &small);
  struct mafat_model *b = open_model(&large, arena);
  check_nothing_to_read(a, small.output);
  run_and_check(a, &small);
  run_and_check(b, &large);
  check_nothing_to_read(a, small.output);
  ck_assert_int_eq(mafat_model_read_layer(b, mafat_model_n_layers(b) - 1, large.output, NULL),
                   MAFAT_OK); /* still there */
  ck_assert_mem_eq(large.output, large.alone, large.n_outputs * sizeof *large.output);
  mafat_model_close(&b);
  check_nothing_to_read(a, small.output);
  mafat_model_close(&a);
  mafat_arena_close(&arena);
  close_subject(&small);
  close_subject(&large);
}
END_TEST

/* The frame buffer is part of the shared arena. A call of mafat_model_frame_room makes other
 * models' outputs invalid, because the caller will write to the buffer. The model's own outputs
 * stay readable until then. */
START_TEST(test_who_asks_for_room_for_a_frame_takes_away_what_the_others_put_out)
{
  struct subject small = open_subject(small_cfg, "1x1/NoCut", 1);
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_arena *arena;
  struct mafat_diagnostic d;
  struct mafat_model *b;
  ck_assert_int_eq(mafat_arena_open(&arena, NULL), MAFAT_OK);
  options.plan = small.plan;
  options.arena = arena;
  options.frames = "8x8:rgb24";
  ck_assert_msg(mafat_model_open(&b, small.files.cfg, small.files.weights, &options, &d) ==
                    MAFAT_OK,
                "%s", d.text);
  struct mafat_model *a = open_model(&small, arena);
  ck_assert_ptr_null(mafat_model_frame_room(a));
  run_and_check(a, &small);
  memset(mafat_model_frame_room(b), 0xff, 8 * 8 * 3);
  check_nothing_to_read(a, small.output);
  run_and_check(b, &small);
  ck_assert_ptr_nonnull(mafat_model_frame_room(b));
  ck_assert_int_eq(mafat_model_read_layer(b, mafat_model_n_layers(b) - 1, small.output, NULL),
                   MAFAT_OK);
  ck_assert_mem_eq(small.output, small.alone, small.n_outputs * sizeof *small.output);
  mafat_model_close(&b);
  mafat_model_close(&a);
  mafat_arena_close(&arena);
  close_subject(&small);
}
END_TEST

START_TEST(test_a_model_that_rests_leaves_what_another_put_out)
{
  struct subject small = open_subject(small_cfg, "1x1/NoCut", 1),
                 large = open_subject(large_cfg, "1x1/NoCut", 2);
  struct mafat_arena *arena;
  ck_assert_int_eq(mafat_arena_open(&arena, NULL), MAFAT_OK);
  struct mafat_model *a = open_model(&small, arena), *b = open_model(&large, arena);
  run_and_check(a, &small);
  run_and_check(b, &large);
  mafat_model_rest(a);
  ck_assert_int_eq(mafat_model_read_layer(b, mafat_model_n_layers(b) - 1, large.output, NULL),
                   MAFAT_OK);
  ck_assert_mem_eq(large.output, large.alone, large.n_outputs * sizeof *large.output);
  mafat_model_rest(b);
  ck_assert_uint_eq(arena_pages(arena), 0);
  check_nothing_to_read(b, large.output);
  run_and_check(a, &small);
  mafat_model_close(&a);
  mafat_model_close(&b);
  mafat_arena_close(&arena);
  close_subject(&small);
  close_subject(&large);
}
END_TEST

/* ---- mistakes ---- */

/* During a run, another model cannot run and one that needs a larger arena cannot be opened. */
START_TEST(test_while_one_runs_no_other_does)
{
  struct subject small = open_subject(small_cfg, "1x1/NoCut", 1),
                 large = open_subject(large_cfg, "1x1/NoCut", 2);
  struct mafat_arena *arena;
  struct mafat_diagnostic d;
  char *memory;
  int code;
  ck_assert_int_eq(mafat_arena_open(&arena, NULL), MAFAT_OK);
  struct mafat_model *a = open_model(&small, arena), *b = open_model(&small, arena);
  run_and_check(b, &small);
  ck_assert_int_eq(mafat_arena_begin(arena, &memory, "a run", NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_model_run_floats(a, small.input, small.n_inputs, &d), MAFAT_EINVAL);
  ck_assert_msg(strstr(d.text, ": another model that shares its arena is running") != NULL, "%s",
                d.text);
  check_nothing_to_read(b, small.output);
  memset(memory, 1, small.arena_bytes);
  mafat_model_rest(b); /* has no effect during a run */
  ck_assert_int_eq(memory[small.arena_bytes - 1], 1);
  struct mafat_model *c = open_model(&small, arena); /* the arena is large enough for it */
  ck_assert_int_eq(memory[small.arena_bytes - 1], 1);
  ck_assert_ptr_null(try_to_open(&large, arena, &code, &d));
  ck_assert_int_eq(code, MAFAT_EINVAL);
  ck_assert_msg(strstr(d.text, "cannot grow to") != NULL, "%s", d.text);
  mafat_arena_end(arena, &memory, true);
  run_and_check(a, &small);
  run_and_check(c, &small);
  mafat_model_close(&a);
  mafat_model_close(&b);
  mafat_model_close(&c);
  mafat_arena_close(&arena);
  close_subject(&small);
  close_subject(&large);
}
END_TEST

START_TEST(test_an_arena_that_is_closed_too_early_goes_with_its_last_model)
{
  struct subject small = open_subject(small_cfg, "1x1/NoCut", 1),
                 large = open_subject(large_cfg, "1x1/NoCut", 2);
  struct mafat_arena *arena;
  long unfreed;
  /* fails no allocation, only counts them */
  failing_malloc_arm(-1);
  ck_assert_int_eq(mafat_arena_open(&arena, NULL), MAFAT_OK);
  struct mafat_model *a = open_model(&small, arena), *b = open_model(&large, arena);
  mafat_arena_close(&arena);
  ck_assert_ptr_null(arena);
  mafat_arena_close(&arena); /* closing NULL is allowed */
  run_and_check(a, &small);
  run_and_check(b, &large);
  mafat_model_close(&a);
  run_and_check(b, &large);
  mafat_model_close(&b);
  failing_malloc_disarm(&unfreed);
  ck_assert_int_eq(unfreed, 0);
  close_subject(&small);
  close_subject(&large);
}
END_TEST

/* ---- the budget ---- */

/* While a model runs, the arena's pages are resident. A model opened meanwhile will use the same
 * pages, so its need must not include them twice. */
START_TEST(test_pages_of_a_shared_arena_are_not_counted_twice)
{
  struct subject large = open_subject(large_cfg, "1x1/NoCut", 2),
                 small = open_subject(small_cfg, "1x1/NoCut", 1);
  struct mafat_arena *arena;
  char *memory;
  ck_assert_int_eq(mafat_arena_open(&arena, NULL), MAFAT_OK);
  struct mafat_model *a = open_model(&large, arena), *b = open_model(&large, arena);
  size_t alone = mafat_model_charge_bytes(b);
  (void)alone; /* not looked at under a sanitizer */
  mafat_model_close(&b);
  ck_assert_uint_gt(large.arena_bytes, 4 << 20);
  ck_assert_int_eq(mafat_arena_begin(arena, &memory, "a run", NULL), MAFAT_OK);
  memset(memory, 1, large.arena_bytes);
  b = open_model(&large, arena);
  struct mafat_model *c =
      /* is charged for all resident pages of the arena, although it needs fewer */
      open_model(&small, arena);
  mafat_arena_end(arena, &memory, true);
#ifndef SANITIZED
  ck_assert_uint_le(mafat_model_charge_bytes(b), alone + (1 << 20));
  ck_assert_uint_ge(mafat_model_charge_bytes(b) + (1 << 20), alone);
  ck_assert_uint_ge(mafat_model_charge_bytes(c) + (1 << 20), alone);
#endif
  run_and_check(a, &large);
  run_and_check(b, &large);
#ifndef SANITIZED
  ck_assert_uint_le(mafat_process_resident_bytes(),
                    b->choice.prediction.resident_bytes + (1 << 20));
#endif
  mafat_model_close(&a);
  mafat_model_close(&b);
  mafat_model_close(&c);
  mafat_arena_close(&arena);
  close_subject(&large);
  close_subject(&small);
}
END_TEST

/* ---- coming and going ---- */

static int entries(const char *folder)
{
  int n = 0;
  DIR *dir = opendir(folder);
  while (dir && readdir(dir)) n++;
  if (dir) closedir(dir);
  return n;
}

static int mappings(void)
{
  int n = 0, c;
  FILE *file = fopen("/proc/self/maps", "r");
  while (file && (c = getc(file)) != EOF) n += c == '\n';
  if (file) fclose(file);
  return n;
}

static int cycle(const struct subject *small, const struct subject *large,
                 struct mafat_diagnostic *d)
{
  static const unsigned char pixels[24];
  struct mafat_arena *arena = NULL;
  struct mafat_model *a = NULL, *b = NULL;
  int code = mafat_arena_open(&arena, d);
  if (code == MAFAT_OK) a = try_to_open(small, arena, &code, d);
  if (code == MAFAT_OK) b = try_to_open(large, arena, &code, d);
  if (code == MAFAT_OK) code = run_alike(a, small, d);
  if (code == MAFAT_OK) code = run_alike(b, large, d);
  if (code == MAFAT_OK) code = mafat_model_run_pixels(b, pixels, 4, 2, 3, 12, d);
  if (code == MAFAT_OK) mafat_model_rest(b);
  mafat_model_close(&b);
  mafat_model_close(&a);
  mafat_arena_close(&arena);
  return code;
}

/* If an input is read into the arena, mafat_arena_make_room frees as many pages as the reader
 * needs, but none that the input is read into. It frees locked pages, too. */
START_TEST(test_room_is_made_beside_what_is_read_into)
{
  enum { PAGE = 4096, PAGES = 64, BEGIN = 10, END = 20 };
  static const int wanted[] = {0, 1, 5, 44, 50, 60, 64, 100};
  struct mafat_arena *arena;
  struct mafat_lock lock = {MAFAT_LOCK_AUTO, _i, NULL, false};
  char *memory;
  ck_assert_int_eq(mafat_arena_open(&arena, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_arena_join(arena, PAGES * PAGE - 100, &lock, "room", NULL), MAFAT_OK);
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    size_t resident;
    int most = PAGES - (END - BEGIN), given = wanted[i] < most ? wanted[i] : most;
    ck_assert_int_eq(mafat_arena_begin(arena, &memory, "room", NULL), MAFAT_OK);
    memset(memory, 7, PAGES * PAGE - 100);
    mafat_arena_make_room(arena, 0, 0, PAGES * PAGE); /* frees nothing: a model runs */
    mafat_arena_end(arena, &arena, true);
    size_t bytes = mafat_arena_locked_bytes(arena);
    ck_assert_uint_eq(bytes, lock.on ? PAGES * PAGE - 100 : 0);
    mafat_arena_make_room(arena, BEGIN * PAGE, END * PAGE,
                          wanted[i] ? (size_t)wanted[i] * PAGE - 150 : 0);
    /* 0 if any page is not locked */
    if (wanted[i]) ck_assert_uint_eq(mafat_arena_locked_bytes(arena), 0);
    mafat_arena_bytes(arena, &resident);
    ck_assert_int_eq((int)(resident / PAGE), PAGES - given);
    for (int b = BEGIN * PAGE; b < END * PAGE; b++) ck_assert_int_eq(memory[b], 7);
  }
  mafat_arena_leave(arena, &arena);
  mafat_arena_close(&arena);
}
END_TEST

/* Opens and closes models in a shared arena a hundred times, without a plan (a search finds one)
 * and with a given plan. */
START_TEST(test_a_hundred_cycles_do_not_grow)
{
  static const char *const plans[] = {NULL, "rows2:streamed/NoCut"};
  struct subject small = open_subject(small_cfg, plans[_i], 1),
                 large = open_subject(small_cfg, "2x2/NoCut", 2);
  int maps = 0, files = 0, threads = 0;
  long unfreed;
  for (int i = 0; i < 100; i++) {
    if (i == 5) {
      failing_malloc_arm(-1);
      maps = mappings();
      files = entries("/proc/self/fd");
      threads = entries("/proc/self/task");
    }
    ck_assert_int_eq(cycle(&small, &large, NULL), MAFAT_OK);
  }
  failing_malloc_disarm(&unfreed);
  ck_assert_int_eq(unfreed, 0);
  (void)maps; /* not looked at under a sanitizer */
#ifndef SANITIZED
  ck_assert_int_le(mappings(), maps);
#endif
  ck_assert_int_eq(entries("/proc/self/fd"), files);
  for (int tries = 0; tries < 200 && entries("/proc/self/task") > threads; tries++)
    usleep(10000); /* a joined thread may still be listed for a moment */
  ck_assert_int_eq(entries("/proc/self/task"), threads);
  close_subject(&small);
  close_subject(&large);
}
END_TEST

START_TEST(test_every_allocation_that_fails_is_reported_and_leaks_nothing)
{
  struct subject small = open_subject(small_cfg, "rows2:streamed/NoCut", 1),
                 large = open_subject(small_cfg, "1x1/NoCut", 2);
  struct mafat_diagnostic d;
  long unfreed, fail = 0, failed = 0;
  for (bool through = false; !through; fail++) {
    failing_malloc_arm(fail);
    int code = cycle(&small, &large, &d);
    through = failing_malloc_disarm(&unfreed) <= fail;
    ck_assert_msg(code == MAFAT_OK || code == MAFAT_ENOMEM, "allocation %ld: %s", fail, d.text);
    ck_assert_msg(unfreed == 0, "allocation %ld: %ld blocks leak", fail, unfreed);
    failed += code != MAFAT_OK;
  }
  ck_assert_int_gt(failed, 100);
  failed = 0;
  fail = 0;
  for (bool through = false; !through; fail++) {
    failing_mmap_arm(fail);
    int code = cycle(&small, &large, &d);
    through = failing_mmap_disarm() <= fail;
    ck_assert_msg(code == MAFAT_OK || code == MAFAT_ENOMEM, "mapping %ld: %s", fail, d.text);
    failed += code != MAFAT_OK;
  }
  ck_assert_int_ge(failed, 2);
  close_subject(&small);
  close_subject(&large);
}
END_TEST

/* True if the kernel can make pages resident in one call. Linux before 5.14 cannot, and qemu-user
 * ignores the call silently; there, pages become resident when they are touched. */
static bool kernel_populates(void)
{
  enum { POPULATE_WRITE = 23 };
  unsigned char present = 0;
  void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(page, MAP_FAILED);
  bool populates =
      madvise(page, 4096, POPULATE_WRITE) == 0 && mincore(page, 4096, &present) == 0 && present & 1;
  munmap(page, 4096);
  if (!populates) printf("skip pages that come in one go: the kernel has no call for it\n");
  return populates;
}

/* The pages of an arena up to 16 MiB become resident all at once, also after they were given back.
 * The pages of a larger arena become resident when they are touched. Huge pages change neither. */
START_TEST(test_pages_come_in_one_go_where_they_are_few)
{
  static const struct {
    size_t bytes;
    bool all;
  } cases[] = {{100 << 10, true}, {16 << 20, true}, {(16 << 20) + 4096, false}};
  size_t bytes = cases[_i % 3].bytes, resident;
  bool all = cases[_i % 3].all && kernel_populates();
  struct mafat_arena *a;
  char *memory;
  ck_assert_int_eq(mafat_arena_open(&a, NULL), MAFAT_OK);
  if (_i >= 3) mafat_arena_make_huge(a, bytes);
  ck_assert_int_eq(mafat_arena_join(a, bytes, NULL, "test", NULL), MAFAT_OK);
  for (int round = 0; round < 2; round++) {
    ck_assert_int_eq(mafat_arena_begin(a, &memory, "test", NULL), MAFAT_OK);
    mafat_arena_bytes(a, &resident);
    ck_assert_uint_eq(resident, 0);
    mafat_arena_populate(a, bytes);
    mafat_arena_bytes(a, &resident);
    ck_assert_uint_eq(resident, all ? bytes : 0);
    mafat_arena_end(a, &a, true);
    mafat_arena_forget(a, &a);
  }
  mafat_arena_leave(a, &a);
  mafat_arena_close(&a);
}
END_TEST

Suite *arena_suite(void)
{
  Suite *s = suite_create("arena");
  TCase *t = tcase_create("arena");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, test_two_models_in_one_arena_have_the_bits_that_they_have_alone, 0, 3);
  tcase_add_test(t, test_who_runs_or_is_opened_takes_away_what_the_others_put_out);
  tcase_add_test(t, test_who_asks_for_room_for_a_frame_takes_away_what_the_others_put_out);
  tcase_add_test(t, test_a_model_that_rests_leaves_what_another_put_out);
  tcase_add_test(t, test_while_one_runs_no_other_does);
  tcase_add_test(t, test_an_arena_that_is_closed_too_early_goes_with_its_last_model);
  tcase_add_test(t, test_pages_of_a_shared_arena_are_not_counted_twice);
  tcase_add_loop_test(t, test_room_is_made_beside_what_is_read_into, 0, 2);
  tcase_add_loop_test(t, test_pages_come_in_one_go_where_they_are_few, 0, 6);
  tcase_add_loop_test(t, test_a_hundred_cycles_do_not_grow, 0, 2);
  tcase_add_test(t, test_every_allocation_that_fails_is_reported_and_leaks_nothing);
  suite_add_tcase(s, t);
  return s;
}
