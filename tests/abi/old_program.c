/* A program of version 0.1.0: compiled with its header, which is kept beside this file, and linked with the
 * library as it is now. Calls every function, looks at every field, and has canaries behind every struct that
 * the library fills or reads. Arguments: cfg, weights and a picture of models/shapes, and a file of its input in floats. */
#include "tests/abi/mafat-0.1.h"

#include "api/unsized.h" /* finds the old header's structs, for its guard is the same */

#include <math.h>
#include <stdio.h>
#include <string.h>

#define X(name, last, lp64, ilp32) \
  _Static_assert(sizeof(struct mafat_##name) == MAFAT_UNSIZED_##name, "struct mafat_" #name ": not what it was");
MAFAT_UNSIZED(X)
#undef X

enum { CANARY = 0xa5, CANARIES = 64, N_LAYERS = 20, SIDE = 160, INPUTS = 3 * SIDE * SIDE, N_CLASSES = 6 };

static int failures;

#define CHECK(condition) \
  do { \
    if (!(condition)) failures++, printf("line %d: not so: %s\n", __LINE__, #condition); \
  } while (0)

/* A struct that nothing is to be written behind. */
#define GUARDED(type, name) \
  struct { \
    struct type is; \
    unsigned char behind[CANARIES]; \
  } name; \
  memset(&name, CANARY, sizeof name)
#define CHECK_GUARD(name) CHECK(is_whole((name).behind))

static bool is_whole(const unsigned char *behind)
{
  for (int i = 0; i < CANARIES; i++)
    if (behind[i] != CANARY) return false;
  return true;
}

/* Has it been filled? */
static bool is_bool(const bool *flag)
{
  return *(const unsigned char *)flag <= 1;
}

static const char *cfg, *weights, *picture, *raw;
static struct mafat_diagnostic d;
static float input[INPUTS];

/* ---- facts that models and answers share ---- */

static void check_memory(const struct mafat_memory_facts *m)
{
  size_t sum = m->process + m->threads + m->weights + m->activations + m->input + m->scratch + m->io + m->kernel + m->rest;
  CHECK((m->image_before ? sum : sum + m->image) == m->charge_bytes);
  CHECK(m->rest > 512 << 10); /* with the reserve, of which it does not know, and what is charged ahead */
  CHECK(m->process && m->kernel && m->activations && m->resident_bytes < m->charge_bytes);
}

static void check_plan(const struct mafat_plan_facts *p, const char *text)
{
  CHECK(strncmp(p->text, text, strlen(text)) == 0 && strcmp(p->algorithm, "direct") == 0);
  CHECK(p->threads == 1 && p->n_layers == N_LAYERS && p->n_groups == 2 && p->fits);
  check_memory(&p->memory);
  CHECK(p->arena_bytes >= p->arena_bound_bytes && p->arena_bound_bytes > 0);
  CHECK(p->peak_name[0] && p->peak_layer >= -1 && p->peak_layer < N_LAYERS && p->peak_bytes > 0);
  CHECK(p->macs > 0 && p->redundant_macs < p->macs && p->padded_macs >= p->macs);
  CHECK(p->weights_read_bytes < 1 << 20 && p->latency_ms >= p->compute_ms && p->compute_ms > 0 && p->reading_ms >= 0);
  CHECK(p->calibrated == false);
}

static void check_layer(const struct mafat_layer_facts *l)
{
  CHECK(strcmp(l->type, "convolutional") == 0 && l->in_h == 80 && l->in_w == 80 && l->in_c == 8);
  CHECK(l->out_h == 80 && l->out_w == 80 && l->out_c == 16 && l->size == 3 && l->stride == 1 && l->filters == 16);
  CHECK(l->group == 0 && l->inside == 3 && strcmp(l->algorithm, "direct") == 0 && strcmp(l->weights, "kept") == 0);
  CHECK(l->weights_bytes >= 4 * 16 * 8 * 9 && l->macs >= 80 * 80 * 16 * 8 * 9 && l->step_macs == 0);
  CHECK(l->arena_bytes < 1 << 20 && l->ms == 0);
}

static void check_group(const struct mafat_group_facts *g, bool panels)
{
  CHECK(g->first == (panels ? 8 : 0) && g->last == (panels ? N_LAYERS - 1 : 7));
  CHECK(strncmp(g->cut, panels ? "panels" : "3x2", 3) == 0);
  CHECK(g->rows == 0 && g->panels == panels && (panels || (g->tile_rows == 3 && g->tile_cols == 2)));
  CHECK(strcmp(g->weights, panels ? "streamed" : "kept") == 0 && g->peak_bytes > 0);
  CHECK(g->macs >= g->redundant_macs && g->padded_macs >= g->macs && g->paper_bytes == 0);
}

/* ---- models ---- */

static void warn(void *context, const char *text)
{
  (void)text;
  ++*(int *)context;
}

static void count_steps(void *context, const struct mafat_step_facts *s)
{
  ++*(int *)context;
  CHECK(s->layer >= -1 && s->layer < N_LAYERS && s->channel_begin < s->channel_end && s->row_begin < s->row_end);
  CHECK(s->col_begin < s->col_end && s->from_ms <= s->to_ms);
}

static void check_facts(const struct mafat_model *m)
{
  GUARDED(mafat_model_facts, facts);
  mafat_model_describe(m, &facts.is);
  CHECK_GUARD(facts);
  CHECK(facts.is.kind == MAFAT_MODEL_DETECTOR && facts.is.input_h == SIDE && facts.is.input_w == SIDE && facts.is.input_c == 3);
  CHECK(strcmp(facts.is.cpu, "portable") == 0 && facts.is.budget_bytes == 64 << 20);
  CHECK(strcmp(facts.is.budget_source, "the old program's") == 0 && !facts.is.packed && facts.is.kept_weights_bytes > 0);
  CHECK(facts.is.reads_method[0] && is_bool(&facts.is.reads_directly) && facts.is.load_ms > 0);
  check_plan(&facts.is.plan, mafat_model_plan(m));
  CHECK(facts.is.plan.weights_read_bytes > 0);
  CHECK(facts.is.plan.memory.charge_bytes == mafat_model_charge_bytes(m));

  GUARDED(mafat_layer_facts, layer);
  CHECK(mafat_model_layer(m, 2, &layer.is) == MAFAT_OK && mafat_model_layer(m, N_LAYERS, &layer.is) == MAFAT_EINVAL);
  CHECK_GUARD(layer);
  check_layer(&layer.is);
  GUARDED(mafat_group_facts, group);
  CHECK(mafat_model_group(m, 1, &group.is) == MAFAT_OK && mafat_model_group(m, 2, &group.is) == MAFAT_EINVAL);
  CHECK_GUARD(group);
  check_group(&group.is, true);
}

static void check_shapes(const struct mafat_model *m)
{
  int h, w, c;
  mafat_model_input_shape(m, &h, &w, &c);
  CHECK(h == SIDE && w == SIDE && c == 3 && mafat_model_n_layers(m) == N_LAYERS);
  CHECK(mafat_model_layer_shape(m, 1, &h, &w, &c) == MAFAT_OK && h == 80 && w == 80 && c == 8);
  mafat_model_output_shape(m, &h, &w, &c);
  CHECK(h == 20 && w == 20 && c == 22);
}

static void check_run(struct mafat_model *m, const char *what, int code, int w, int h)
{
  GUARDED(mafat_run_facts, run);
  mafat_model_last_run(m, &run.is);
  CHECK_GUARD(run);
  if (code) printf("%s: %s\n", what, d.text);
  CHECK(code == MAFAT_OK && !run.is.input_failed && run.is.image_ms >= 0 && run.is.layers_ms > 0);
  CHECK(run.is.picture_w == w && run.is.picture_h == h && run.is.weights_read_bytes > 0);
}

static void check_boxes(const struct mafat_model *m)
{
  struct mafat_detections *boxes;
  CHECK(mafat_model_detect(m, .5f, .45f, &boxes, &d) == MAFAT_OK && boxes->n == 3);
  for (size_t i = 0; i < boxes->n; i++) {
    const struct mafat_detection *b = &boxes->list[i];
    CHECK(b->class_id >= 0 && b->class_id < N_CLASSES && b->confidence > .5f && b->confidence < 1);
    CHECK(b->x >= 0 && b->y >= 0 && b->w > 100 && b->h > 100);
  }
  mafat_detections_close(&boxes);
}

static void check_outputs(const struct mafat_model *m)
{
  static float whole[22 * 20 * 20], again[22 * 20 * 20], map[8 * 80 * 80], row[20];
  mafat_model_read_output(m, whole);
  CHECK(mafat_model_read_layer(m, N_LAYERS - 1, again, &d) == MAFAT_OK && memcmp(whole, again, sizeof whole) == 0);
  CHECK(mafat_model_read_layer(m, 1, map, &d) == MAFAT_OK && isfinite(map[0])); /* asked for by the options */
  CHECK(mafat_model_read_row(m, N_LAYERS - 1, 21, 7, row, &d) == MAFAT_OK);
  CHECK(memcmp(row, &whole[(21 * 20 + 7) * 20], sizeof row) == 0);
}

static void check_process(const struct mafat_model *m)
{
  GUARDED(mafat_process_facts, process);
  GUARDED(mafat_check, check);
  mafat_process_measure(&process.is);
  CHECK_GUARD(process);
  CHECK(process.is.resident_bytes > 0 && process.is.peak_bytes > 0);
  CHECK(process.is.swap_in_bytes != UINT64_MAX && process.is.swap_out_bytes != UINT64_MAX && process.is.major_faults < 1 << 30);
  mafat_model_check(m, process.is.resident_bytes, &check.is);
  CHECK_GUARD(check);
  CHECK(is_bool(&check.is.holds) && is_bool(&check.is.in_arena) && check.is.off_bytes < SIZE_MAX / 2);
  CHECK(check.is.predicted_bytes > 0 && check.is.measured_bytes == process.is.resident_bytes);
}

static void run_all(struct mafat_model *m)
{
  static unsigned char pixels[3 * 8 * 8];
  struct mafat_class_score top[1];
  int steps = 0, n;
  mafat_model_set_watch(m, count_steps, &steps);
  check_run(m, "floats", mafat_model_run_floats(m, input, INPUTS, &d), SIDE, SIDE);
  CHECK(steps > N_LAYERS);
  mafat_model_set_watch(m, NULL, NULL);
  check_run(m, "pixels", mafat_model_run_pixels(m, pixels, 8, 8, 3, 24, &d), 8, 8);
  check_run(m, "raw", mafat_model_run_raw(m, raw, &d), SIDE, SIDE);
  check_run(m, "picture", mafat_model_run_picture(m, picture, &d), 640, 480);
  check_process(m);
  check_boxes(m);
  check_outputs(m);
  CHECK(mafat_model_classify(m, top, 1, &n, &d) == MAFAT_EINVAL && n == 0);
  mafat_model_rest(m);
}

static void check_model(void)
{
  static const int outputs[] = {1};
  struct mafat_model *m;
  struct mafat_arena *arena;
  int warnings = 0;
  GUARDED(mafat_model_options, options);
  mafat_model_defaults(&options.is);
  CHECK_GUARD(options);
  CHECK(options.is.memory_bytes == 0 && !options.is.memory_name && !options.is.plan && !options.is.search);
  CHECK(options.is.bias_bytes == 31 << 20 && options.is.layers == 0 && !options.is.outputs && options.is.n_outputs == 0);
  CHECK(!options.is.arena && options.is.width == 0 && options.is.height == 0 && !options.is.algorithm);
  CHECK(options.is.threads == 1 && !options.is.cpu && !options.is.best_effort && !options.is.picture);
  CHECK(!options.is.picture_may_fail && !options.is.floats_only && !options.is.warnings.warn && !options.is.warnings.context);
  CHECK(mafat_arena_open(&arena, &d) == MAFAT_OK);
  options.is.memory_bytes = 64 << 20;
  options.is.memory_name = "the old program's";
  options.is.plan = "3x2/8/panels:streamed";
  options.is.search = "greedy";
  options.is.layers = N_LAYERS;
  options.is.outputs = outputs;
  options.is.n_outputs = 1;
  options.is.arena = arena;
  options.is.width = options.is.height = SIDE;
  options.is.algorithm = "direct";
  options.is.cpu = "portable";
  options.is.best_effort = options.is.picture_may_fail = true;
  options.is.picture = picture;
  options.is.warnings = (struct mafat_warning_sink){warn, &warnings};
  int code = mafat_model_open(&m, cfg, weights, &options.is, &d);
  CHECK(code == MAFAT_OK);
  if (code) return;
  check_facts(m);
  check_shapes(m);
  run_all(m);
  mafat_model_close(&m);
  mafat_arena_close(&arena);
  CHECK(mafat_model_open(&m, "/nonexistent", weights, NULL, &d) == MAFAT_EIO && !m && d.text[0]);
}

/* ---- queries ---- */

static void check_answer(const struct mafat_query *q)
{
  struct mafat_answer *a;
  CHECK(mafat_query_answer(&a, q, 64 << 20, &d) == MAFAT_OK);
  GUARDED(mafat_plan_facts, plan);
  mafat_answer_describe(a, &plan.is);
  CHECK_GUARD(plan);
  check_plan(&plan.is, "3x2/8/1x1");
  GUARDED(mafat_layer_facts, layer);
  CHECK(mafat_answer_layer(a, 2, &layer.is) == MAFAT_OK);
  CHECK_GUARD(layer);
  check_layer(&layer.is);
  GUARDED(mafat_group_facts, group);
  CHECK(mafat_answer_group(a, 0, &group.is) == MAFAT_OK && group.is.paper_bytes > 0);
  CHECK_GUARD(group);
  group.is.paper_bytes = 0;
  check_group(&group.is, false);
  GUARDED(mafat_paper_facts, paper);
  CHECK(mafat_answer_paper(a, &paper.is, &d) == MAFAT_OK && mafat_answer_check(a, &d) == MAFAT_OK);
  CHECK_GUARD(paper);
  CHECK(paper.is.bytes > 5 << 20 && paper.is.group >= 0 && paper.is.group < 2 && paper.is.layer < N_LAYERS);
  CHECK(paper.is.tile_row >= 0 && paper.is.tile_row < 3 && paper.is.tile_col >= 0 && paper.is.tile_col < 2);
  mafat_answer_close(&a);
}

static void check_query(void)
{
  struct mafat_query *q;
  size_t budgets[4];
  GUARDED(mafat_model_options, options);
  mafat_model_defaults(&options.is);
  options.is.plan = "3x2/8/1x1";
  options.is.algorithm = "direct";
  options.is.cpu = "portable";
  options.is.bias_bytes = 5 << 20;
  options.is.memory_bytes = 64 << 20;
  CHECK(mafat_query_open(&q, cfg, NULL, &options.is, &d) == MAFAT_OK);
  GUARDED(mafat_query_facts, facts);
  mafat_query_describe(q, &facts.is);
  CHECK_GUARD(facts);
  CHECK(facts.is.input_h == SIDE && facts.is.input_w == SIDE && facts.is.input_c == 3 && facts.is.n_layers == N_LAYERS);
  CHECK(strcmp(facts.is.cpu, "portable") == 0 && facts.is.budget_bytes == 64 << 20);
  CHECK(strcmp(facts.is.budget_source, "memory_bytes") == 0 && !facts.is.packed && facts.is.weights_assumed);
  CHECK(!facts.is.floats_only && facts.is.picture_assumed && facts.is.plan_given && !facts.is.greedy);
  CHECK(facts.is.threads == 1 && facts.is.bias_bytes == 5 << 20 && facts.is.n_front >= 1);
  GUARDED(mafat_front_facts, front);
  CHECK(mafat_query_front(q, 0, &front.is) == MAFAT_OK && mafat_query_front(q, facts.is.n_front, &front.is) == MAFAT_EINVAL);
  CHECK_GUARD(front);
  CHECK(front.is.text[0] && front.is.threads == 1 && front.is.charge_bytes > 0 && front.is.latency_ms > 0);
  CHECK(mafat_query_budgets(q, budgets, 4) >= 1 && budgets[0] >= front.is.charge_bytes);
  check_answer(q);
  mafat_query_close(&q);
}

/* ---- the rest ---- */

static void see_share(void *context, double share)
{
  *(double *)context = share;
}

static void check_calibration(void)
{
  double share = 0;
  GUARDED(mafat_calibrate_options, options);
  GUARDED(mafat_calibration_facts, facts);
  mafat_calibrate_defaults(&options.is);
  CHECK_GUARD(options);
  CHECK(!options.is.cpu && options.is.seconds == 20 && options.is.memory_bytes == 0 && !options.is.progress);
  CHECK(!options.is.context && !options.is.warnings.warn && !options.is.warnings.context);
  options.is.cpu = "portable";
  options.is.seconds = .1;
  options.is.memory_bytes = 64 << 20;
  options.is.progress = see_share;
  options.is.context = &share;
  CHECK(mafat_calibrate(&facts.is, &options.is, &d) == MAFAT_OK && share > 0);
  CHECK_GUARD(facts);
  const struct mafat_calibration_facts *f = &facts.is;
  const double figures[] = {f->conv_gflops, f->point_gflops, f->winograd_gflops, f->winograd_direct_gflops,
                            f->depthwise_gflops, f->map_read_gbs, f->map_write_gbs, f->weights_gbs, f->disk_gbs,
                            f->disk_wait_us, f->read_us, f->packed_gbs, f->darknet_gbs, f->thread_step_us, f->fit_error};
  CHECK(f->path[0] == '/' && memchr(f->path, '\0', sizeof f->path) && strcmp(f->cpu, "portable") == 0);
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) CHECK(figures[i] >= 0 && figures[i] < 1e12);
}

int main(int argc, char **argv)
{
  int known = 0, all = 0;
  if (argc != 5) return 2;
  cfg = argv[1];
  weights = argv[2];
  picture = argv[3];
  raw = argv[4];
  for (int i = 0; i < INPUTS; i++) input[i] = (float)(i % 97) / 97;
  CHECK(mafat_cfg_known_layers(cfg, &known, &all, &d) == MAFAT_OK && known == N_LAYERS && all == N_LAYERS);
  check_model();
  check_query();
  check_calibration();
  CHECK(strcmp(mafat_error_name(MAFAT_OK), mafat_error_name(MAFAT_EIO)) != 0 && mafat_version()[0]);
  CHECK(mafat_fail(&d, MAFAT_ELIMIT, "%d", 7) == MAFAT_ELIMIT && strcmp(d.text, "7") == 0);
  return failures != 0;
}
