/* Writes results of a run: text, JSON and a table of times.
 *
 * Every mafat_output_* writes whole lines and flushes. It returns MAFAT_EIO if a write fails, now
 * or earlier (the reason: mafat_writer_flush). Nothing here prints on its own. Included by
 * programs/mafat_ranks/pipeline.c, programs/mafat_serve/work.c and programs/run_inference. */
#ifndef MAFAT_PROGRAM_OUTPUT_H
#define MAFAT_PROGRAM_OUTPUT_H

#include <stdint.h>

#include "include/mafat_plan.h"
#include "programs/run_inference/names.h"
#include "programs/shared/writer.h"

/* One inference, in the fields of --json. Numbers that are not known
 * are negative (bytes, counts) or NaN (milliseconds), strings NULL: JSON says
 * null. mafat_run_report_defaults() makes all of them so. Points to the
 * caller's; owns nothing. */
struct mafat_run_report {
  const char *image;
  int network_w, network_h; /* of the network's input */
  const char *fork;         /* whose Darknet it is of */
  const char *fork_sign;    /* by what of the cfg; for standard error */
  const char *decode;       /* how its outputs are */
  const char *decode_sign;  /* by which dimensions; for standard error */
  int n_layers;             /* that were run */
  const char *plan, *algorithm, *cpu;
  int threads;
  int64_t memory_budget_bytes, arena_bytes;
  int64_t predicted_charge_bytes, predicted_resident_bytes, reserve_bytes;
  int64_t measured_resident_bytes; /* smaps_rollup's Rss while the arena is touched */
  int64_t vm_hwm_bytes;
  double load_ms, image_ms, layers_ms;
  double latency_ms;         /* image_ms + layers_ms; median when repeated */
  const double *latencies_ms; /* (n_latencies) */
  int n_latencies;
  double total_ms;           /* process start to detections */
  int64_t swap_in_bytes, swap_out_bytes;
  const char *swap_scope;    /* "cgroup" or "system" */
  int64_t major_faults, weights_read_bytes;
  const char *lock, *lock_reason; /* of arena and kept weights: "on", "off", and why not */
  int64_t locked_bytes;
  const char *sandbox;            /* what confines the process, or why nothing does */
  const char *stall_scope;        /* "cgroup" or "system" */
  int64_t stall_some_us,
      stall_full_us; /* that it, or all of it, waited for memory, in all inferences */

  struct mafat_picture_facts picture; /* how it became the input; channels NULL: there was none */
  const struct mafat_model *model; /* model whose inputs and outputs are reported; NULL: none */
  enum mafat_model_kind kind;
  const struct mafat_detections *detections; /* NULL: none */
  const struct mafat_class_score *classes;   /* (n_classes), of a classifier */
  int n_classes;
  const struct mafat_names *names;           /* NULL: "class 17" */
  const struct mafat_transfer_report
      *transfers; /* bytes between a fast memory of fast_bytes and the rest; NULL: nobody asked */
  size_t fast_bytes;
  const char *objective;     /* by which the plan was chosen, or NULL */
};

void mafat_run_report_defaults(struct mafat_run_report *r);

/* {"image":...}: one object on one line. "detections" is there for every kind of
 * run, "classes" [{label, class, confidence}] for classifiers only. */
int mafat_output_run_json(const struct mafat_run_report *r, struct mafat_writer *w);

/* Writes the results as members of an open object: "detections", "boxes_left_out", "classes". */
void mafat_output_found_json(const struct mafat_run_report *r, struct mafat_writer *w);

/* dog.jpg: 3 detections in 12.3 ms, memory 6.2 of 64.0 MiB
 *   dog 94 %  (131, 221) 183 x 319        left, top, width x height; behind it keypoints, if any
 * cat.jpg: classified in 12.3 ms, memory 6.2 of 64.0 MiB
 *   tabby 47.1 % */
int mafat_output_run_text(const struct mafat_run_report *r, struct mafat_writer *w);

/* Report of a frame of video: {"frame":12,"dropped":0,...}, with detections and classes as
 * above. */
struct mafat_frame_report {
  long long frame;     /* its number, from 0 on, of those that were run */
  long long dropped;   /* between it and the one before: they came too late */
  double wait_ms;      /* until it was there */
  double latency_ms;   /* from then on, until all is known of it */
};
int mafat_output_frame_json(const struct mafat_run_report *r, const struct mafat_frame_report *f,
                            struct mafat_writer *w);
/* {"frame":12,"error":...,"exit_code":2} */
int mafat_output_frame_error_json(long long frame, const char *message, int exit_code,
                                  struct mafat_writer *w);

/* Report of all frames, at the end. */
struct mafat_video_report {
  const char *frames;  /* what they are */
  long long n, dropped, failed;
  double seconds;      /* from the first one's arrival to the last one's end */
  double frame_ms;     /* of one, without waiting for it: mean */
};
int mafat_output_video_json(const struct mafat_run_report *r, const struct mafat_video_report *v,
                            struct mafat_writer *w);

/* {"image":..., "error":..., "exit_code":2} for an image that failed. */
int mafat_output_error_json(const char *image, const char *message, int exit_code,
                            struct mafat_writer *w);

/* "activations of layer 16 [convolutional]", "input": the largest thing at the peak. `type`: of
 * its layer; NULL: it is no layer's. */
void mafat_output_describe_peak(const struct mafat_plan_facts *p, const char *type, char *text,
                                size_t capacity);

enum { MAFAT_OUTPUT_RESIDENT = 32 };
/* "6.2 MiB", or "unknown". Returns text or a constant. */
const char *mafat_output_resident(const struct mafat_run_report *r,
                                  char text[MAFAT_OUTPUT_RESIDENT]);

/* The arena beyond the largest sum of live buffers, percent. */
double mafat_output_arena_excess(const struct mafat_plan_facts *p);

enum mafat_row_kind { MAFAT_ROW_GROUP, MAFAT_ROW_LAYER, MAFAT_ROW_TOTAL };

/* A line of --report. Unknown: negative, NaN; shown as "-". */
struct mafat_report_row {
  enum mafat_row_kind kind;
  int first, last;  /* layers, both included; a layer's row has one of them */
  const char *what; /* "convolutional 3x3", "5x5 tiles" */
  double ms;
  int64_t macs;     /* with what is computed again */
  int64_t bytes;    /* of a layer: its buffers; of a group: their peak */
};

/* Rows in the caller's order, with a heading. */
int mafat_output_table(const struct mafat_report_row *rows, size_t n, struct mafat_writer *w);
/* Below it: the reserve, what is locked, what was waited for. */
int mafat_output_memory(const struct mafat_run_report *r, struct mafat_writer *w);

#endif
