/* Writes results of a run: text, JSON and a table of times.
 *
 * Functions that return an int write whole lines and flush. They return MAFAT_OK, or MAFAT_EIO if a
 * write failed, now or earlier (mafat_writer_flush has the reason). All output goes to the given
 * writer. Included by programs/mafat_ranks/pipeline.c, programs/mafat_serve/work.c and
 * programs/run_inference. */
#ifndef MAFAT_PROGRAM_OUTPUT_H
#define MAFAT_PROGRAM_OUTPUT_H

#include <stdint.h>

#include "include/mafat_plan.h"
#include "programs/run_inference/names.h"
#include "programs/shared/writer.h"

/* One inference, with the fields of --json. Unknown bytes and counts are negative, unknown
 * milliseconds NaN, unknown strings NULL; JSON has null for them. mafat_run_report_defaults() sets
 * all to unknown. Pointers belong to the caller. */
struct mafat_run_report {
  const char *image;
  int network_w, network_h; /* of the network's input */
  const char *fork;         /* as in mafat_model_facts, like the next three */
  const char *fork_sign;
  const char *decode;
  const char *decode_sign;
  int n_layers;             /* number of layers that were run */
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
  const char *sandbox;            /* "seccomp, Landlock 7", or why there is none */
  const char *stall_scope;        /* "cgroup" or "system" */
  int64_t stall_some_us,
      stall_full_us; /* time that some, or all, tasks of that scope waited for memory */

  struct mafat_picture_facts picture; /* conversion of the picture; channels NULL: no picture */
  const struct mafat_model *model; /* model whose inputs and outputs are reported; NULL: none */
  enum mafat_model_kind kind;
  const struct mafat_detections *detections; /* NULL: none */
  const struct mafat_class_score *classes;   /* (n_classes), of a classifier */
  int n_classes;
  const struct mafat_names *names;           /* NULL: "class 17" */
  const struct mafat_transfer_report
      *transfers; /* bytes between a fast memory of fast_bytes and the rest; NULL: not asked for */
  size_t fast_bytes;
  const char *objective;     /* by which the plan was chosen, or NULL */
};

void mafat_run_report_defaults(struct mafat_run_report *r);

/* Writes {"image":...}, one object on one line. All kinds of runs have "detections"; only
 * classifiers have "classes" [{label, class, confidence}]. */
int mafat_output_run_json(const struct mafat_run_report *r, struct mafat_writer *w);

/* Writes the results as members of an open object: "detections", "boxes_left_out", "classes". */
void mafat_output_found_json(const struct mafat_run_report *r, struct mafat_writer *w);

/* Writes text:
 * dog.jpg: 3 detections in 12.3 ms, memory 6.2 of 64.0 MiB
 *   dog 94 %  (131, 221) 183 x 319        (left, top) width x height, then keypoints, if any
 * cat.jpg: classified in 12.3 ms, memory 6.2 of 64.0 MiB
 *   tabby 47.1 % */
int mafat_output_run_text(const struct mafat_run_report *r, struct mafat_writer *w);

/* Report of a frame of video: {"frame":12,"dropped":0,...}, with detections and classes as
 * above. */
struct mafat_frame_report {
  long long frame;     /* its number among the frames that were run, from 0 */
  long long dropped;   /* frames skipped before this one because runs were too slow */
  double wait_ms;      /* time that the program waited for it */
  double latency_ms;   /* time from its arrival until its results are known */
};
int mafat_output_frame_json(const struct mafat_run_report *r, const struct mafat_frame_report *f,
                            struct mafat_writer *w);
/* Writes {"frame":12,"error":...,"exit_code":2} for a frame that failed. */
int mafat_output_frame_error_json(long long frame, const char *message, int exit_code,
                                  struct mafat_writer *w);

/* Report of all frames, at the end. */
struct mafat_video_report {
  const char *frames;  /* their format */
  long long n, dropped, failed; /* numbers of frames: run, skipped, failed */
  double seconds;      /* from the first frame's arrival to the end of the last frame's run */
  double frame_ms;     /* mean time of a frame, without waiting for it */
};
int mafat_output_video_json(const struct mafat_run_report *r, const struct mafat_video_report *v,
                            struct mafat_writer *w);

/* Writes {"image":..., "error":..., "exit_code":2} for an image that failed. */
int mafat_output_error_json(const char *image, const char *message, int exit_code,
                            struct mafat_writer *w);

/* Writes into text what is largest at the peak: "activations of layer 16 [convolutional]" or
 * "input". type: type of its layer; NULL: it belongs to no layer. */
void mafat_output_describe_peak(const struct mafat_plan_facts *p, const char *type, char *text,
                                size_t capacity);

enum { MAFAT_OUTPUT_RESIDENT = 32 };
/* "6.2 MiB", or "unknown". Returns text or a constant. */
const char *mafat_output_resident(const struct mafat_run_report *r,
                                  char text[MAFAT_OUTPUT_RESIDENT]);

/* Percentage by which the arena is larger than the largest sum of live buffers. */
double mafat_output_arena_excess(const struct mafat_plan_facts *p);

enum mafat_row_kind { MAFAT_ROW_GROUP, MAFAT_ROW_LAYER, MAFAT_ROW_TOTAL };

/* A line of the table of --report. Negative or NaN: unknown, printed as "-". */
struct mafat_report_row {
  enum mafat_row_kind kind;
  int first, last;  /* first and last layer; equal in a layer's row */
  const char *what; /* "convolutional 3x3", "5x5 tiles" */
  double ms;
  int64_t macs;     /* with those that are computed again */
  int64_t bytes;    /* layer: bytes of its buffers; group: peak of its live bytes */
};

/* Writes the table: a heading, and the rows in the caller's order. */
int mafat_output_table(const struct mafat_report_row *rows, size_t n, struct mafat_writer *w);
/* Writes the lines below the table: reserve, locked memory, waits for memory. */
int mafat_output_memory(const struct mafat_run_report *r, struct mafat_writer *w);

#endif
