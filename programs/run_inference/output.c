/* Writes results as text and JSON. Called by the files of programs/run_inference that print results
 * and reports, by programs/mafat_serve/work.c and by programs/mafat_ranks/pipeline.c. Writes only
 * to the caller's writer. */
#include "programs/run_inference/output.h"

#include "base/mebibytes.h"
#include "programs/run_inference/transfers.h"
#include "programs/run_inference/picture_facts.h"
#include "programs/run_inference/ports.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void json_network(struct mafat_writer *w, const struct mafat_run_report *r)
{
  mafat_json_key(w, "network");
  mafat_json_begin(w, "{");
  mafat_json_count(w, "width", r->network_w);
  mafat_json_count(w, "height", r->network_h);
  mafat_json_count(w, "layers", r->n_layers);
  mafat_json_string(w, "fork", r->fork);
  mafat_json_string(w, "decode", r->decode);
  mafat_json_end(w, "}");
}

static void json_latencies(struct mafat_writer *w, const struct mafat_run_report *r)
{
  mafat_json_key(w, "latencies_ms");
  mafat_json_begin(w, "[");
  for (int i = 0; i < r->n_latencies; i++) {
    mafat_json_separate(w);
    mafat_json_put_number(w, r->latencies_ms[i]);
  }
  mafat_json_end(w, "]");
}

static void json_class(struct mafat_writer *w, const struct mafat_names *names, int class,
                       float confidence)
{
  char capacity[MAFAT_NAMES_ROOM];
  mafat_json_string(w, "label", mafat_names_label(names, class, capacity));
  mafat_json_count(w, "class", class);
  mafat_json_number(w, "confidence", (double)confidence);
}

/* Keypoints of a box; NULL: none. */
static const float *points_of(const struct mafat_detections *d, size_t index)
{
  return d->points ? d->points + index * 2 * (size_t)d->n_points : NULL;
}

static void json_points(struct mafat_writer *w, const float *points, int n)
{
  mafat_json_key(w, "keypoints");
  mafat_json_begin(w, "[");
  for (int i = 0; i < n; i++) {
    mafat_json_separate(w);
    mafat_json_begin(w, "{");
    mafat_json_number(w, "x", (double)points[2 * i]);
    mafat_json_number(w, "y", (double)points[2 * i + 1]);
    mafat_json_end(w, "}");
  }
  mafat_json_end(w, "]");
}

static void json_detection(struct mafat_writer *w, const struct mafat_run_report *r, size_t index)
{
  const struct mafat_detection *d = &r->detections->list[index];
  const float *points = points_of(r->detections, index);
  mafat_json_separate(w);
  mafat_json_begin(w, "{");
  json_class(w, r->names, d->class_id, d->confidence);
  mafat_json_key(w, "box");
  mafat_json_begin(w, "{");
  mafat_json_number(w, "x", (double)d->x);
  mafat_json_number(w, "y", (double)d->y);
  mafat_json_number(w, "width", (double)d->w);
  mafat_json_number(w, "height", (double)d->h);
  mafat_json_end(w, "}");
  if (points) json_points(w, points, r->detections->n_points);
  mafat_json_end(w, "}");
}

static void json_detections(struct mafat_writer *w, const struct mafat_run_report *r)
{
  mafat_json_key(w, "detections");
  mafat_json_begin(w, "[");
  for (size_t i = 0; r->detections && i < r->detections->n; i++)
    json_detection(w, r, i);
  mafat_json_end(w, "]");
}

static void json_classes(struct mafat_writer *w, const struct mafat_run_report *r)
{
  mafat_json_key(w, "classes");
  mafat_json_begin(w, "[");
  for (int i = 0; i < r->n_classes; i++) {
    mafat_json_separate(w);
    mafat_json_begin(w, "{");
    json_class(w, r->names, r->classes[i].class_id, r->classes[i].confidence);
    mafat_json_end(w, "}");
  }
  mafat_json_end(w, "]");
}

/* ---- Reports ---- */

void mafat_run_report_defaults(struct mafat_run_report *r)
{
  *r = (struct mafat_run_report){.network_w = -1,
                                 .network_h = -1,
                                 .n_layers = -1,
                                 .threads = -1,
                                 .memory_budget_bytes = -1,
                                 .arena_bytes = -1,
                                 .predicted_charge_bytes = -1,
                                 .predicted_resident_bytes = -1,
                                 .reserve_bytes = -1,
                                 .measured_resident_bytes = -1,
                                 .vm_hwm_bytes = -1,
                                 .load_ms = NAN,
                                 .image_ms = NAN,
                                 .layers_ms = NAN,
                                 .latency_ms = NAN,
                                 .total_ms = NAN,
                                 .swap_in_bytes = -1,
                                 .swap_out_bytes = -1,
                                 .major_faults = -1,
                                 .weights_read_bytes = -1,
                                 .locked_bytes = -1,
                                 .stall_some_us = -1,
                                 .stall_full_us = -1};
}

void mafat_output_found_json(const struct mafat_run_report *r, struct mafat_writer *w)
{
  json_detections(w, r);
  if (r->kind == MAFAT_MODEL_DETECTOR)
    mafat_json_count(w, "boxes_left_out", r->detections ? (int64_t)r->detections->left_out : -1);
  if (r->kind == MAFAT_MODEL_CLASSIFIER) json_classes(w, r);
}

static void json_plan(struct mafat_writer *w, const struct mafat_run_report *r)
{
  mafat_json_string(w, "plan", r->plan);
  mafat_json_string(w, "algorithm", r->algorithm);
  mafat_json_count(w, "threads", r->threads);
  mafat_json_string(w, "cpu", r->cpu);
  mafat_json_count(w, "memory_budget_bytes", r->memory_budget_bytes);
  mafat_json_count(w, "arena_bytes", r->arena_bytes);
  mafat_json_count(w, "predicted_charge_bytes", r->predicted_charge_bytes);
  mafat_json_count(w, "predicted_resident_bytes", r->predicted_resident_bytes);
  mafat_json_count(w, "reserve_bytes", r->reserve_bytes);
  mafat_json_count(w, "measured_resident_bytes", r->measured_resident_bytes);
  mafat_json_count(w, "vm_hwm_bytes", r->vm_hwm_bytes);
}

static void json_system(struct mafat_writer *w, const struct mafat_run_report *r)
{
  mafat_json_count(w, "swap_in_bytes", r->swap_in_bytes);
  mafat_json_count(w, "swap_out_bytes", r->swap_out_bytes);
  mafat_json_string(w, "swap_scope", r->swap_scope);
  mafat_json_count(w, "major_faults", r->major_faults);
  mafat_json_count(w, "weights_read_bytes", r->weights_read_bytes);
  mafat_json_string(w, "lock", r->lock);
  mafat_json_string(w, "lock_reason", r->lock_reason);
  mafat_json_count(w, "locked_bytes", r->locked_bytes);
  mafat_json_string(w, "sandbox", r->sandbox);
}

int mafat_output_run_json(const struct mafat_run_report *r, struct mafat_writer *w)
{
  mafat_json_begin(w, "{");
  mafat_json_string(w, "image", r->image);
  json_network(w, r);
  if (r->model) mafat_ports_json(r->model, NULL, w);
  if (r->model) mafat_picture_json(&r->picture, w);
  json_plan(w, r);
  mafat_json_number(w, "load_ms", r->load_ms);
  mafat_json_number(w, "image_ms", r->image_ms);
  mafat_json_number(w, "layers_ms", r->layers_ms);
  mafat_json_number(w, "latency_ms", r->latency_ms);
  json_latencies(w, r);
  mafat_json_number(w, "total_ms", r->total_ms);
  json_system(w, r);
  mafat_json_count(w, "stall_some_us", r->stall_some_us);
  mafat_json_count(w, "stall_full_us", r->stall_full_us);
  mafat_json_string(w, "stall_scope", r->stall_scope);
  if (r->transfers) mafat_transfer_report_write_json(r->transfers, r->fast_bytes, r->objective, w);
  mafat_output_found_json(r, w);
  return mafat_json_finish_line(w);
}

int mafat_output_error_json(const char *image, const char *message, int exit_code,
                            struct mafat_writer *w)
{
  mafat_json_begin(w, "{");
  mafat_json_string(w, "image", image);
  mafat_json_string(w, "error", message);
  mafat_json_count(w, "exit_code", exit_code);
  return mafat_json_finish_line(w);
}

int mafat_output_frame_json(const struct mafat_run_report *r, const struct mafat_frame_report *f,
                            struct mafat_writer *w)
{
  mafat_json_begin(w, "{");
  mafat_json_count(w, "frame", f->frame);
  mafat_json_count(w, "dropped", f->dropped);
  mafat_json_number(w, "wait_ms", f->wait_ms);
  mafat_json_number(w, "image_ms", r->image_ms);
  mafat_json_number(w, "layers_ms", r->layers_ms);
  mafat_json_number(w, "latency_ms", f->latency_ms);
  json_detections(w, r);
  if (r->kind == MAFAT_MODEL_CLASSIFIER) json_classes(w, r);
  return mafat_json_finish_line(w);
}

int mafat_output_frame_error_json(long long frame, const char *message, int exit_code,
                                  struct mafat_writer *w)
{
  mafat_json_begin(w, "{");
  mafat_json_count(w, "frame", frame);
  mafat_json_string(w, "error", message);
  mafat_json_count(w, "exit_code", exit_code);
  return mafat_json_finish_line(w);
}

int mafat_output_video_json(const struct mafat_run_report *r, const struct mafat_video_report *v,
                            struct mafat_writer *w)
{
  mafat_json_begin(w, "{");
  mafat_json_string(w, "video", v->frames);
  mafat_json_count(w, "frames", v->n);
  mafat_json_count(w, "dropped", v->dropped);
  mafat_json_count(w, "failed", v->failed);
  mafat_json_number(w, "seconds", v->seconds);
  mafat_json_number(w, "frame_ms", v->frame_ms);
  json_plan(w, r);
  mafat_json_number(w, "load_ms", r->load_ms);
  json_system(w, r);
  return mafat_json_finish_line(w);
}

const char *mafat_output_resident(const struct mafat_run_report *r,
                                  char text[MAFAT_OUTPUT_RESIDENT])
{
  if (r->measured_resident_bytes < 0) return "unknown";
  snprintf(text, MAFAT_OUTPUT_RESIDENT, "%.1f MiB",
           mafat_mebibytes((size_t)r->measured_resident_bytes));
  return text;
}

/* ", memory 6.2 of 64.0 MiB" */
static void text_memory(struct mafat_writer *w, const struct mafat_run_report *r)
{
  if (r->measured_resident_bytes < 0) return;
  mafat_writer_put(w, ", memory ");
  mafat_writer_put_fixed(w, mafat_mebibytes((size_t)r->measured_resident_bytes), 1);
  if (r->memory_budget_bytes >= 0) {
    mafat_writer_put(w, " of ");
    mafat_writer_put_fixed(w, mafat_mebibytes((size_t)r->memory_budget_bytes), 1);
  }
  mafat_writer_put(w, " MiB");
}

static void text_heading(struct mafat_writer *w, const struct mafat_run_report *r)
{
  size_t n = r->detections ? r->detections->n : 0;
  mafat_writer_put_plain(w, r->image ? r->image : "input");
  mafat_writer_put(w, ": ");
  if (r->kind == MAFAT_MODEL_DETECTOR) {
    mafat_writer_put_integer(w, (int64_t)n);
    mafat_writer_put(w, n == 1 ? " detection" : " detections");
  } else {
    mafat_writer_put(w, r->kind == MAFAT_MODEL_CLASSIFIER ? "classified" : "run");
  }
  if (isfinite(r->latency_ms)) {
    mafat_writer_put(w, " in ");
    mafat_writer_put_fixed(w, r->latency_ms, 1);
    mafat_writer_put(w, " ms");
  }
  text_memory(w, r);
  mafat_writer_put(w, "\n");
}

static void text_label(struct mafat_writer *w, const struct mafat_names *names, int class,
                       float confidence, int decimals)
{
  char capacity[MAFAT_NAMES_ROOM];
  mafat_writer_put(w, "  ");
  mafat_writer_put_plain(w, mafat_names_label(names, class, capacity));
  mafat_writer_put(w, " ");
  mafat_writer_put_fixed(w, (double)confidence * 100, decimals);
  mafat_writer_put(w, " %");
}

/* Writes a rounded coordinate; adding zero turns -0 into 0. */
static void text_pixels(struct mafat_writer *w, float value)
{
  mafat_writer_put_fixed(w, round((double)value) + 0., 0);
}

static void text_point(struct mafat_writer *w, float x, float y)
{
  mafat_writer_put(w, "(");
  text_pixels(w, x);
  mafat_writer_put(w, ", ");
  text_pixels(w, y);
  mafat_writer_put(w, ")");
}

static void text_detection(struct mafat_writer *w, const struct mafat_run_report *r, size_t index)
{
  const struct mafat_detection *d = &r->detections->list[index];
  const float *points = points_of(r->detections, index);
  text_label(w, r->names, d->class_id, d->confidence, 0);
  mafat_writer_put(w, "  ");
  text_point(w, d->x, d->y);
  mafat_writer_put(w, " ");
  text_pixels(w, d->w);
  mafat_writer_put(w, " x ");
  text_pixels(w, d->h);
  for (int i = 0; points && i < r->detections->n_points; i++) {
    mafat_writer_put(w, i ? " " : "  ");
    text_point(w, points[2 * i], points[2 * i + 1]);
  }
  mafat_writer_put(w, "\n");
}

int mafat_output_run_text(const struct mafat_run_report *r, struct mafat_writer *w)
{
  text_heading(w, r);
  for (size_t i = 0; r->detections && i < r->detections->n; i++)
    text_detection(w, r, i);
  for (int i = 0; i < r->n_classes && r->kind == MAFAT_MODEL_CLASSIFIER; i++) {
    text_label(w, r->names, r->classes[i].class_id, r->classes[i].confidence, 1);
    mafat_writer_put(w, "\n");
  }
  return mafat_writer_flush(w, NULL);
}

void mafat_output_describe_peak(const struct mafat_plan_facts *p, const char *type, char *text,
                                size_t capacity)
{
  if (type) snprintf(text, capacity, "%s of layer %d [%s]", p->peak_name, p->peak_layer, type);
  else snprintf(text, capacity, "%s", p->peak_name);
}

double mafat_output_arena_excess(const struct mafat_plan_facts *p)
{
  return p->arena_bound_bytes ? 100 * ((double)p->arena_bytes / (double)p->arena_bound_bytes - 1)
                              : 0;
}

/* ---- The table ---- */

enum { LAYERS_WIDTH = 11, WHAT_WIDTH = 36, MS_WIDTH = 10, COUNT_WIDTH = 15, RATE_WIDTH = 8 };

static void put_cell(struct mafat_writer *w, int64_t value, int width)
{
  char capacity[MAFAT_NUMBER_ROOM];
  mafat_writer_put_right(w, value < 0 ? "-" : mafat_format_integer(capacity, value), width);
}

/* Writes the name column. Layers are indented by one step below their group. */
static void table_name(struct mafat_writer *w, const struct mafat_report_row *row)
{
  char layers[48];
  const char *what = row->what ? row->what : "";
  if (row->kind == MAFAT_ROW_TOTAL)
    snprintf(layers, sizeof layers, "total");
  else if (row->first == row->last)
    snprintf(layers, sizeof layers, "%s%d", row->kind == MAFAT_ROW_LAYER ? "  " : "", row->first);
  else
    snprintf(layers, sizeof layers, "%d-%d", row->first, row->last);
  mafat_writer_put(w, layers);
  mafat_writer_put_spaces(w, LAYERS_WIDTH - (int)strlen(layers));
  mafat_writer_put(w, " ");
  mafat_writer_put_plain(w, what);
  /* `what` is ASCII text of this program. If it is too wide, the rest of the row moves right. */
  mafat_writer_put_spaces(w, WHAT_WIDTH - (int)strnlen(what, WHAT_WIDTH));
}

static void table_row(struct mafat_writer *w, const struct mafat_report_row *row)
{
  char capacity[MAFAT_NUMBER_ROOM];
  bool has_rate = row->macs > 0 && row->ms > 0; /* false for a NaN */
  table_name(w, row);
  mafat_writer_put_right(w, mafat_format_fixed(capacity, row->ms, 3), MS_WIDTH);
  mafat_writer_put(w, " ");
  put_cell(w, row->macs, COUNT_WIDTH);
  mafat_writer_put(w, " ");
  mafat_writer_put_right(
      w, has_rate ? mafat_format_fixed(capacity, (double)row->macs / (row->ms * 1e6), 2) : "-",
      RATE_WIDTH);
  mafat_writer_put(w, " ");
  put_cell(w, row->bytes, COUNT_WIDTH);
  mafat_writer_put(w, "\n");
}

int mafat_output_table(const struct mafat_report_row *rows, size_t n, struct mafat_writer *w)
{
  mafat_writer_put(w, "layers");
  mafat_writer_put_spaces(w, LAYERS_WIDTH + 1 - (int)strlen("layers") + WHAT_WIDTH);
  mafat_writer_put_right(w, "ms", MS_WIDTH);
  mafat_writer_put_right(w, "MACs", COUNT_WIDTH + 1);
  mafat_writer_put_right(w, "GMAC/s", RATE_WIDTH + 1);
  mafat_writer_put_right(w, "bytes", COUNT_WIDTH + 1);
  mafat_writer_put(w, "\n");
  for (size_t i = 0; i < n; i++) table_row(w, &rows[i]);
  return mafat_writer_flush(w, NULL);
}

/* ---- Lines below the table ---- */

static void put_bytes(struct mafat_writer *w, const char *what, int64_t bytes)
{
  mafat_writer_put(w, what);
  mafat_writer_put_integer(w, bytes);
  mafat_writer_put(w, " bytes");
}

static void put_us(struct mafat_writer *w, int64_t us, const char *who)
{
  mafat_writer_put_fixed(w, (double)us / 1e3, 1);
  mafat_writer_put(w, who);
}

int mafat_output_memory(const struct mafat_run_report *r, struct mafat_writer *w)
{
  if (r->picture.channels) {
    mafat_writer_put(w, "picture: ");
    mafat_picture_text(&r->picture, w);
  }
  put_bytes(w, "reserve: ", r->reserve_bytes);
  put_bytes(w, "; locked: ", r->locked_bytes);
  if (r->lock_reason) {
    mafat_writer_put(w, " (");
    mafat_writer_put(w, r->lock_reason);
    mafat_writer_put(w, ")");
  }
  if (r->sandbox) {
    mafat_writer_put(w, "; sandbox: ");
    mafat_writer_put(w, r->sandbox);
  }
  if (r->stall_scope) {
    mafat_writer_put(w, "; waited for memory (");
    mafat_writer_put(w, r->stall_scope);
    mafat_writer_put(w, "): ");
    put_us(w, r->stall_some_us, " ms some, ");
    put_us(w, r->stall_full_us, " ms all");
  }
  mafat_writer_put(w, "\n");
  return mafat_writer_flush(w, NULL);
}
