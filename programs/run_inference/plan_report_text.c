/* Writes the report of --predict for people, to the caller's writer. Called by predict.c. */
#include "base/mebibytes.h"
#include "programs/run_inference/plan_report.h"
#include "programs/run_inference/transfers.h"
#include "programs/run_inference/output.h"
#include "programs/run_inference/picture_facts.h"
#include "programs/run_inference/ports.h"

#include <stdio.h>
#include <string.h>

enum { LABEL_WIDTH = 10, CUT_WIDTH = 22, WEIGHTS_WIDTH = 9, BAR_WIDTH = 40, MIB_WIDTH = 9 };

static void put_label(struct mafat_writer *w, const char *label)
{
  mafat_writer_put(w, label);
  mafat_writer_put_spaces(w, LABEL_WIDTH - (int)strlen(label));
}

static void put_mib(struct mafat_writer *w, size_t bytes)
{
  mafat_writer_put_fixed(w, mafat_mebibytes(bytes), 1);
  mafat_writer_put(w, " MiB");
}

static void put_million(struct mafat_writer *w, uint64_t n)
{
  mafat_writer_put_fixed(w, (double)n * 1e-6, 1);
  mafat_writer_put(w, " million");
}

/* Writes bytes as MiB, with "<0.1" instead of "0.0". */
static void put_mib_cell(struct mafat_writer *w, size_t bytes)
{
  char capacity[MAFAT_NUMBER_ROOM];
  const bool few = bytes > 0 && bytes < (1 << 20) / 20;
  mafat_writer_put_right(w, few ? "<0.1" : mafat_format_fixed(capacity, mafat_mebibytes(bytes), 1),
                         MIB_WIDTH);
}

static void put_padded(struct mafat_writer *w, const char *text, int width)
{
  mafat_writer_put(w, text);
  mafat_writer_put_spaces(w, width - (int)strlen(text));
}

/* ---- the request ---- */

static void put_request(const struct mafat_report_request *q, struct mafat_writer *w)
{
  char text[160];
  mafat_writer_put_plain(w, q->cfg);
  snprintf(text, sizeof text, ": %d x %d, %d layers; %s%s; ", q->facts.input_w, q->facts.input_h,
           q->facts.n_layers,
           q->facts.packed  ? "packed weights"
           : q->own_weights ? "its own weights"
                            : "Darknet's weights",
           q->facts.weights_assumed ? " (assumed)" : "");
  mafat_writer_put(w, text);
  if (q->facts.floats_only) mafat_writer_put(w, "raw floats");
  else if (q->picture) mafat_writer_put_plain(w, q->picture);
  else mafat_writer_put(w, "a JPEG of 12 megapixels (assumed)");
  mafat_writer_put(w, "\n");
}

static const char *who_chose(const struct mafat_report_request *q)
{
  return q->facts.search ? q->facts.searched : "given";
}

static void put_plan(const struct mafat_report_request *q, const struct mafat_plan_facts *p,
                     struct mafat_writer *w)
{
  char text[192];
  put_label(w, "plan");
  mafat_writer_put(w, p->text);
  snprintf(text, sizeof text, "\n%*s(%s; %s, %d thread%s, kernels %s)\n", LABEL_WIDTH, "",
           who_chose(q), p->algorithm, p->threads, p->threads == 1 ? "" : "s", q->facts.cpu);
  mafat_writer_put(w, text);
}

/* ---- memory and time ---- */

static void put_fits(const struct mafat_report_request *q, const struct mafat_plan_facts *p,
                     struct mafat_writer *w)
{
  put_label(w, "fits");
  mafat_writer_put(w, p->fits ? "yes: needs " : "no: needs ");
  put_mib(w, p->memory.charge_bytes);
  if (p->raw_charge_bytes > p->memory.charge_bytes) {
    mafat_writer_put(w, " (");
    put_mib(w, p->raw_charge_bytes);
    mafat_writer_put(w, " with --input)");
  }
  if (q->facts.budget_bytes == SIZE_MAX) {
    mafat_writer_put(w, ", the budget is not known\n");
    return;
  }
  mafat_writer_put(w, ", the budget (");
  mafat_writer_put(w, q->facts.budget_source);
  mafat_writer_put(w, ") is ");
  put_mib(w, q->facts.budget_bytes);
  mafat_writer_put(w, "\n");
}

/* Writes the arena's size, and how far it exceeds the most bytes that are live at one time. */
static void put_arena(const struct mafat_plan_facts *p, struct mafat_writer *w)
{
  put_label(w, "arena");
  put_mib(w, p->arena_bytes);
  mafat_writer_put(w, ", ");
  mafat_writer_put_fixed(w, mafat_output_arena_excess(p), 2);
  mafat_writer_put(w, " % above the most that is alive at one time\n");
}

static void put_least(const struct mafat_report_request *q, struct mafat_writer *w)
{
  struct mafat_front_facts least = {.size = sizeof least};
  mafat_dry_run_front(q->dry_run, 0, &least);
  put_label(w, "least");
  put_mib(w, least.charge_bytes);
  mafat_writer_put(w, ", ");
  mafat_writer_put_fixed(w, least.latency_ms, 1);
  mafat_writer_put(w, " ms: plan ");
  mafat_writer_put(w, least.text);
  mafat_writer_put(w, "\n");
}

static void put_time(const struct mafat_plan_facts *p, struct mafat_writer *w)
{
  put_label(w, "time");
  mafat_writer_put_fixed(w, p->latency_ms, 1);
  mafat_writer_put(w, " ms for the layers");
  if (p->weights_read_bytes) {
    mafat_writer_put(w, ", ");
    mafat_writer_put_fixed(w, p->reading_ms, 1);
    mafat_writer_put(w, " ms of reading beside them");
  }
  mafat_writer_put(w, p->calibrated ? " (by this machine's calibration)\n"
                                    : " (by built-in figures)\n");
}

static void put_work(const struct mafat_plan_facts *p, struct mafat_writer *w)
{
  put_label(w, "work");
  put_million(w, p->macs);
  mafat_writer_put(w, " multiply-adds, ");
  put_million(w, p->redundant_macs);
  mafat_writer_put(w, " of them computed again; ");
  put_million(w, p->padded_macs);
  mafat_writer_put(w, " with padding as computed\n");
  put_label(w, "reads");
  if (p->weights_read_bytes) {
    put_mib(w, p->weights_read_bytes);
    mafat_writer_put(w, " of weights for every picture\n");
  } else {
    mafat_writer_put(w, "no weights while it runs: all are kept\n");
  }
}

static void put_paper(const struct mafat_report_request *q, const struct mafat_plan_report *a,
                      struct mafat_writer *w)
{
  struct mafat_paper_facts paper = {.size = sizeof paper};
  char text[96];
  if (mafat_plan_report_paper(a, &paper, NULL) != MAFAT_OK) return;
  put_label(w, "paper");
  mafat_writer_put(w, "Algorithm 1 would say ");
  put_mib(w, paper.bytes);
  mafat_writer_put(w, ", of which ");
  put_mib(w, q->facts.bias_bytes);
  mafat_writer_put(w, " bias");
  if (paper.layer >= 0) {
    snprintf(text, sizeof text, "; layer %d, tile (%d, %d)", paper.layer, paper.tile_row,
             paper.tile_col);
    mafat_writer_put(w, text);
  }
  mafat_writer_put(w, "\n");
}

static void put_parts(const struct mafat_report_request *q, const struct mafat_plan_facts *p,
                      struct mafat_writer *w)
{
  struct mafat_memory_part parts[MAFAT_MEMORY_PARTS];
  int n = mafat_plan_report_memory_parts(q, &p->memory, parts);
  mafat_writer_put(w, "\nmemory                   MiB\n");
  for (int i = 0; i < n; i++) {
    if (!parts[i].bytes) continue;
    put_padded(w, parts[i].label, 19);
    put_mib_cell(w, parts[i].bytes);
    mafat_writer_put(w, parts[i].before ? "  before the layers run\n" : "\n");
  }
  put_padded(w, "resident", 19);
  put_mib_cell(w, p->memory.resident_bytes);
  mafat_writer_put(w, "  while the layers run\n");
  put_padded(w, "charge", 19);
  put_mib_cell(w, p->memory.charge_bytes);
  mafat_writer_put(w, "  at most this counts against a memory limit\n");
}

/* ---- costs by group and layer ---- */

static size_t largest_peak(const struct mafat_plan_report *a, int n_groups)
{
  struct mafat_group_facts group = {.size = sizeof group};
  size_t largest = 1;
  for (int g = 0; g < n_groups; g++)
    if (mafat_plan_report_group(a, g, &group) == MAFAT_OK && group.peak_bytes > largest)
      largest = group.peak_bytes;
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

static void put_peak(const struct mafat_plan_report *a, const struct mafat_plan_facts *p,
                     struct mafat_writer *w)
{
  struct mafat_layer_facts layer = {.size = sizeof layer};
  char text[128];
  mafat_output_describe_peak(
      p, mafat_plan_report_layer(a, p->peak_layer, &layer) == MAFAT_OK ? layer.type : NULL, text,
      sizeof text);
  mafat_writer_put(w, "\nlargest at the peak: ");
  mafat_writer_put(w, text);
  mafat_writer_put(w, ", ");
  put_mib(w, p->peak_bytes);
  mafat_writer_put(w, "\n");
}

static void put_groups(const struct mafat_plan_report *a, const struct mafat_plan_facts *p,
                       struct mafat_writer *w)
{
  size_t largest = largest_peak(a, p->n_groups);
  struct mafat_group_facts group = {.size = sizeof group};
  mafat_writer_put(w, "\nlayers    ");
  put_padded(w, "cut", CUT_WIDTH);
  put_padded(w, "weights", WEIGHTS_WIDTH);
  mafat_writer_put(w, "arena MiB\n");
  for (int g = 0; mafat_plan_report_group(a, g, &group) == MAFAT_OK; g++) {
    char text[32];
    snprintf(text, sizeof text, group.last > group.first ? "%d-%d" : "%d", group.first, group.last);
    put_padded(w, text, LABEL_WIDTH);
    put_padded(w, group.cut, CUT_WIDTH);
    put_padded(w, group.weights, WEIGHTS_WIDTH);
    put_mib_cell(w, group.peak_bytes);
    mafat_writer_put(w, " ");
    put_bar(w, group.peak_bytes, largest);
    mafat_writer_put(w, "\n");
  }
}

int mafat_plan_report_write_text(const struct mafat_report_request *q,
                                 const struct mafat_plan_report *a, struct mafat_writer *w)
{
  struct mafat_plan_facts p = {.size = sizeof p};
  mafat_plan_report_describe(a, &p);
  put_request(q, w);
  put_label(w, "inputs");
  mafat_ports_inputs_text(q->dry_run, w);
  if (!q->facts.floats_only && q->facts.picture.channels) {
    put_label(w, "picture");
    mafat_picture_text(&q->facts.picture, w);
  }
  put_label(w, "outputs");
  mafat_ports_outputs_text(q->dry_run, w);
  put_plan(q, &p, w);
  put_fits(q, &p, w);
  put_arena(&p, w);
  put_least(q, w);
  put_time(&p, w);
  put_work(&p, w);
  put_paper(q, a, w);
  put_parts(q, &p, w);
  put_groups(a, &p, w);
  put_peak(a, &p, w);
  if (q->transfers) mafat_transfer_report_write_text(q->transfers, q->fast_bytes, q->objective, w);
  return mafat_writer_flush(w, NULL);
}
