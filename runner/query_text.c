/* --predict for people. */
#include "runner/query.h"

#include <stdio.h>
#include <string.h>

enum { LABEL_WIDTH = 10, CUT_WIDTH = 22, WEIGHTS_WIDTH = 9, BAR_WIDTH = 40, MB_WIDTH = 9 };

static void put_label(struct mafat_writer *w, const char *label)
{
  mafat_writer_put(w, label);
  mafat_writer_put_spaces(w, LABEL_WIDTH - (int)strlen(label));
}

static void put_mb(struct mafat_writer *w, size_t bytes)
{
  mafat_writer_put_fixed(w, (double)bytes / 1048576, 2);
  mafat_writer_put(w, " MB");
}

static void put_million(struct mafat_writer *w, uint64_t n)
{
  mafat_writer_put_fixed(w, (double)n * 1e-6, 1);
  mafat_writer_put(w, " million");
}

static void put_mb_cell(struct mafat_writer *w, size_t bytes)
{
  char room[MAFAT_NUMBER_ROOM];
  mafat_writer_put_right(w, mafat_format_fixed(room, (double)bytes / 1048576, 2), MB_WIDTH);
}

static void put_padded(struct mafat_writer *w, const char *text, int width)
{
  mafat_writer_put(w, text);
  mafat_writer_put_spaces(w, width - (int)strlen(text));
}

/* ---- what is asked ---- */

static void put_question(const struct mafat_query *q, struct mafat_writer *w)
{
  char text[160];
  bool packed = q->basis.options.packed;
  mafat_writer_put_plain(w, q->cfg);
  snprintf(text, sizeof text, ": %d x %d, %d layers; %s%s; ", q->network->input.w, q->network->input.h, q->n_layers,
           packed ? "packed weights" : "Darknet's weights", q->weights_assumed ? " (assumed)" : "");
  mafat_writer_put(w, text);
  if (q->floats_only) mafat_writer_put(w, "raw floats");
  else if (q->picture) mafat_writer_put_plain(w, q->picture);
  else mafat_writer_put(w, "a JPEG of 12 megapixels (assumed)");
  mafat_writer_put(w, "\n");
}

static const char *who_chose(const struct mafat_query *q)
{
  return q->request.plan ? "given" : q->request.greedy ? "the paper's greedy search" : "the best there is";
}

static void put_plan(const struct mafat_query *q, const struct mafat_answer *a, struct mafat_writer *w)
{
  char text[160];
  int threads = a->choice.plan->n_threads;
  put_label(w, "plan");
  mafat_writer_put(w, a->choice.text);
  snprintf(text, sizeof text, "\n%*s(%s; %s, %d thread%s, kernels %s)\n", LABEL_WIDTH, "", who_chose(q),
           mafat_algorithm_name(a->choice.algorithm), threads, threads == 1 ? "" : "s", q->kernels->name);
  mafat_writer_put(w, text);
}

/* ---- what it costs ---- */

static void put_fits(const struct mafat_query *q, const struct mafat_answer *a, struct mafat_writer *w)
{
  put_label(w, "fits");
  mafat_writer_put(w, a->choice.fits ? "yes: needs " : "no: needs ");
  put_mb(w, a->choice.prediction.charge_bytes);
  if (a->budget_bytes == SIZE_MAX) {
    mafat_writer_put(w, ", the budget is not known\n");
    return;
  }
  mafat_writer_put(w, ", the budget (");
  mafat_writer_put(w, q->request.budget_source);
  mafat_writer_put(w, ") is ");
  put_mb(w, a->budget_bytes);
  mafat_writer_put(w, "\n");
}

static void put_least(const struct mafat_answer *a, struct mafat_writer *w)
{
  put_label(w, "least");
  put_mb(w, a->least->charge_bytes);
  mafat_writer_put(w, ", ");
  mafat_writer_put_fixed(w, a->least->ms, 1);
  mafat_writer_put(w, " ms: plan ");
  mafat_writer_put(w, a->least->text);
  mafat_writer_put(w, "\n");
}

static void put_time(const struct mafat_query *q, const struct mafat_answer *a, struct mafat_writer *w)
{
  const struct mafat_latency *t = &a->choice.latency;
  put_label(w, "time");
  mafat_writer_put_fixed(w, t->total_ms, 1);
  mafat_writer_put(w, " ms for the layers");
  if (a->choice.layout->bytes_read) {
    mafat_writer_put(w, ", ");
    mafat_writer_put_fixed(w, t->reading_ms, 1);
    mafat_writer_put(w, " ms of reading beside them");
  }
  mafat_writer_put(w, q->basis.calibration.measured ? " (by this machine's calibration)\n" : " (by built-in figures)\n");
}

static void put_work(const struct mafat_answer *a, struct mafat_writer *w)
{
  const struct mafat_layout *l = a->choice.layout;
  put_label(w, "work");
  put_million(w, l->macs);
  mafat_writer_put(w, " multiply-adds, ");
  put_million(w, l->redundant_macs);
  mafat_writer_put(w, " of them computed again; ");
  put_million(w, l->padded_macs);
  mafat_writer_put(w, " with padding as computed\n");
  put_label(w, "reads");
  if (l->bytes_read) {
    put_mb(w, l->bytes_read);
    mafat_writer_put(w, " of weights for every picture\n");
  } else {
    mafat_writer_put(w, "no weights while it runs: all are kept\n");
  }
}

static void put_paper(const struct mafat_query *q, const struct mafat_answer *a, struct mafat_writer *w)
{
  if (!a->paper) return;
  const struct mafat_paper_group *peak = &a->paper->groups[a->paper->peak_group];
  char text[96];
  put_label(w, "paper");
  mafat_writer_put(w, "Algorithm 1 would say ");
  put_mb(w, a->paper->bytes);
  mafat_writer_put(w, ", of which ");
  put_mb(w, q->request.bias_bytes);
  mafat_writer_put(w, " bias");
  if (peak->peak_layer >= 0) {
    snprintf(text, sizeof text, "; layer %d, tile (%d, %d)", peak->peak_layer, peak->tile_row, peak->tile_col);
    mafat_writer_put(w, text);
  }
  mafat_writer_put(w, "\n");
}

static void put_parts(const struct mafat_answer *a, struct mafat_writer *w)
{
  struct mafat_part parts[MAFAT_PARTS];
  int n = mafat_query_parts(a, parts);
  mafat_writer_put(w, "\nmemory             MB\n");
  for (int i = 0; i < n; i++) {
    if (!parts[i].bytes) continue;
    put_padded(w, parts[i].name, 12);
    put_mb_cell(w, parts[i].bytes);
    mafat_writer_put(w, parts[i].before ? "  before the layers run\n" : "\n");
  }
  put_padded(w, "resident", 12);
  put_mb_cell(w, a->choice.prediction.resident_bytes);
  mafat_writer_put(w, "  while the layers run\n");
  put_padded(w, "charge", 12);
  put_mb_cell(w, a->choice.prediction.charge_bytes);
  mafat_writer_put(w, "  what a memory limit counts at most\n");
}

/* ---- where it costs ---- */

static size_t largest_peak(const struct mafat_layout *l, int n_groups)
{
  size_t largest = 1;
  for (int g = 0; g < n_groups; g++)
    if (l->groups[g].peak_bytes > largest) largest = l->groups[g].peak_bytes;
  return largest;
}

static void put_bar(struct mafat_writer *w, size_t bytes, size_t largest)
{
  int length = (int)((double)bytes / (double)largest * BAR_WIDTH + .5);
  if (length == 0 && bytes) length = 1;
  for (int i = 0; i < length; i++) mafat_writer_put(w, "#");
  if (bytes != largest) return;
  mafat_writer_put_spaces(w, BAR_WIDTH - length);
  mafat_writer_put(w, " peak");
}

static void put_peak(const struct mafat_query *q, const struct mafat_answer *a, struct mafat_writer *w)
{
  const struct mafat_peak *peak = &a->choice.prediction.peak;
  char text[128];
  mafat_peak_describe(peak, q->network, text, sizeof text);
  mafat_writer_put(w, "\nlargest at the peak: ");
  mafat_writer_put(w, text);
  mafat_writer_put(w, ", ");
  put_mb(w, peak->bytes);
  mafat_writer_put(w, "\n");
}

static void put_groups(const struct mafat_answer *a, struct mafat_writer *w)
{
  const struct mafat_plan *plan = a->choice.plan;
  const struct mafat_layout *l = a->choice.layout;
  size_t largest = largest_peak(l, plan->n_groups);
  mafat_writer_put(w, "\nlayers    ");
  put_padded(w, "cut", CUT_WIDTH);
  put_padded(w, "weights", WEIGHTS_WIDTH);
  mafat_writer_put(w, " arena MB\n");
  for (int g = 0; g < plan->n_groups; g++) {
    const struct mafat_group *group = &plan->groups[g];
    char text[MAFAT_CUT_TEXT];
    snprintf(text, sizeof text, group->end - group->first > 1 ? "%d-%d" : "%d", group->first, group->end - 1);
    put_padded(w, text, LABEL_WIDTH);
    mafat_query_cut_text(plan, g, text);
    put_padded(w, text, CUT_WIDTH);
    put_padded(w, mafat_residence_name(group->weights), WEIGHTS_WIDTH);
    put_mb_cell(w, l->groups[g].peak_bytes);
    mafat_writer_put(w, " ");
    put_bar(w, l->groups[g].peak_bytes, largest);
    mafat_writer_put(w, "\n");
  }
}

int mafat_query_write_text(const struct mafat_query *q, const struct mafat_answer *a, struct mafat_writer *w)
{
  put_question(q, w);
  put_plan(q, a, w);
  put_fits(q, a, w);
  put_least(a, w);
  put_time(q, a, w);
  put_work(a, w);
  put_paper(q, a, w);
  put_parts(a, w);
  put_groups(a, w);
  put_peak(q, a, w);
  return mafat_writer_flush(w, NULL);
}
