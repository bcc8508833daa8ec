/* Plans: what one needs and how long it takes, of an opened model or asked without running; where a
 * model's layers are, and their outputs; measuring the machine, by which milliseconds are
 * predicted.
 *
 * Bytes are bytes, milliseconds are real time, MACs are multiply-adds. Sizes, defaults, errors and
 * ownership are described in mafat.h. */
#ifndef MAFAT_PLAN_H
#define MAFAT_PLAN_H

#include "mafat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- facts of plans ---- */

/* Predicted bytes. At the peak, while the layers run, the parts add up to charge_bytes. */
struct mafat_memory_facts {
  size_t process;     /* resident whatever the plan: code, heap, stack */
  size_t threads;     /* stacks of the computing threads, without the caller's */
  size_t weights;     /* kept, and those loaded at the peak */
  size_t activations;
  size_t input;
  size_t scratch;
  size_t io;          /* buffers of streamed weights; page cache of the picture's file */
  size_t image;       /* the picture's decoder; the read buffer of raw floats */
  bool image_before;  /* the decoder ends before the layers run: not part of the sum */
  size_t kernel;      /* the kernel's own for the process */
  size_t rest;        /* gaps in the arena, rounding, what the kernel charges ahead, the reserve */
  size_t resident_bytes; /* of the process while the layers run: upper bound */
  size_t charge_bytes;   /* of its memory cgroup: upper bound; budgets are compared with it */
};

struct mafat_plan_facts {
  size_t size;
  const char *text;      /* as in mafat_model_options.plan */
  const char *algorithm; /* of convolutions, unless the text names another */
  int threads;           /* that compute */
  int n_layers, n_groups;
  bool fits;             /* memory.charge_bytes is within the budget */
  struct mafat_memory_facts memory;
  size_t arena_bytes;       /* the one mapping of all but kept weights */
  size_t arena_bound_bytes; /* largest sum of what lives in it at one time: its lower bound */
  const char *peak_name;    /* largest part at the peak: "activations", "scratch", "input",
                               "kept weights", "weights", "io" */
  int peak_layer;           /* its layer; -1: none */
  size_t peak_bytes;
  uint64_t macs;            /* of direct convolution, whatever the algorithm */
  uint64_t redundant_macs;  /* part of macs: computed again where tiles overlap */
  uint64_t padded_macs;     /* that kernels multiply: with padding, less Winograd's savings */
  uint64_t weights_read_bytes; /* from the file, in every run; 0: all are kept */
  double latency_ms;        /* predicted, of all layers; opening and decoding a picture excluded */
  double compute_ms;        /* part of it: computing */
  double reading_ms;        /* of weights, by itself; most of it overlaps with computing */
  bool calibrated;          /* predicted by this machine's calibration, else by built-in figures */
};

/* Layers that run together. */
struct mafat_group_facts {
  size_t size;
  int first, last;       /* layers, both included */
  char cut[256];         /* as in the plan's text: "rows4", "5x5:balanced"; without its weights */
  int rows;              /* least height of its rolling windows; 0: none */
  bool panels;           /* whole maps, some filters at a time */
  int tile_rows, tile_cols; /* else: tiles of the group's output; 1 x 1 is a whole map */
  const char *weights;   /* "kept", "loaded" (in every run, while the group runs), "streamed" */
  size_t peak_bytes;     /* largest sum of what lives in the arena while it runs */
  uint64_t macs, redundant_macs, padded_macs;
  size_t paper_bytes;    /* answers: prediction of Algorithm 1 without the bias; 0: none */
};

struct mafat_layer_facts {
  size_t size;
  const char *type;      /* the cfg's word: "convolutional" */
  int in_h, in_w, in_c, out_h, out_w, out_c;
  int kernel_size, stride, filters; /* 0 if the type has none */
  int group;             /* that it runs in */
  int inside;            /* layer in whose step it is computed, having no map itself; -1: none */
  const char *algorithm; /* of a convolution: "direct", "winograd", "winograd-large"; else NULL */
  const char *weights;   /* as of its group, small and indivisible layers excepted; NULL: none */
  size_t weights_bytes;  /* packed */
  uint64_t macs;         /* its own, redundant ones included */
  uint64_t step_macs;    /* of its step, layers inside it included; 0 for these */
  size_t arena_bytes;    /* of its outputs and its scratch */
  double ms;             /* of its step in the last run; 0: no run, or an answer */
  int position;          /* of its step in the run, from 0 on: its times are 2 * position, for a
                            Winograd transform of its input, and the next. In parts: the first's */
};

/* ---- the plan of an opened model ---- */

/* The plan in force as text. Valid until the model is closed. */
MAFAT_API const char *mafat_model_plan(const struct mafat_model *model);
/* Its predicted bytes: what a memory cgroup counts for the process at most. */
MAFAT_API size_t mafat_model_charge_bytes(const struct mafat_model *model);
/* The plan, with the decoder of the last picture. */
MAFAT_API int mafat_model_describe_plan(const struct mafat_model *model,
                                        struct mafat_plan_facts *facts);
/* Layers 0 to n_layers - 1, groups 0 to n_groups - 1. MAFAT_EINVAL: out of range; nothing is
 * filled. */
MAFAT_API int mafat_model_layer(const struct mafat_model *model, int layer,
                                struct mafat_layer_facts *facts);
MAFAT_API int mafat_model_group(const struct mafat_model *model, int group,
                                struct mafat_group_facts *facts);

/* ---- layers ---- */

/* Layers of a cfg, from the first on, that this library runs, and all of them. If it does not run
 * all, *why names the first that it does not. MAFAT_EFORMAT, MAFAT_EIO, MAFAT_EUNSUPPORTED (of
 * [net] itself): the cfg, explained by *why. */
MAFAT_API int mafat_cfg_known_layers(const char *cfg_path, int *known, int *all,
                                     struct mafat_diagnostic *why);

/* Layers that run; shapes of the input, of a layer's output and of the last layer's. MAFAT_EINVAL:
 * no such layer. */
MAFAT_API int mafat_model_n_layers(const struct mafat_model *model);
MAFAT_API void mafat_model_input_shape(const struct mafat_model *model, int *h, int *w, int *c);
MAFAT_API int mafat_model_layer_shape(const struct mafat_model *model, int layer, int *h, int *w,
                                      int *c);
MAFAT_API void mafat_model_output_shape(const struct mafat_model *model, int *h, int *w, int *c);
/* Copies the output (c, h, w) of a layer that stays readable after a run: the last one, a head, or
 * one of the options' outputs. MAFAT_EINVAL: another layer, or no output to read (mafat.h). */
MAFAT_API int mafat_model_read_layer(const struct mafat_model *model, int layer, float *chw,
                                     struct mafat_diagnostic *d);
/* The same of row y of channel c, (w). */
MAFAT_API int mafat_model_read_row(const struct mafat_model *model, int layer, int c, int y,
                                   float *row, struct mafat_diagnostic *d);

/* A step: these channels, rows and columns of a layer's output (of a fused layer: of the layers
 * inside it), ends excluded. One layer may take several steps. */
struct mafat_step_facts {
  int layer;                 /* -1: rows of the input */
  int channel_begin, channel_end, row_begin, row_end, col_begin, col_end;
  double from_ms, to_ms;     /* of CLOCK_MONOTONIC */
};

/* Calls `ran` after every step of the runs that follow, on the caller's thread, within the run's
 * time. It may call mafat_model_describe, _describe_plan, _layer and _group. NULL: nobody. */
MAFAT_API void mafat_model_set_watch(struct mafat_model *model,
                                     void (*ran)(void *context,
                                                 const struct mafat_step_facts *step),
                                     void *context);

/* ---- the process, beside its prediction ---- */

/* Since its start; 0: the system does not report it. */
struct mafat_process_facts {
  size_t size;
  size_t resident_bytes; /* now, to the page */
  size_t peak_bytes;     /* largest so far; the kernel counts in batches, up to 0.2 MB off */
  uint64_t swap_in_bytes, swap_out_bytes; /* of the whole system */
  uint64_t major_faults; /* pages that had to be read */
};

MAFAT_API int mafat_process_measure(struct mafat_process_facts *facts);

struct mafat_check {
  size_t size;
  bool holds;            /* not more than predicted, and less by no more than 2 % and 256 KB, or for
                            known reasons */
  bool in_arena;         /* less than predicted, most of it in the arena; else in the process */
  size_t predicted_bytes, measured_bytes;
  size_t off_bytes;      /* difference of that part and its prediction */
};

/* resident_bytes: of mafat_process_measure after a run, before other memory is allocated.
 * Predictions are made for programs that open one model early. */
MAFAT_API int mafat_model_check(const struct mafat_model *model, size_t resident_bytes,
                                struct mafat_check *check);

/* ---- asking without running ---- */

/* The plans of a network and their cost, without reading weights. One thread at a time. */
struct mafat_query;

struct mafat_query_facts {
  size_t size;
  int input_h, input_w, input_c, n_layers;
  const char *cpu;
  size_t budget_bytes;   /* SIZE_MAX: unknown */
  const char *budget_source; /* as in mafat_model_facts */
  bool packed;           /* the weights file is packed */
  bool weights_assumed;  /* no weights file was named: Darknet's */
  bool floats_only;      /* by the options, or because the channels are not a picture's */
  bool picture_assumed;  /* no picture was named: a baseline JPEG of 12 megapixels */
  bool plan_given;       /* not searched for */
  bool greedy;           /* found by MAFAT's own search */
  int threads;           /* of the options; MAFAT_THREADS_AUTO: part of the search */
  size_t bias_bytes;
  int n_front;           /* plans of mafat_query_front; at least 1 */
  const char *fork, *fork_sign; /* as in mafat_model_facts */
  size_t reserve_bytes;  /* part of an answer's memory.rest */
  struct mafat_picture_facts picture;
  const char *decode, *decode_sign; /* as in mafat_model_facts */
  bool least;            /* found by the search "least" */
  uint64_t n_weights;    /* of layers that multiply; biases and normalization excluded */
  const char *search;    /* its name; NULL: the plan is given */
  const char *searched;  /* its goal: "the best there is"; NULL likewise */
  bool one_plan;         /* the search finds the same plan for every budget */
  int n_inputs, n_outputs;
};

/* weights_path: only its kind is read; NULL: Darknet's, or cfg_path holds weights. Without a
 * picture in the options, assumes an ordinary one, or floats if the channels are not a picture's.
 * Errors of mafat_model_open, but a plan that does not fit is none. *out is NULL after a failure.
 * */
MAFAT_API int mafat_query_open(struct mafat_query **out, const char *cfg_path,
                               const char *weights_path, const struct mafat_model_options *options,
                               struct mafat_diagnostic *d);
MAFAT_API void mafat_query_close(struct mafat_query **query);
MAFAT_API int mafat_query_describe(const struct mafat_query *query,
                                   struct mafat_query_facts *facts);
/* As for a model. */
MAFAT_API int mafat_query_describe_input(const struct mafat_query *query, int index,
                                         struct mafat_port_facts *facts);
MAFAT_API int mafat_query_describe_output(const struct mafat_query *query, int index,
                                          struct mafat_port_facts *facts);

enum mafat_search_word_type {
  MAFAT_WORD_FLAG,   /* the word alone */
  MAFAT_WORD_CHOICE, /* one of those in `value` */
  MAFAT_WORD_COUNT,  /* an integer, least to most */
  MAFAT_WORD_NUMBER, /* a number, least to most */
  MAFAT_WORD_SIZE,   /* bytes, such as 64K or 31M, from least on */
  MAFAT_WORD_TEXT    /* integers with commas between: 2,43,92 */
};

/* A parameter of a search. */
struct mafat_search_word {
  const char *name;  /* "beam" */
  enum mafat_search_word_type type;
  const char *value; /* "N", "fdt|ffmt|both"; NULL: of a flag */
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

/* Search 0 is the default. MAFAT_EINVAL: out of range. */
MAFAT_API int mafat_search_describe(int index, struct mafat_search_facts *facts);
/* Checks a search and its parameters. MAFAT_EINVAL: the diagnostic lists those that exist. */
MAFAT_API int mafat_search_check(const char *search, struct mafat_diagnostic *d);

/* A plan of the Pareto front: no other needs both fewer bytes and fewer milliseconds. */
struct mafat_front_facts {
  size_t size;
  const char *text;
  int threads;
  size_t charge_bytes;
  double latency_ms;
};

/* Plan `index` of the front, by rising bytes and falling milliseconds, whatever plan the options
 * give. The first needs the least of all plans; a model runs the last one within its budget.
 * MAFAT_EINVAL: out of range. */
MAFAT_API int mafat_query_front(const struct mafat_query *query, int index,
                                struct mafat_front_facts *facts);
/* Budgets of interest, rising: from the smallest that fits to the largest that is of use; for the
 * greedy search the paper's. Writes at most `room` and returns how many. */
MAFAT_API int mafat_query_budgets(const struct mafat_query *query, size_t *budgets, int room);

/* The same query with weights packed as a type, such as "int8" (pack_weights --help lists all), or
 * wider where a layer does not support it. Closed before the query that it is made from.
 * MAFAT_EINVAL: no such type. MAFAT_EUNSUPPORTED: no layer's weights become smaller. *out is NULL
 * after a failure. */
MAFAT_API int mafat_query_pack(struct mafat_query **out, const struct mafat_query *query,
                               const char *weights, struct mafat_diagnostic *d);

/* ---- the answer for one budget ---- */

struct mafat_answer;

/* budget_bytes 0: the query's. Closed before its query. MAFAT_EINVAL, MAFAT_ELIMIT: the given plan
 * is not one of this network. *out is NULL after a failure. */
MAFAT_API int mafat_query_answer(struct mafat_answer **out, const struct mafat_query *query,
                                 size_t budget_bytes, struct mafat_diagnostic *d);
MAFAT_API void mafat_answer_close(struct mafat_answer **answer);
MAFAT_API int mafat_answer_describe(const struct mafat_answer *answer,
                                    struct mafat_plan_facts *facts);
/* MAFAT_ELIMIT: the plan does not fit, with the diagnostic of mafat_model_open. */
MAFAT_API int mafat_answer_check(const struct mafat_answer *answer, struct mafat_diagnostic *d);
/* As for a model. */
MAFAT_API int mafat_answer_layer(const struct mafat_answer *answer, int layer,
                                 struct mafat_layer_facts *facts);
MAFAT_API int mafat_answer_group(const struct mafat_answer *answer, int group,
                                 struct mafat_group_facts *facts);
/* The layer, run in parts, that has one of them at this position; -1: none, or of an input. */
MAFAT_API int mafat_answer_part(const struct mafat_answer *answer, int position);

/* The arena of an answer's plan. */
struct mafat_arena_facts {
  size_t size;
  size_t bytes, bound_bytes; /* arena_bytes and arena_bound_bytes of mafat_plan_facts */
  int n_buffers;
  int n_times;               /* lives are within times 0 to n_times - 1 (mafat_layer_facts.position)
                            */
  int peak_time;             /* first time at which bound_bytes live */
};

/* A buffer in it. Two that live at one time do not overlap. Kept weights have none. */
struct mafat_buffer_facts {
  size_t size;
  const char *tag;      /* "input", "activations", "scratch", "weights" (loaded), "io" */
  const char *what;     /* "map", "scratch", "weights"; of streamed weights: "ring", "panel",
                            "affine" */
  int layer;            /* -1: none; of scratch that a group shares, its first layer */
  int input;            /* of an input's map: its index; else -1 */
  size_t offset, bytes; /* in the arena */
  int first, last;      /* times of its life, both included */
  int rows;             /* of a map: that it holds at a time; else 0 */
};

MAFAT_API int mafat_answer_arena(const struct mafat_answer *answer,
                                 struct mafat_arena_facts *facts);
/* Buffers 0 to n_buffers - 1. MAFAT_EINVAL: out of range; nothing is filled. */
MAFAT_API int mafat_answer_buffer(const struct mafat_answer *answer, int index,
                                  struct mafat_buffer_facts *facts);

/* Bytes moved between a fast memory and the rest if tiles were copied explicitly, by units of
 * layers that are computed together in it. Closed before its answer or model. */
struct mafat_moves;

struct mafat_unit_facts {
  size_t size;
  int first, last, n_layers; /* a chain: each layer reads only the one before */
  const char *how;       /* "alone", "dw-pw rows", "pw-dw channels", "pw-dw rows", "bottleneck rows"
                            */
  bool fits;             /* else no tile fits, and each byte is counted once */
  bool runs;             /* the plan computes these layers together */
  int extent;            /* rows or channels of a fused tile; of one layer rows of its output */
  int row_tiles, channel_tiles;
  uint64_t input_bytes, again_bytes; /* read; part of them not for the first time */
  uint64_t output_bytes, weights_bytes;
  uint64_t room_bytes;   /* of a tile */
};

/* objective NULL: units that the plan computes together; "transfers": the fewest bytes moved;
 * "latency": predicted to be the fastest that the executor can run. MAFAT_EINVAL: another one. */
MAFAT_API int mafat_answer_moves(struct mafat_moves **out, const struct mafat_answer *answer,
                                 size_t fast_bytes, const char *objective,
                                 struct mafat_diagnostic *d);
MAFAT_API int mafat_model_moves(struct mafat_moves **out, const struct mafat_model *model,
                                size_t fast_bytes, struct mafat_diagnostic *d);
MAFAT_API void mafat_moves_close(struct mafat_moves **moves);
/* By last layer. MAFAT_EINVAL: out of range. */
MAFAT_API int mafat_moves_unit(const struct mafat_moves *moves, int index,
                               struct mafat_unit_facts *facts);

/* Prediction of MAFAT's own predictor: Algorithm 1 of Farley and Gerstlauer, 2021. */
struct mafat_paper_facts {
  size_t size;
  size_t bytes;                  /* with the bias */
  int group;                     /* the largest one */
  int layer, tile_row, tile_col; /* of it; layer -1: none of its layers computes anything */
};

/* MAFAT_EUNSUPPORTED: the plan has more than tiles. */
MAFAT_API int mafat_answer_paper(const struct mafat_answer *answer, struct mafat_paper_facts *facts,
                                 struct mafat_diagnostic *d);

/* ---- measuring the machine ---- */

struct mafat_calibrate_options {
  size_t size;
  const char *cpu;     /* kernel level to measure; default: the best of this CPU */
  double seconds;      /* of computing, about; default 20 */
  size_t memory_bytes; /* budget; default: as a model's */
  void (*progress)(void *context, double share); /* called now and then; share: done, 0 to 1 */
  void *context;
  struct mafat_warning_sink warnings;
};

/* Of one thread. 0: unknown. */
struct mafat_calibration_facts {
  size_t size;
  char path[1024];       /* of the file that stores it, in the user's cache folder */
  char cpu[16];          /* kernel level */
  double conv_gflops, point_gflops;    /* convolutions of 3x3 and larger; of 1x1 */
  double winograd_gflops;              /* its products */
  double winograd_direct_gflops;       /* the same, counted as direct convolution */
  double depthwise_gflops;
  double map_read_gbs, map_write_gbs, weights_gbs; /* memory, GB/s */
  double disk_gbs;                     /* sequential, past the page cache */
  double disk_wait_us;                 /* latency of a lone read */
  double read_us;                      /* processor time of a read */
  double packed_gbs, darknet_gbs;      /* loading weights, by kind of file */
  double thread_step_us;               /* overhead of a step that threads share */
  double fit_error;                    /* median relative error of a layer's milliseconds */
};

/* Measures how fast this machine computes and reads, and stores it for later predictions. Takes
 * about `seconds`, and disk space meanwhile. Not beside other threads: while it runs, it handles
 * the signals INT, TERM and HUP, to remove its files. MAFAT_ELIMIT: too little memory. MAFAT_EIO:
 * no place for the files. MAFAT_EINVAL: no such level. */
MAFAT_API int mafat_calibrate(struct mafat_calibration_facts *out,
                              const struct mafat_calibrate_options *options,
                              struct mafat_diagnostic *d);

#ifdef __cplusplus
}
#endif

#endif
