/* --predict for scripts: one object on one line. */
#include "runner/query.h"

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

static void put_question(const struct mafat_query *q, const struct mafat_answer *a, struct mafat_writer *w)
{
  mafat_json_string(w, "cfg", q->cfg);
  mafat_json_key(w, "network");
  mafat_json_begin(w, "{");
  mafat_json_count(w, "width", q->network->input.w);
  mafat_json_count(w, "height", q->network->input.h);
  mafat_json_count(w, "layers", q->n_layers);
  mafat_json_end(w, "}");
  mafat_json_string(w, "weights_file", q->basis.options.packed ? "packed" : "darknet");
  put_bool(w, "weights_assumed", q->weights_assumed);
  mafat_json_string(w, "image", q->picture);
  put_bool(w, "image_assumed", !q->picture && !q->floats_only);
  mafat_json_count(w, "threads", a->choice.plan->n_threads);
  mafat_json_string(w, "cpu", q->kernels->name);
  mafat_json_string(w, "search", q->request.plan ? NULL : q->request.greedy ? "greedy" : "best");
}

static void put_breakdown(const struct mafat_answer *a, struct mafat_writer *w)
{
  struct mafat_part parts[MAFAT_PARTS];
  int n = mafat_query_parts(a, parts);
  mafat_json_key(w, "breakdown");
  mafat_json_begin(w, "{");
  for (int i = 0; i < n; i++) put_bytes(w, parts[i].name, parts[i].bytes);
  mafat_json_end(w, "}");
}

static void put_peak(const struct mafat_query *q, const struct mafat_answer *a, struct mafat_writer *w)
{
  const struct mafat_peak *peak = &a->choice.prediction.peak;
  char text[128];
  mafat_peak_describe(peak, q->network, text, sizeof text);
  mafat_json_key(w, "peak_buffer");
  mafat_json_begin(w, "{");
  mafat_json_string(w, "name", text);
  mafat_json_count(w, "layer", peak->layer); /* none: null */
  put_bytes(w, "bytes", peak->bytes);
  mafat_json_end(w, "}");
}

static void put_group(const struct mafat_answer *a, int g, struct mafat_writer *w)
{
  const struct mafat_group *group = &a->choice.plan->groups[g];
  const struct mafat_group_cost *cost = &a->choice.layout->groups[g];
  char cut[MAFAT_CUT_TEXT];
  mafat_query_cut_text(a->choice.plan, g, cut);
  mafat_json_separate(w);
  mafat_json_begin(w, "{");
  mafat_json_count(w, "first", group->first);
  mafat_json_count(w, "last", group->end - 1);
  mafat_json_string(w, "cut", cut);
  mafat_json_string(w, "weights", mafat_residence_name(group->weights));
  put_bytes(w, "peak_bytes", cost->peak_bytes);
  mafat_json_count(w, "macs", (int64_t)cost->macs);
  mafat_json_count(w, "redundant_macs", (int64_t)cost->redundant_macs);
  mafat_json_count(w, "padded_macs", (int64_t)cost->padded_macs);
  if (a->paper) put_bytes(w, "paper_bytes", a->paper->groups[g].peak_bytes);
  mafat_json_end(w, "}");
}

static void put_costs(const struct mafat_query *q, const struct mafat_answer *a, struct mafat_writer *w)
{
  const struct mafat_layout *l = a->choice.layout;
  const struct mafat_latency *t = &a->choice.latency;
  mafat_json_count(w, "macs", (int64_t)l->macs);
  mafat_json_count(w, "redundant_macs", (int64_t)l->redundant_macs);
  mafat_json_count(w, "padded_macs", (int64_t)l->padded_macs);
  mafat_json_count(w, "weights_read_bytes", (int64_t)l->bytes_read);
  mafat_json_number(w, "predicted_latency_ms", t->total_ms);
  mafat_json_number(w, "predicted_compute_ms", t->compute_ms);
  mafat_json_number(w, "predicted_reading_ms", t->reading_ms);
  put_bool(w, "calibrated", q->basis.calibration.measured);
  if (!a->paper) return;
  put_bytes(w, "paper_bytes", a->paper->bytes);
  put_bytes(w, "paper_bias_bytes", q->request.bias_bytes);
}

int mafat_query_write_json(const struct mafat_query *q, const struct mafat_answer *a, struct mafat_writer *w)
{
  mafat_json_begin(w, "{");
  put_question(q, a, w);
  mafat_json_string(w, "plan", a->choice.text);
  mafat_json_string(w, "algorithm", mafat_algorithm_name(a->choice.algorithm));
  put_bool(w, "fits", a->choice.fits);
  put_bytes(w, "memory_budget_bytes", a->budget_bytes);
  mafat_json_string(w, "budget_source", q->request.budget_source);
  put_bytes(w, "predicted_charge_bytes", a->choice.prediction.charge_bytes);
  put_bytes(w, "predicted_resident_bytes", a->choice.prediction.resident_bytes);
  put_bytes(w, "arena_bytes", a->choice.layout->total_bytes);
  put_bytes(w, "least_charge_bytes", a->least->charge_bytes);
  mafat_json_string(w, "least_plan", a->least->text);
  mafat_json_number(w, "least_latency_ms", a->least->ms);
  put_breakdown(a, w);
  put_peak(q, a, w);
  mafat_json_key(w, "groups");
  mafat_json_begin(w, "[");
  for (int g = 0; g < a->choice.plan->n_groups; g++) put_group(a, g, w);
  mafat_json_end(w, "]");
  put_costs(q, a, w);
  return mafat_json_finish_line(w);
}
