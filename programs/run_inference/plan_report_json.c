/* Writes the report of --predict for scripts, as one JSON object on one line, to the caller's
 * writer. Called by predict.c, plan_report_text.c and programs/mafat_serve/work.c. */
#include "programs/run_inference/plan_report.h"
#include "programs/run_inference/transfers.h"
#include "programs/run_inference/output.h"
#include "programs/run_inference/picture_facts.h"
#include "programs/run_inference/ports.h"

#include <string.h>

static void put_bytes(struct mafat_writer *w, const char *key, size_t bytes)
{
  uint64_t count = bytes;
  mafat_json_count(w, key, count > INT64_MAX ? -1 : (int64_t)count);
}

static void put_bool(struct mafat_writer *w, const char *key, bool value)
{
  mafat_json_key(w, key);
  mafat_writer_put(w, value ? "true" : "false");
}

static void put_request(const struct mafat_report_request *q, const struct mafat_plan_facts *p,
                        struct mafat_writer *w)
{
  const struct mafat_dry_run_facts *f = &q->facts;
  mafat_json_string(w, "cfg", q->cfg);
  mafat_json_key(w, "network");
  mafat_json_begin(w, "{");
  mafat_json_count(w, "width", f->input_w);
  mafat_json_count(w, "height", f->input_h);
  mafat_json_count(w, "layers", f->n_layers);
  put_bytes(w, "weights", f->n_weights);
  mafat_json_string(w, "fork", f->fork);
  mafat_json_string(w, "decode", f->decode);
  mafat_json_end(w, "}");
  mafat_ports_json(NULL, q->dry_run, w);
  mafat_json_string(w, "weights_file", f->packed ? "packed" : "darknet");
  put_bool(w, "weights_assumed", f->weights_assumed);
  mafat_json_string(w, "image", q->picture);
  put_bool(w, "image_assumed", f->picture_assumed);
  mafat_picture_json(f->floats_only ? NULL : &f->picture, w);
  mafat_json_count(w, "threads", p->threads);
  mafat_json_string(w, "cpu", f->cpu);
  mafat_json_string(w, "search", f->search);
}

static void put_breakdown(const struct mafat_report_request *q, const struct mafat_plan_facts *p,
                          struct mafat_writer *w)
{
  struct mafat_memory_part parts[MAFAT_MEMORY_PARTS];
  int n = mafat_plan_report_memory_parts(q, &p->memory, parts);
  mafat_json_key(w, "breakdown");
  mafat_json_begin(w, "{");
  for (int i = 0; i < n; i++) put_bytes(w, parts[i].name, parts[i].bytes);
  mafat_json_end(w, "}");
}

static void put_peak(const struct mafat_plan_report *a, const struct mafat_plan_facts *p,
                     struct mafat_writer *w)
{
  struct mafat_layer_facts layer = {.size = sizeof layer};
  char text[128];
  mafat_output_describe_peak(
      p, mafat_plan_report_layer(a, p->peak_layer, &layer) == MAFAT_OK ? layer.type : NULL, text,
      sizeof text);
  mafat_json_key(w, "peak_buffer");
  mafat_json_begin(w, "{");
  mafat_json_string(w, "name", text);
  mafat_json_count(w, "layer", p->peak_layer); /* -1, no layer: null */
  put_bytes(w, "bytes", p->peak_bytes);
  mafat_json_end(w, "}");
}

static void put_group(const struct mafat_group_facts *group, bool with_paper,
                      struct mafat_writer *w)
{
  mafat_json_separate(w);
  mafat_json_begin(w, "{");
  mafat_json_count(w, "first", group->first);
  mafat_json_count(w, "last", group->last);
  mafat_json_string(w, "cut", group->cut);
  mafat_json_string(w, "weights", group->weights);
  put_bytes(w, "peak_bytes", group->peak_bytes);
  mafat_json_count(w, "macs", (int64_t)group->macs);
  mafat_json_count(w, "redundant_macs", (int64_t)group->redundant_macs);
  mafat_json_count(w, "padded_macs", (int64_t)group->padded_macs);
  if (with_paper) put_bytes(w, "paper_bytes", group->paper_bytes);
  mafat_json_end(w, "}");
}

static void put_costs(const struct mafat_plan_facts *p, struct mafat_writer *w)
{
  mafat_json_count(w, "macs", (int64_t)p->macs);
  mafat_json_count(w, "redundant_macs", (int64_t)p->redundant_macs);
  mafat_json_count(w, "padded_macs", (int64_t)p->padded_macs);
  mafat_json_count(w, "weights_read_bytes", (int64_t)p->weights_read_bytes);
  mafat_json_number(w, "predicted_latency_ms", p->latency_ms);
  mafat_json_number(w, "predicted_compute_ms", p->compute_ms);
  mafat_json_number(w, "predicted_reading_ms", p->reading_ms);
  put_bool(w, "calibrated", p->calibrated);
}

int mafat_plan_report_write_json(const struct mafat_report_request *q,
                                 const struct mafat_plan_report *a, struct mafat_writer *w)
{
  struct mafat_plan_facts p = {.size = sizeof p};
  struct mafat_group_facts group = {.size = sizeof group};
  struct mafat_paper_facts paper = {.size = sizeof paper};
  struct mafat_front_facts least = {.size = sizeof least};
  bool has_paper = mafat_plan_report_paper(a, &paper, NULL) == MAFAT_OK;
  mafat_plan_report_describe(a, &p);
  mafat_dry_run_front(q->dry_run, 0, &least);
  mafat_json_begin(w, "{");
  put_request(q, &p, w);
  mafat_json_string(w, "plan", p.text);
  mafat_json_string(w, "algorithm", p.algorithm);
  put_bool(w, "fits", p.fits);
  put_bytes(w, "memory_budget_bytes", q->facts.budget_bytes);
  mafat_json_string(w, "budget_source", q->facts.budget_source);
  put_bytes(w, "predicted_charge_bytes", p.memory.charge_bytes);
  mafat_json_count(w, "raw_input_charge_bytes",
                   p.raw_charge_bytes ? (int64_t)p.raw_charge_bytes : -1); /* -1: null */
  put_bytes(w, "predicted_resident_bytes", p.memory.resident_bytes);
  put_bytes(w, "arena_bytes", p.arena_bytes);
  put_bytes(w, "arena_bound_bytes", p.arena_bound_bytes);
  put_bytes(w, "arena_excess_bytes", p.arena_bytes - p.arena_bound_bytes);
  mafat_json_number(w, "arena_excess_percent", mafat_output_arena_excess(&p));
  put_bytes(w, "least_charge_bytes", least.charge_bytes);
  mafat_json_string(w, "least_plan", least.text);
  mafat_json_number(w, "least_latency_ms", least.latency_ms);
  put_breakdown(q, &p, w);
  put_peak(a, &p, w);
  mafat_json_key(w, "groups");
  mafat_json_begin(w, "[");
  for (int g = 0; mafat_plan_report_group(a, g, &group) == MAFAT_OK; g++)
    put_group(&group, has_paper, w);
  mafat_json_end(w, "]");
  put_costs(&p, w);
  if (has_paper) {
    put_bytes(w, "paper_bytes", paper.bytes);
    put_bytes(w, "paper_bias_bytes", q->facts.bias_bytes);
  }
  if (q->transfers) mafat_transfer_report_write_json(q->transfers, q->fast_bytes, q->objective, w);
  return mafat_json_finish_line(w);
}

int mafat_plan_report_memory_parts(const struct mafat_report_request *q,
                                   const struct mafat_memory_facts *m,
                                   struct mafat_memory_part parts[MAFAT_MEMORY_PARTS])
{
  const struct mafat_memory_part list[] = {
#define MEMORY(name, before, label) {#name, label, m->name, before},
#include "base/tags.def"
      {"reserve", "kept free", q->facts.reserve_bytes, false},
      {"rest", "other", m->rest - q->facts.reserve_bytes, false},
  };
  memcpy(parts, list, sizeof list);
  return (int)(sizeof list / sizeof *list);
}
