/* mafat: runs neural networks on one device inside a memory budget.
 *
 * This header opens a model, runs it, and reads outputs and boxes. mafat_plan.h predicts and
 * compares plans, mafat_video.h runs on frames of video, mafat_pack.h writes packed files,
 * mafat_ranks.h plans for several devices, mafat.hpp is the interface for C++.
 *
 * Sizes: structs of options and of facts begin with their size, which the caller sets:
 *
 *     struct mafat_model_options options = {.size = sizeof options, .memory_bytes = 16 << 20};
 *     struct mafat_model_facts facts = {.size = sizeof facts};
 *
 * A program and its library may be of different versions, for such structs only grow, at their
 * ends. The library takes the default of an option that the program does not know, and fills the
 * facts that both know, the others with 0. MAFAT_EINVAL: the size was not set, or an option that
 * the library does not know is not 0. Structs without a size do not change.
 *
 * Defaults: in options, 0 and NULL mean the default, and options of NULL are all defaults. A field
 * for which 0 is a value of its own is a pointer. Unless a field says otherwise, opening reads what
 * options point to and does not keep it.
 *
 * Errors: functions return MAFAT_OK or a negative code, and write one line to a diagnostic, which
 * may be NULL. MAFAT_ENOMEM is possible wherever something is opened.
 *
 * Ownership: what was opened is closed by its opener; closing accepts NULL. Texts in facts live as
 * long as the object that was asked.
 *
 * Threads: separate models may be used by separate threads; one model is used by one thread at a
 * time, mafat_model_cancel excepted. After fork() the child may close what its parent opened, and
 * run models of one thread whose weights are kept; MAFAT_EINVAL: it runs another one.
 *
 * The library does not print or exit, and does not change signal handlers, locale or the
 * allocator's settings. Opening returns free memory of the heap to the system (malloc_trim),
 * because resident memory is part of the prediction. */
#ifndef MAFAT_H
#define MAFAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Visible in the shared library; nothing else is. */
#ifdef __GNUC__
#define MAFAT_API __attribute__((visibility("default")))
#define MAFAT_PRINTF(format, first) __attribute__((__format__(__printf__, format, first)))
#else
#define MAFAT_API
#define MAFAT_PRINTF(format, first)
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum {
  MAFAT_OK = 0,
  MAFAT_ENOMEM = -1,       /* the system refused memory */
  MAFAT_EIO = -2,          /* a file could not be opened, read or written, or changed meanwhile */
  MAFAT_EFORMAT = -3,      /* a file's content is damaged or inconsistent */
  MAFAT_EUNSUPPORTED = -4, /* well-formed, but not something this build runs */
  MAFAT_ELIMIT = -5,       /* a plan or size exceeds a limit or the budget */
  MAFAT_EINVAL = -6,       /* an argument or option makes no sense */
  MAFAT_ECANCELED = -7     /* mafat_model_cancel ended the run */
};

/* One line: where, what was expected, what was found. Undefined after success. */
struct mafat_diagnostic {
  char text[512];
};

/* "0.1.0" */
MAFAT_API const char *mafat_version(void);
/* A short English name; never NULL, also for unknown codes. */
MAFAT_API const char *mafat_error_name(int code);
/* For callbacks: formats into d and returns code. A long line loses its middle; control characters
 * become question marks. */
MAFAT_API int mafat_fail(struct mafat_diagnostic *d, int code, const char *format, ...)
    MAFAT_PRINTF(3, 4);

/* Receives warnings, each one line without a newline. A warn of NULL: nobody does. */
struct mafat_warning_sink {
  void (*warn)(void *context, const char *text);
  void *context;
};

/* ---- opening ---- */

/* Memory that several models share. It grows to what the largest of them needs. One of them runs at
 * a time: MAFAT_EINVAL for a second run, and for opening a model that needs a larger arena during a
 * run. Running or opening a model discards the outputs of the others. Closed before its models, an
 * arena lives until the last of them is closed. */
struct mafat_arena;

MAFAT_API int mafat_arena_open(struct mafat_arena **out, struct mafat_diagnostic *d);
MAFAT_API void mafat_arena_close(struct mafat_arena **arena);

struct mafat_rank_link; /* internal to the program mafat_ranks */

enum {
  MAFAT_MAX_THREADS = 64,
  MAFAT_THREADS_AUTO = -1,                 /* as many as are predicted to be the fastest */
  MAFAT_DEFAULT_BIAS_BYTES = 31 << 20,     /* of the MAFAT paper's authors */
  MAFAT_DEFAULT_RESERVE_BYTES = 256 << 10  /* as measured */
};

struct mafat_model_options {
  size_t size;
  size_t memory_bytes;  /* budget for the whole process; default: the smallest limit of its cgroups,
                           else the available memory */
  const char *memory_name; /* what messages call it; default "memory_bytes". Lives as long as the
                           model or query */
  const char *plan;     /* mafat-plan(7); default: the search finds one */
  const char *search;   /* its name, and words that it takes: "motes:beam=8,delta=1.1"; default
                           "best": the plan predicted to be the fastest within the budget.
                           mafat_search_describe (mafat_plan.h) lists searches and words */
  int layers;           /* run the first so many layers; default all. Later layers may be unknown */
  const int *outputs;   /* (n_outputs) layers that can be read after a run, beside the last one and
                           the heads. Each stays whole until the end, which costs memory */
  int n_outputs;
  struct mafat_arena *arena; /* shared with other models; default: one of its own */
  int width, height;    /* of the input; default: the cfg's */
  const char *algorithm; /* of convolutions: "direct", "winograd", "winograd-large" (3x3, stride 1);
                           default "auto": the faster one that fits, for each layer */
  int threads;          /* that compute, the caller's included; default 1; or MAFAT_THREADS_AUTO */
  const char *cpu;      /* highest kernel level, such as "avx2" (run_inference --help lists all);
                           default: the best of this CPU */
  bool best_effort;     /* run the smallest plan even if it does not fit */
  const char *picture;  /* its header predicts the decoder's memory; default: an upright baseline
                           JPEG of 12 megapixels */
  bool picture_may_fail; /* assume such a JPEG if the picture cannot be opened */
  bool floats_only;     /* no pictures will be read, at most files of floats */
  struct mafat_warning_sink warnings;
  const char *fork;     /* the Darknet fork of a cfg: "darknet" (pjreddie's), "alexeyab"; default
                           "auto": by the cfg's keys. It decides batch normalization, resizing and
                           suppression */
  int max_boxes;        /* candidates above the threshold that detection keeps, the most confident
                           first, 1 to 1000000; default: the heads' boxes, but 2304 to 4096. A box
                           of two classes counts twice. Part of the prediction */
  const size_t *reserve_bytes; /* part of the budget left to charges that no process can predict,
                           such as the file system's; default MAFAT_DEFAULT_RESERVE_BYTES */
  const char *lock;     /* arena and kept weights in memory: "on" (MAFAT_ELIMIT: RLIMIT_MEMLOCK),
                           "off"; default "auto": if allowed, and if a memory cgroup's limit holds
                           the prediction */
  const char *image_scaling; /* default "exact", as Darknet scales; "fast": a large JPEG is decoded
                           to 1/2, 1/4 or 1/8 of its sides: other pixels, so other boxes */
  /* A picture becomes (byte - mean) * scale of each channel. Default: the model file's values. */
  const float *mean, *scale; /* (3) in the order of the input's channels, (1) if it is grey; without
                           values in the file 0 and 1 / 255 */
  const char *channels; /* of an input of three: "rgb", "bgr"; of one: "gray" */
  const char *resize;   /* "stretch"; with the proportions kept: "letterbox" (centered), "corner"
                           (top left), "crop" (the middle fills the input) */
  const float *pad;     /* byte beside a letterbox, 0 to 255; default 114, of Darknet's networks
                           127.5 */
  const char *decode;   /* of ONNX and TFLite outputs: boxes by "yolov5", "yolov8", "yolox",
                           "nanodet", "fastestdet", "ssd", "ultraface", "yunet"; "classes";
                           "darknet": by its layers; "none"; default "auto": by the outputs' shapes
                           when exactly one matches. MAFAT_EINVAL: the shapes do not match */
  const char *const *constants; /* (n_constants) "NAME=FILE": inputs of an ONNX or TFLite file that
                           are known beforehand. FILE: raw values, .npy, or, for ONNX, a tensor
                           (.pb). Weights stay in it */
  int n_constants;
  double plan_seconds;  /* time limit of the search, whose plan may then vary from time to time;
                           default: a limit on candidates, the same on every machine */
  const struct mafat_rank_link *link;
  const char *frames;   /* of video (mafat_video.h): "640x480:yuv420p", yuvj420p, nv12, yuyv, rgb24,
                           mjpeg. The arena has room for one; default: no video */
  bool frames_stay;     /* a frame stays in the arena until detections are made; else the run may
                           overwrite what it has read */
  bool frames_outside;  /* frames are in the caller's memory; no room in the arena */
  size_t beside_bytes;  /* part of the budget held by the caller, such as a camera's buffers */
};

struct mafat_model;

/* Reads the network, chooses a plan, compares it with the budget, reads the weights that the plan
 * keeps, and maps the arena. weights_path: Darknet's file, or a packed one; NULL if cfg_path holds
 * weights (mafat_file.h). If the plan reads weights during runs, the file stays open and
 * must not change until the model is closed. *out is NULL after a failure. MAFAT_ELIMIT: it does
 * not fit; the diagnostic names the bytes. MAFAT_EIO, MAFAT_EFORMAT, MAFAT_EUNSUPPORTED: the files.
 * MAFAT_EINVAL: the options. */
MAFAT_API int mafat_model_open(struct mafat_model **out, const char *cfg_path,
                               const char *weights_path, const struct mafat_model_options *options,
                               struct mafat_diagnostic *d);
MAFAT_API void mafat_model_close(struct mafat_model **model);

enum mafat_model_kind {
  MAFAT_MODEL_OTHER,     /* mafat_model_read_output */
  MAFAT_MODEL_DETECTOR,  /* has detection heads: mafat_model_detect */
  MAFAT_MODEL_CLASSIFIER /* ends in [softmax] or is decoded as classes: mafat_model_classify */
};

/* How pictures become the input, as in mafat_model_options. */
struct mafat_picture_facts {
  const char *channels;  /* NULL: the input takes no pictures */
  const char *resize;
  float mean[3], scale[3]; /* of a grey input the first */
  float pad;
  const char *source;    /* of mean and scale: "options", "file", "default" */
};

struct mafat_model_facts {
  size_t size;
  enum mafat_model_kind kind;
  int input_h, input_w, input_c;
  const char *cpu;           /* kernel level: "avx512" */
  size_t budget_bytes;       /* SIZE_MAX: unknown */
  const char *budget_source; /* memory_name, "cgroup limit", "available memory", "unknown" */
  bool packed;               /* the weights file is packed */
  size_t kept_weights_bytes; /* in memory from run to run */
  const char *reads_method;  /* of weights during runs: "io_uring", "aio", "thread"; NULL: none */
  bool reads_directly;       /* past the page cache */
  double load_ms;            /* of reading the kept weights */
  const char *fork;          /* "darknet" or "alexeyab" */
  const char *fork_sign;     /* what decided it: "line 7: mosaic=1 in [net]"; or NULL */
  int max_boxes;             /* 0: no heads */
  size_t reserve_bytes;
  const char *lock;          /* "on" or "off" */
  const char *lock_reason;   /* why "auto" locked nothing; else NULL */
  size_t locked_bytes;       /* arena and kept weights; a shared arena counts whole */
  struct mafat_picture_facts picture;
  const char *decode;        /* as in the options; NULL: by Darknet's layers, or not at all */
  const char *decode_sign;   /* the output that decided it: "output [1, 3549, 85]"; or NULL */
  int n_inputs, n_outputs;   /* of mafat_model_describe_input, mafat_model_describe_output */
};

MAFAT_API int mafat_model_describe(const struct mafat_model *model,
                                   struct mafat_model_facts *facts);

/* An input or output. Darknet's networks have one input, "data", and one output, "output", of the
 * last layer that is run, both (channels, rows, columns). Other files name their own. */
struct mafat_port_facts {
  size_t size;
  const char *name;
  const char *type;      /* of its elements in files: "float32", "int32", "int64", "int8", "uint8".
                            In memory they are floats, dequantized */
  int rank;              /* 0 to 8 */
  int64_t dims[8];       /* (rank) */
  size_t n;              /* floats: the product of dims; SIZE_MAX: too many to address */
  double scale;          /* of 8-bit elements: value = scale * (element - zero); 0: not quantized */
  int zero;              /* as the file stores it */
};

/* index: from 0 on. MAFAT_EINVAL: out of range. */
MAFAT_API int mafat_model_describe_input(const struct mafat_model *model, int index,
                                         struct mafat_port_facts *facts);
MAFAT_API int mafat_model_describe_output(const struct mafat_model *model, int index,
                                          struct mafat_port_facts *facts);

/* ---- running ----
 *
 * A run discards the outputs of the run before. If the plan reads weights during runs, each run may
 * return MAFAT_EIO (the weights file changed) or MAFAT_EFORMAT (it is damaged). */

/* Decodes a JPEG, PNG or PPM file into the first input and runs. MAFAT_ELIMIT: this picture's
 * decoder exceeds the budget. MAFAT_EIO, MAFAT_EFORMAT, MAFAT_EUNSUPPORTED: the file. */
MAFAT_API int mafat_model_run_picture(struct mafat_model *model, const char *path,
                                      struct mafat_diagnostic *d);
/* The same for a picture in memory, bit for bit: h rows of w pixels of 1 (grey), 3 (red, green,
 * blue) or 4 (the last is ignored) bytes; rows from the top down, `stride` bytes apart. The pixels
 * are outside the budget. MAFAT_EINVAL: not such a picture. */
MAFAT_API int mafat_model_run_pixels(struct mafat_model *model, const unsigned char *pixels, int w,
                                     int h, int channels, size_t stride,
                                     struct mafat_diagnostic *d);
/* Runs on floats for the first input, in the row-major order of its dimensions. MAFAT_EINVAL: n is
 * not the input's size. */
MAFAT_API int mafat_model_run_floats(struct mafat_model *model, const float *floats, size_t n,
                                     struct mafat_diagnostic *d);
/* The same from a file of raw elements, little-endian and of the input's type, or from a NumPy file
 * (.npy) of these or of floats. It is read past the page cache unless cached. MAFAT_EIO,
 * MAFAT_EFORMAT: the file, or its length. MAFAT_ELIMIT: its read buffer exceeds the budget. */
MAFAT_API int mafat_model_run_raw(struct mafat_model *model, const char *path,
                                  struct mafat_diagnostic *d);

/* Sets an input for the runs that follow: floats in the row-major order of its dimensions, which
 * must stay until then; or a file, as for mafat_model_run_raw. name NULL: the only input. floats or
 * path NULL: unset. MAFAT_EINVAL: no such input, or n is not its size. */
MAFAT_API int mafat_model_set_input(struct mafat_model *model, const char *name,
                                    const float *floats, size_t n, struct mafat_diagnostic *d);
MAFAT_API int mafat_model_set_input_file(struct mafat_model *model, const char *name,
                                         const char *path, struct mafat_diagnostic *d);
/* Runs on the inputs that were set. MAFAT_EINVAL: one is not. Errors of mafat_model_run_raw. The
 * other runs use these for all inputs but the first. */
MAFAT_API int mafat_model_run_inputs(struct mafat_model *model, struct mafat_diagnostic *d);

/* From any thread, or a signal handler: ends the run under way, which returns MAFAT_ECANCELED after
 * the step that it computes, or the row of a picture that it decodes. There is no output to read
 * then, and the model can run again. Between runs it does nothing. The model must not be closed
 * meanwhile, and must not be a rank of several. */
MAFAT_API void mafat_model_cancel(struct mafat_model *model);

/* Returns the arena's pages to the system until the next run, which needs milliseconds to get them
 * again. The outputs are gone; kept weights stay. Does nothing while another model runs in a shared
 * arena, or has outputs there. */
MAFAT_API void mafat_model_rest(struct mafat_model *model);

struct mafat_run_facts {
  size_t size;
  double image_ms;           /* opening, decoding and scaling the picture, or reading floats */
  double layers_ms;          /* the rest of the run's latency */
  int picture_w, picture_h;  /* upright; boxes are relative to it */
  bool input_failed;         /* the run failed because of its input */
  uint64_t weights_read_bytes; /* from the file, since the model was opened */
  const char *stall_scope;   /* who waited for memory (PSI): "cgroup", "system"; NULL: unknown */
  uint64_t stall_some_us, stall_full_us; /* for how long some, or all, of its tasks waited */
};

/* All 0 before the first run. */
MAFAT_API int mafat_model_last_run(const struct mafat_model *model, struct mafat_run_facts *facts);

/* ---- reading ----
 *
 * MAFAT_EINVAL: there is no output to read, because there was no run, the last one failed, the
 * model has rested since, or another model used the arena. */

/* Copies an output, all n floats of it, in the row-major order of its dimensions; or n floats from
 * offset `first` on. name NULL: the only output. MAFAT_EINVAL: no such output, or wrong n. */
MAFAT_API int mafat_model_read_output(const struct mafat_model *model, const char *name,
                                      float *floats, size_t n, struct mafat_diagnostic *d);
MAFAT_API int mafat_model_read_output_part(const struct mafat_model *model, const char *name,
                                           size_t first, float *floats, size_t n,
                                           struct mafat_diagnostic *d);

/* x, y: top left corner, in pixels of the last picture (of the input, after floats). Finite; may be
 * outside the picture. */
struct mafat_detection {
  int class_id;
  float confidence; /* above the threshold */
  float x, y, w, h;
};

/* Most confident first; equals by class, then head, row, column and anchor. */
struct mafat_detections {
  struct mafat_detection *list; /* (n) */
  size_t n;
  size_t left_out; /* candidates above the threshold beyond max_boxes, all less confident */
  float *points;   /* (n, n_points, 2) keypoints of each box, x and y in the same pixels; NULL:
                      none. Faces (yunet): right eye, left eye, nose, right and left corner of the
                      mouth */
  int n_points;    /* 0: the head has none */
};

/* Boxes of the last run; none for a network without heads. thresh: confidence that a box exceeds
 * (0.5 in Darknet's programs); nms: overlap, as intersection over union, above which the less
 * confident of two boxes is suppressed (0.45). MAFAT_EINVAL: below 0. */
MAFAT_API int mafat_model_detect(const struct mafat_model *model, float thresh, float nms,
                                 struct mafat_detections **out, struct mafat_diagnostic *d);
MAFAT_API void mafat_detections_close(struct mafat_detections **detections);

struct mafat_class_score {
  int class_id;
  float confidence;
};

/* The likeliest classes of the last run: *n <= k of them to top (k), likeliest first, equals by
 * class. MAFAT_EINVAL: not a classifier. MAFAT_ELIMIT: more classes than an int counts. */
MAFAT_API int mafat_model_classify(const struct mafat_model *model, struct mafat_class_score *top,
                                   int k, int *n, struct mafat_diagnostic *d);

#ifdef __cplusplus
}
#endif

#endif
