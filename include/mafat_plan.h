/* Plans: predicts memory and time of an opened model, or of one that is not opened (dry run). Also
 * describes the layers of a model, reads their outputs, and calibrates: measures the machine for
 * predictions.
 *
 * Milliseconds are elapsed time, MACs are multiply-adds. Sizes, defaults, errors and ownership are
 * described in mafat.h. */
#ifndef MAFAT_PLAN_H
#define MAFAT_PLAN_H

#include "mafat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- plan facts ---- */

/* Predicted bytes. The parts, `process` to `rest`, are those at the moment when the layers need the
 * most, and add up to charge_bytes. */
struct mafat_memory_facts {
  size_t process;     /* program and libraries, heap, stack: resident with any plan */
  size_t threads;     /* stacks of the computing threads, without the caller's */
  size_t weights;     /* kept weights, and loaded ones at the peak */
  size_t activations;
  size_t input;
  size_t scratch;
  size_t io;          /* buffers of streamed weights; page cache of the picture's file */
  size_t image;       /* the picture's decoder, or the read buffer of raw floats */
  bool image_before;  /* the decoder ends before the layers run: `image` is not part of the sum */
  size_t kernel;      /* kernel memory of the process */
  size_t rest;        /* gaps in the arena, rounding, batched charges of the kernel, the reserve */
  size_t resident_bytes; /* upper bound of the process' resident memory while layers run */
  size_t charge_bytes;   /* upper bound of its memory cgroup's charge; compared with budgets */
};

struct mafat_plan_facts {
  size_t size;
  const char *text;      /* as in mafat_model_options.plan */
  const char *algorithm; /* of convolutions, unless the text names another one */
  int threads;           /* computing threads */
  int n_layers, n_groups;
  bool fits;             /* memory.charge_bytes is within the budget */
  struct mafat_memory_facts memory;
  size_t arena_bytes;       /* the single mapping of everything except kept weights */
  size_t arena_bound_bytes; /* peak of live bytes in the arena: a lower bound of its size */
  const char *peak_name;    /* largest part at the peak: "activations", "scratch", "input",
                               "kept weights", "weights", "io" */
  int peak_layer;           /* layer of that part; -1: none */
  size_t peak_bytes;
  uint64_t macs;            /* those of direct convolution, whatever the algorithm */
  uint64_t redundant_macs;  /* part of macs that is recomputed where tiles overlap */
  uint64_t padded_macs;     /* multiply-adds that the kernels do: including padding, less those that
                               Winograd saves */
  uint64_t weights_read_bytes; /* read from the file in each run; 0: all weights are kept */
  double latency_ms; /* predicted, for all layers; without opening and without decoding a picture */
  double compute_ms;        /* part of latency_ms spent in kernels */
  double reading_ms;        /* time to read the weights alone; most of it overlaps with computing */
  bool calibrated; /* predicted with this machine's calibration; else with built-in figures */
  size_t raw_charge_bytes; /* only in a dry run with an assumed picture: charge_bytes if the input
                              were read from a file of raw values; else 0 */
};

/* Layers that run together. */
struct mafat_group_facts {
  size_t size;
  int first, last;       /* first and last layer, both included */
  char cut[256]; /* as in the plan's text: "rows4", "5x5:balanced"; without weight placement */
  int rows;              /* if it runs by rows, minimum height of its rolling windows; else 0 */
  bool panels;           /* it computes whole maps, one panel of filters after the other */
  int tile_rows, tile_cols; /* grid of tiles of its output; 1 x 1: it is not divided into tiles */
  const char *weights;   /* "kept", "loaded" (per run, while the group runs), "streamed" */
  size_t peak_bytes;     /* peak of live arena bytes while it runs */
  uint64_t macs, redundant_macs, padded_macs;
  size_t paper_bytes;    /* dry run only: prediction of Algorithm 1 without the bias; 0: none */
};

struct mafat_layer_facts {
  size_t size;
  const char *type;      /* the cfg's word: "convolutional" */
  int in_h, in_w, in_c, out_h, out_w, out_c;
  int kernel_size, stride, filters; /* 0 if the type has none */
  int group;             /* index of the group that runs it */
  int inside;            /* layer whose step also computes this one, so that this one has no map;
                            -1: none */
  const char *algorithm; /* convolutions: "direct", "winograd", "winograd-large"; else NULL */
  const char *weights;   /* placement: its group's, except for small and indivisible layers; NULL:
                            no weights */
  size_t weights_bytes;  /* in packed form */
  uint64_t macs;         /* of this layer, including redundant ones */
  uint64_t step_macs;    /* of this layer and the layers fused into it; 0 for a fused layer */
  size_t arena_bytes;    /* size of its outputs and scratch in the arena */
  double ms;             /* time of its step in the last run; 0: no run, or a dry run */
  /* index of its step in the execution order; if the layer runs in parts, of the first part's step.
   * In the memory map (mafat_buffer_facts) the step has time 2 * position + 1; the Winograd
   * transform of its input, if separate, has time 2 * position */
  int position;
};

/* ---- the plan of an opened model ---- */

/* Text of the plan in use. Valid until the model is closed. */
MAFAT_API const char *mafat_model_plan(const struct mafat_model *model);
/* Predicted bytes: upper bound of the charge of the process' memory cgroup. */
MAFAT_API size_t mafat_model_charge_bytes(const struct mafat_model *model);
/* Describes the plan. Memory is predicted with the decoder of the last picture. */
MAFAT_API int mafat_model_describe_plan(const struct mafat_model *model,
                                        struct mafat_plan_facts *facts);
/* Describe layer 0 to n_layers - 1, or group 0 to n_groups - 1. MAFAT_EINVAL: out of range; *facts
 * is unchanged. */
MAFAT_API int mafat_model_layer(const struct mafat_model *model, int layer,
                                struct mafat_layer_facts *facts);
MAFAT_API int mafat_model_group(const struct mafat_model *model, int group,
                                struct mafat_group_facts *facts);

/* ---- layers ---- */

/* Counts the layers of a cfg: *all of them, and *known, those before the first one that this
 * library does not support, which *why names. Returns MAFAT_EFORMAT, MAFAT_EIO or
 * MAFAT_EUNSUPPORTED ([net] itself) if the cfg cannot be read; *why has the reason. */
MAFAT_API int mafat_cfg_known_layers(const char *cfg_path, int *known, int *all,
                                     struct mafat_diagnostic *why);

/* The number of layers that run; the shapes of the input, of a layer's output and of the last
 * layer's output. MAFAT_EINVAL: no such layer. */
MAFAT_API int mafat_model_n_layers(const struct mafat_model *model);
MAFAT_API void mafat_model_input_shape(const struct mafat_model *model, int *h, int *w, int *c);
MAFAT_API int mafat_model_layer_shape(const struct mafat_model *model, int layer, int *h, int *w,
                                      int *c);
MAFAT_API void mafat_model_output_shape(const struct mafat_model *model, int *h, int *w, int *c);
/* Copies the output (c, h, w) of a layer that is readable after a run: the last layer, a head, or
 * one of the options' outputs. MAFAT_EINVAL: another layer, or no output to read (mafat.h). */
MAFAT_API int mafat_model_read_layer(const struct mafat_model *model, int layer, float *chw,
                                     struct mafat_diagnostic *d);
/* Copies row y of channel c, w floats, of a layer that mafat_model_read_layer can read. */
MAFAT_API int mafat_model_read_row(const struct mafat_model *model, int layer, int c, int y,
                                   float *row, struct mafat_diagnostic *d);

/* A step: a range of channels, rows and columns of a layer's output, ends excluded. A fused step is
 * reported for each of its layers. A layer may take several steps. */
struct mafat_step_facts {
  int layer;                 /* -1: rows of the input are read */
  int channel_begin, channel_end, row_begin, row_end, col_begin, col_end;
  double from_ms, to_ms;     /* on CLOCK_MONOTONIC */
};

/* Calls `ran` after every step of all later runs, on the thread that runs the model; the run's time
 * includes the calls. `ran` may call mafat_model_describe, _describe_plan, _layer and _group. NULL:
 * no calls. */
MAFAT_API void mafat_model_set_watch(struct mafat_model *model,
                                     void (*ran)(void *context,
                                                 const struct mafat_step_facts *step),
                                     void *context);

/* ---- measured memory ---- */

/* Memory of the process, and counters since its start; 0: not reported by the system. */
struct mafat_process_facts {
  size_t size;
  size_t resident_bytes; /* now, exact to the page */
  size_t peak_bytes;     /* peak so far; the kernel counts in batches, up to 0.2 MB off */
  uint64_t swap_in_bytes, swap_out_bytes; /* swapped by all processes of the system */
  uint64_t major_faults; /* page faults that needed a read */
};

MAFAT_API int mafat_process_measure(struct mafat_process_facts *facts);
/* Returns the default budget of a model that is opened now, in bytes. */
MAFAT_API size_t mafat_process_budget(void);

struct mafat_check {
  size_t size;
  /* the prediction holds: measured memory is not above it, and at most 2 % and 256 KB below it, or
   * further below for known reasons */
  bool holds;
  bool in_arena;         /* most of the difference is in the arena; false: in the process */
  size_t predicted_bytes, measured_bytes;
  size_t off_bytes;      /* measured minus predicted bytes of the part that in_arena names */
};

/* Compares measured with predicted memory. resident_bytes: from mafat_process_measure after a run,
 * before other memory is allocated. Predictions are for programs that open one model early. */
MAFAT_API int mafat_model_check(const struct mafat_model *model, size_t resident_bytes,
                                struct mafat_check *check);

/* ---- dry run ---- */

/* A network whose plans can be examined without reading weights. Not thread-safe. */
struct mafat_dry_run;

struct mafat_dry_run_facts {
  size_t size;
  int input_h, input_w, input_c, n_layers;
  const char *cpu;
  size_t budget_bytes;   /* SIZE_MAX: unknown */
  const char *budget_source; /* as in mafat_model_facts */
  bool packed;           /* the weights file is packed */
  bool weights_assumed;  /* no weights file was named; Darknet's format is assumed */
  bool floats_only;      /* set by the options, or because the channels are not a picture's */
  bool picture_assumed;  /* no picture was named; a baseline JPEG of 12 megapixels is assumed */
  bool plan_given;       /* the plan is given by the options, not searched for */
  bool greedy;           /* plans are found by the search "greedy", that of MAFAT */
  int threads;           /* from the options; MAFAT_THREADS_AUTO: chosen by the search */
  size_t bias_bytes;     /* constant that the predictor of the MAFAT paper adds */
  int n_front;           /* plans of mafat_dry_run_front; at least 1 */
  const char *fork, *fork_sign; /* as in mafat_model_facts */
  size_t reserve_bytes;  /* part of memory.rest */
  struct mafat_picture_facts picture;
  const char *decode, *decode_sign; /* as in mafat_model_facts */
  bool least;            /* plans are found by the search "least" */
  uint64_t n_weights;    /* number of weights that are multiplied: no biases, no normalization */
  const char *search;    /* its name; NULL: the plan is given */
  const char *searched;  /* its goal: "the best there is"; NULL if the plan is given */
  bool one_plan;         /* the search finds the same plan for every budget */
  int n_inputs, n_outputs;
};

/* Opens a dry run. weights_path: only its format is examined; NULL: Darknet's format is assumed, or
 * cfg_path holds the weights. If the options have no picture, the default one is assumed; but if
 * the input's channels are not those of a picture, floats are assumed. Fails as mafat_model_open
 * does, except that a plan may exceed the budget. *out is NULL after a failure. */
MAFAT_API int mafat_dry_run_open(struct mafat_dry_run **out, const char *cfg_path,
                               const char *weights_path, const struct mafat_model_options *options,
                               struct mafat_diagnostic *d);
MAFAT_API void mafat_dry_run_close(struct mafat_dry_run **dry_run);
MAFAT_API int mafat_dry_run_describe(const struct mafat_dry_run *dry_run,
                                   struct mafat_dry_run_facts *facts);
/* Ports: see the functions of the same name for a model (mafat.h). */
MAFAT_API int mafat_dry_run_describe_input(const struct mafat_dry_run *dry_run, int index,
                                         struct mafat_port_facts *facts);
MAFAT_API int mafat_dry_run_describe_output(const struct mafat_dry_run *dry_run, int index,
                                          struct mafat_port_facts *facts);

enum mafat_search_word_type {
  MAFAT_WORD_FLAG,   /* no value */
  MAFAT_WORD_CHOICE, /* one of the texts in `value` */
  MAFAT_WORD_COUNT,  /* an integer in [least, most] */
  MAFAT_WORD_NUMBER, /* a number in [least, most] */
  MAFAT_WORD_SIZE,   /* bytes, such as 64K or 31M, at least `least` */
  MAFAT_WORD_TEXT    /* integers separated by commas: 2,43,92 */
};

/* A parameter of a search. */
struct mafat_search_word {
  const char *name;  /* "beam" */
  enum mafat_search_word_type type;
  const char *value; /* placeholder: "N", "fdt|ffmt|both"; NULL: a flag */
  const char *usual; /* default: "8"; NULL: none */
  double least, most;
  const char *help;  /* lines of text */
};

/* A search (mafat_model_options.search). */
struct mafat_search_facts {
  size_t size;
  const char *name;      /* "best" */
  const char *searched;  /* its goal: "the best there is" */
  bool one_plan;         /* the same plan for every budget */
  bool by_paper;         /* uses the paper's predictor */
  bool timed;            /* uses plan_seconds */
  const char *help;      /* lines of text */
  const struct mafat_search_word *words; /* (n_words) its parameters */
  int n_words;
};

/* Describes a search; search 0 is the default. MAFAT_EINVAL: index is out of range. */
MAFAT_API int mafat_search_describe(int index, struct mafat_search_facts *facts);
/* Checks the name of a search and its parameters. MAFAT_EINVAL: the diagnostic lists searches, or
 * parameters. */
MAFAT_API int mafat_search_check(const char *search, struct mafat_diagnostic *d);

/* A plan of the Pareto front: no other needs both fewer bytes and fewer milliseconds. */
struct mafat_front_facts {
  size_t size;
  const char *text;
  int threads;
  size_t charge_bytes;
  double latency_ms;
};

/* Describes plan `index` of the front, by rising bytes and falling milliseconds. A plan in the
 * options is ignored. The first plan needs the fewest bytes. If whole maps fit the budget, a model
 * uses its first plan (mafat_model_options.plan_seconds), else the last one within the budget.
 * MAFAT_EINVAL: out of range. */
MAFAT_API int mafat_dry_run_front(const struct mafat_dry_run *dry_run, int index,
                                struct mafat_front_facts *facts);
/* Writes budgets worth comparing, in ascending order: from the smallest into which a plan fits to
 * the largest that makes a faster plan possible; for the search "greedy" those of the MAFAT paper.
 * Writes at most `capacity` and returns their number. */
MAFAT_API int mafat_dry_run_budgets(const struct mafat_dry_run *dry_run, size_t *budgets,
                                    int capacity);

/* Opens a dry run like another one, but with weights packed as a type such as "int8" (pack_weights
 * --help lists all types). Layers that do not support the type get a wider one. Close the new dry
 * run before the original. MAFAT_EINVAL: no such type. MAFAT_EUNSUPPORTED: no layer's weights
 * become smaller. *out is NULL after a failure. */
MAFAT_API int mafat_dry_run_pack(struct mafat_dry_run **out, const struct mafat_dry_run *dry_run,
                               const char *weights, struct mafat_diagnostic *d);

/* ---- dry run for one budget ---- */

struct mafat_plan_report;

/* Reports the plan for a budget. budget_bytes 0: the dry run's budget. Close the report before its
 * dry run. MAFAT_EINVAL, MAFAT_ELIMIT: the plan in the options is invalid for this network. *out is
 * NULL after a failure. */
MAFAT_API int mafat_dry_run_report(struct mafat_plan_report **out,
                                   const struct mafat_dry_run *dry_run, size_t budget_bytes,
                                   struct mafat_diagnostic *d);
MAFAT_API void mafat_plan_report_close(struct mafat_plan_report **report);
MAFAT_API int mafat_plan_report_describe(const struct mafat_plan_report *report,
                                    struct mafat_plan_facts *facts);
/* Returns MAFAT_ELIMIT if the plan exceeds the budget, with the diagnostic of mafat_model_open. */
MAFAT_API int mafat_plan_report_check(const struct mafat_plan_report *report,
                                      struct mafat_diagnostic *d);
/* Layers and groups: see mafat_model_layer and mafat_model_group. */
MAFAT_API int mafat_plan_report_layer(const struct mafat_plan_report *report, int layer,
                                 struct mafat_layer_facts *facts);
MAFAT_API int mafat_plan_report_group(const struct mafat_plan_report *report, int group,
                                 struct mafat_group_facts *facts);
/* If layers run in parts: returns the layer whose part runs at this position of the execution
 * order; -1: none, or part of an input. */
MAFAT_API int mafat_plan_report_part(const struct mafat_plan_report *report, int position);

/* The arena of a plan. */
struct mafat_arena_facts {
  size_t size;
  size_t bytes, bound_bytes; /* arena_bytes and arena_bound_bytes of mafat_plan_facts */
  int n_buffers;
  int n_times; /* buffers live within times 0 to n_times - 1 (mafat_layer_facts.position) */
  int peak_time;             /* first time with bound_bytes live */
};

/* A buffer in the arena. Buffers that live at the same time do not overlap. Kept weights are
 * elsewhere. */
struct mafat_buffer_facts {
  size_t size;
  const char *tag;      /* "input", "activations", "scratch", "weights" (loaded), "io" */
  const char *what; /* "map", "scratch", "weights"; streamed weights: "ring", "panel", "affine" */
  int layer;            /* -1: none; for scratch shared by a group, its first layer */
  int input;            /* for an input's map: its index; else -1 */
  size_t offset, bytes; /* in the arena */
  int first, last;      /* first and last time of its life, both included */
  int rows;             /* for a map: rows held at a time; else 0 */
};

MAFAT_API int mafat_plan_report_arena(const struct mafat_plan_report *report,
                                 struct mafat_arena_facts *facts);
/* Buffers 0 to n_buffers - 1. MAFAT_EINVAL: out of range; *facts is unchanged. */
MAFAT_API int mafat_plan_report_buffer(const struct mafat_plan_report *report, int index,
                                  struct mafat_buffer_facts *facts);

/* Predicted bytes that would be copied between a small fast memory and main memory if a plan copied
 * its tiles explicitly. A unit is a set of layers that are computed together in fast memory. Close
 * the transfer report before its plan report or model. */
struct mafat_transfer_report;

struct mafat_unit_facts {
  size_t size;
  int first, last, n_layers; /* its layers form a chain: each reads only the one before */
  const char *how;       /* "alone", "dw-pw rows", "pw-dw channels", "pw-dw rows", "bottleneck rows"
                            */
  bool fits;             /* a tile fits in fast memory; false: none does, and each byte is counted
                            once */
  bool runs;             /* the plan fuses these layers */
  int extent;            /* rows or channels of a fused tile; for one layer, rows of its output */
  int row_tiles, channel_tiles;
  uint64_t input_bytes, again_bytes; /* bytes read, and the part that is read again */
  uint64_t output_bytes, weights_bytes;
  uint64_t capacity_bytes;   /* fast memory used by a tile */
};

/* Reports transfers with a fast memory of fast_bytes. objective chooses the units. NULL: those that
 * the plan fuses; "transfers": those that copy the fewest bytes; "latency": those that are
 * predicted to be the fastest on this machine. MAFAT_EINVAL: another objective. */
MAFAT_API int mafat_plan_report_transfers(struct mafat_transfer_report **out,
                                          const struct mafat_plan_report *report, size_t fast_bytes,
                                          const char *objective, struct mafat_diagnostic *d);
MAFAT_API int mafat_model_transfers(struct mafat_transfer_report **out,
                                    const struct mafat_model *model, size_t fast_bytes,
                                    struct mafat_diagnostic *d);
MAFAT_API void mafat_transfer_report_close(struct mafat_transfer_report **transfers);
/* Describes unit `index`, in the order of their last layers. MAFAT_EINVAL: out of range. */
MAFAT_API int mafat_transfer_report_unit(const struct mafat_transfer_report *transfers, int index,
                               struct mafat_unit_facts *facts);

/* Prediction of MAFAT's own predictor: Algorithm 1 of Farley and Gerstlauer, 2021. */
struct mafat_paper_facts {
  size_t size;
  size_t bytes;                  /* with the bias */
  int group;                     /* the group that needs the most bytes */
  /* layer and tile of that group that need the most; layer -1: none computes anything */
  int layer, tile_row, tile_col;
};

/* MAFAT_EUNSUPPORTED: the plan is not made of tiles only. */
MAFAT_API int mafat_plan_report_paper(const struct mafat_plan_report *report,
                                      struct mafat_paper_facts *facts, struct mafat_diagnostic *d);

/* ---- calibration ---- */

struct mafat_calibrate_options {
  size_t size;
  const char *cpu;     /* kernel level to measure; default: the best of this CPU */
  double seconds;      /* approximate computing time; default 20 */
  size_t memory_bytes; /* budget; default: as a model's */
  void (*progress)(void *context, double share); /* called regularly; share: completed, 0 to 1 */
  void *context;
  struct mafat_warning_sink warnings;
};

/* Measured speeds of one thread. 0: unknown. */
struct mafat_calibration_facts {
  size_t size;
  char path[1024];       /* of the file that stores it, in the user's cache folder */
  char cpu[16];          /* kernel level */
  double conv_gflops, point_gflops;    /* convolutions of 3x3 and larger; of 1x1 */
  double winograd_gflops;              /* multiplications of transformed tiles */
  double winograd_direct_gflops;       /* of Winograd, counted in MACs of direct convolution */
  double depthwise_gflops;
  double map_read_gbs, map_write_gbs, weights_gbs; /* memory, GB/s */
  double disk_gbs;                     /* sequential, without the page cache */
  double disk_wait_us;                 /* latency of a single read */
  double read_us;                      /* CPU time of a read */
  double packed_gbs, darknet_gbs;      /* loading weights, by file format */
  double thread_step_us;               /* overhead of a step shared by threads */
  double fit_error;                    /* median relative error of a layer's milliseconds */
};

/* Measures this machine's computing and reading speed, and stores it for later predictions. It runs
 * for about `seconds` and needs temporary disk space. The process must have no other threads: this
 * function handles the signals INT, TERM and HUP, to remove its files. MAFAT_ELIMIT: memory is too
 * short. MAFAT_EIO: the files cannot be written. MAFAT_EINVAL: no such level. */
MAFAT_API int mafat_calibrate(struct mafat_calibration_facts *out,
                              const struct mafat_calibrate_options *options,
                              struct mafat_diagnostic *d);

#ifdef __cplusplus
}
#endif

#endif
