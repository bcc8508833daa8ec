/* Writes the table of --report, a note on memory, and warnings about a run. Called by
 * run_inference.c and video.c. Prints on standard output and standard error; allocates the table's
 * rows, which it frees. */
#include "programs/run_inference/report.h"

#include "base/mebibytes.h"
#include "programs/run_inference/transfers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- --report ---- */

/* "convolutional 3x3 winograd", "convolutional 3x3 (in 7)", "maxpool 2x2" */
static void describe_layer(const struct mafat_layer_facts *layer, char *text, size_t capacity)
{
  bool direct = !layer->algorithm || strcmp(layer->algorithm, "direct") == 0;
  char size[32] = "", where[32] = "";
  if (layer->kernel_size > 0)
    snprintf(size, sizeof size, " %dx%d", layer->kernel_size, layer->kernel_size);
  if (layer->inside >= 0) snprintf(where, sizeof where, " (in %d)", layer->inside);
  snprintf(text, capacity, "%s%s%s%s%s", layer->type, size, direct ? "" : " ",
           direct ? "" : layer->algorithm, where);
}

static void describe_group(const struct mafat_group_facts *group, char *text, size_t capacity)
{
  if (group->rows) snprintf(text, capacity, "rows, at least %d", group->rows);
  else if (group->panels) snprintf(text, capacity, "panels of filters");
  else snprintf(text, capacity, "%dx%d tiles", group->tile_rows, group->tile_cols);
}

struct report_table {
  struct mafat_report_row *rows;
  char (*texts)[96]; /* texts that the rows point to */
  size_t n;
};

static char *add_row(struct report_table *t, struct mafat_report_row row)
{
  row.what = t->texts[t->n];
  t->rows[t->n] = row;
  return t->texts[t->n++];
}

static void fill_table(struct report_table *t, const struct mafat_model *model,
                       const struct mafat_plan_facts *plan)
{
  struct mafat_group_facts group = {.size = sizeof group};
  struct mafat_layer_facts layer = {.size = sizeof layer};
  double total_ms = 0;
  for (int g = 0; mafat_model_group(model, g, &group) == MAFAT_OK; g++) {
    struct mafat_report_row *head = &t->rows[t->n];
    describe_group(&group,
                   add_row(t, (struct mafat_report_row){MAFAT_ROW_GROUP, group.first, group.last,
                                                        NULL, 0, (int64_t)group.macs,
                                                        (int64_t)group.peak_bytes}),
                   sizeof *t->texts);
    for (int l = group.first; l <= group.last && mafat_model_layer(model, l, &layer) == MAFAT_OK;
         l++) {
      if (layer.group != g) continue; /* layers of a group need not be consecutive */
      describe_layer(&layer,
                     add_row(t, (struct mafat_report_row){MAFAT_ROW_LAYER, l, l, NULL, layer.ms,
                                                          (int64_t)layer.step_macs,
                                                          (int64_t)layer.arena_bytes}),
                     sizeof *t->texts);
      head->ms += layer.ms;
    }
    total_ms += head->ms;
  }
  char *text =
      add_row(t, (struct mafat_report_row){MAFAT_ROW_TOTAL, 0, plan->n_layers - 1, NULL, total_ms,
                                           (int64_t)plan->macs, (int64_t)plan->arena_bytes});
  snprintf(text, sizeof *t->texts, "arena, +%.1f %% of bound", mafat_output_arena_excess(plan));
}

static int write_transfers(struct mafat_session *s, struct mafat_writer *out)
{
  struct mafat_transfer_report *transfers;
  int code = mafat_model_transfers(&transfers, s->model, s->options.fast_memory, &s->d);
  if (code) return code;
  mafat_transfer_report_write_text(transfers, s->options.fast_memory,
                                   s->options.plan ? NULL : s->options.objective, out);
  mafat_transfer_report_close(&transfers);
  return mafat_writer_flush(out, NULL);
}

/* Writes the median, least and greatest time of several runs. */
static void write_latencies(const struct mafat_run_report *r, struct mafat_writer *out)
{
  char text[160];
  double least = r->latency_ms, most = least;
  for (int i = 0; i < r->n_latencies; i++) {
    if (r->latencies_ms[i] < least) least = r->latencies_ms[i];
    if (r->latencies_ms[i] > most) most = r->latencies_ms[i];
  }
  snprintf(text, sizeof text,
           "time: %d runs, median %.2f ms (%.2f of it the layers), least %.2f, most %.2f\n",
           r->n_latencies, r->latency_ms, r->layers_ms, least, most);
  mafat_writer_put(out, text);
}

int mafat_report_print_table(struct mafat_session *s, const struct mafat_run_report *r)
{
  struct mafat_plan_facts plan = {.size = sizeof plan};
  mafat_model_describe_plan(s->model, &plan);
  size_t capacity = (size_t)plan.n_layers + (size_t)plan.n_groups + 1;
  struct report_table t = {calloc(capacity, sizeof *t.rows), calloc(capacity, sizeof *t.texts), 0};
  int code = t.rows && t.texts ? MAFAT_OK : mafat_fail(&s->d, MAFAT_ENOMEM, "out of memory");
  if (code == MAFAT_OK) {
    struct mafat_writer out;
    fill_table(&t, s->model, &plan);
    mafat_writer_open(&out, s->options.json ? STDERR_FILENO : STDOUT_FILENO);
    code = mafat_output_table(t.rows, t.n, &out);
    if (r->n_latencies > 1) write_latencies(r, &out);
    if (code == MAFAT_OK) code = mafat_output_memory(r, &out);
    if (code == MAFAT_OK && s->options.fast_memory) code = write_transfers(s, &out);
    if (code) mafat_fail(&s->d, code, "cannot write the report");
  }
  free(t.rows);
  free(t.texts);
  return code;
}

/* ---- detections ---- */

void mafat_report_left_out(struct mafat_session *s, const struct mafat_run_report *r)
{
  struct mafat_model_facts model = {.size = sizeof model};
  char text[300];
  if (!r->detections || !r->detections->left_out) return;
  mafat_model_describe(s->model, &model);
  long long n = (long long)r->detections->left_out;
  snprintf(text, sizeof text,
           "%.120s: %lld of %lld boxes above the threshold %g were left out, the least confident: "
           "see --max-boxes",
           r->image ? r->image : "input", n, n + model.max_boxes, (double)s->options.thresh);
  mafat_session_warn(s, text);
}

/* ---- memory ---- */

void mafat_report_print_note(const struct mafat_session *s, const struct mafat_run_report *r)
{
  struct mafat_model_facts model = {.size = sizeof model};
  struct mafat_layer_facts layer = {.size = sizeof layer};
  struct mafat_plan_facts plan = {.size = sizeof plan};
  const struct mafat_plan_facts *p = &plan;
  char peak[96], resident[MAFAT_OUTPUT_RESIDENT];
  mafat_model_describe(s->model, &model);
  mafat_model_describe_plan(s->model, &plan);
  mafat_output_describe_peak(
      p, mafat_model_layer(s->model, p->peak_layer, &layer) == MAFAT_OK ? layer.type : NULL, peak,
      sizeof peak);
  fprintf(stderr, "plan: %s\n", p->text);
  fprintf(stderr,
          "memory: arena %.1f MiB (%.1f %% above the least possible), weights %.1f MiB, %s %.1f "
          "MiB; resident %s, predicted %.1f MiB; budget ",
          mafat_mebibytes(p->arena_bytes), mafat_output_arena_excess(p),
          mafat_mebibytes(model.kept_weights_bytes), peak, mafat_mebibytes(p->peak_bytes),
          mafat_output_resident(r, resident), mafat_mebibytes((size_t)r->predicted_resident_bytes));
  if (r->memory_budget_bytes < 0) fputs("unknown\n", stderr);
  else fprintf(stderr, "%.1f MiB (%s)\n", mafat_mebibytes(model.budget_bytes), model.budget_source);
  fprintf(stderr,
          "work: %.1f million multiply-adds as direct convolution, %.1f million with padding as "
          "computed; %s, %d thread%s, kernels %s\n",
          (double)p->macs * 1e-6, (double)p->padded_macs * 1e-6, p->algorithm, p->threads,
          p->threads == 1 ? "" : "s", model.cpu);
  if (model.reads_method)
    fprintf(stderr, "reads: %.1f MiB of weights for every picture, by %s, %s\n",
            mafat_mebibytes(p->weights_read_bytes), model.reads_method,
            model.reads_directly ? "past the page cache (O_DIRECT)"
                                 : "dropped from the page cache afterwards");
}

void mafat_report_check(struct mafat_session *s, const struct mafat_run_report *r)
{
  struct mafat_check c = {.size = sizeof c};
  char text[200];
  if (r->measured_resident_bytes < 0) return;
  mafat_model_check(s->model, (size_t)r->measured_resident_bytes, &c);
  if (c.holds) return;
  snprintf(text, sizeof text,
           "measured %.1f MiB resident, predicted %.1f MiB; the difference is mostly in the %s",
           mafat_mebibytes(c.measured_bytes), mafat_mebibytes(c.predicted_bytes),
           c.in_arena ? "arena" : "program and libraries");
  mafat_session_warn(s, text);
}
