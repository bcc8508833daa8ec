/* mafat: runs neural networks on one device inside a memory budget.
 *
 * This header opens a model, runs it, and reads outputs and boxes. mafat_plan.h predicts and
 * compares plans, mafat_video.h runs on frames of video, mafat_pack.h writes packed files,
 * mafat_file.h opens models from descriptors and from memory, mafat_ranks.h plans for several
 * devices, mafat.hpp is the interface for C++.
 *
 * Sizes: structs of options and facts begin with their size, which the caller sets:
 *
 *     struct mafat_model_options options = {.size = sizeof options, .memory_bytes = 16 << 20};
 *     struct mafat_model_facts facts = {.size = sizeof facts};
 *
 * A program and its library may be of different versions: these structs only grow, at their ends.
 * Options unknown to the program have their defaults; facts unknown to the library are 0. A
 * function returns MAFAT_EINVAL if the size was not set, or if an option unknown to the library is
 * not 0. Structs without a size do not change.
 *
 * Defaults: 0 and NULL mean the default of an option, and NULL in place of the struct means all
 * defaults. If 0 is a useful value of an option, the option is a pointer to the value. Memory that
 * options point to may be freed after opening, unless a field's comment says otherwise.
 *
 * Errors: a function that fails returns a negative code and writes one line to its diagnostic,
 * which may be NULL. Functions that open something may return MAFAT_ENOMEM.
 *
 * Ownership: the caller closes what it opened; closing accepts NULL. Texts in facts live as long as
 * the object that the facts describe.
 *
 * Threads: separate threads may use separate models at the same time. One thread at a time uses a
 * model; only mafat_model_cancel may be called from another. After fork() the child may close its
 * parent's models. It may run only those that were opened with one thread and whose plan reads no
 * weights during runs; running another model returns MAFAT_EINVAL.
 *
 * The library does not print, exit, or change signal handlers, locale or the allocator's settings.
 * Opening returns free memory of the heap to the system (malloc_trim), because resident memory is
 * part of the prediction. */
#ifndef MAFAT_H
#define MAFAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The shared library exports the functions that are marked with MAFAT_API, and no others. */
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
  MAFAT_EIO = -2,          /* a file could not be opened, read or written, or it changed in use */
  MAFAT_EFORMAT = -3,      /* a file's content is damaged or inconsistent */
  MAFAT_EUNSUPPORTED = -4, /* well-formed, but this build does not support it */
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
/* For callbacks, such as `row` of mafat_model_frame_rows: formats a message into d and returns
 * code. If a line is too long, its middle is left out; control characters become question marks. */
MAFAT_API int mafat_fail(struct mafat_diagnostic *d, int code, const char *format, ...)
    MAFAT_PRINTF(3, 4);

/* Receives warnings of opening and of runs, as lines without newline; NULL: discards them. */
struct mafat_warning_sink {
  void (*warn)(void *context, const char *text);
  void *context;
};

/* ---- opening ---- */

/* Memory in which several models run, one at a time. It is as large as the largest of them needs.
 * During a run, another run, or opening a model that needs a larger arena, returns MAFAT_EINVAL.
 * Running or opening a model discards the outputs of the others. An arena that is closed before its
 * models lives until the last of them is closed. */
struct mafat_arena;

MAFAT_API int mafat_arena_open(struct mafat_arena **out, struct mafat_diagnostic *d);
MAFAT_API void mafat_arena_close(struct mafat_arena **arena);

struct mafat_rank_link; /* internal to the program mafat_ranks */

enum {
  MAFAT_MAX_THREADS = 64,
  MAFAT_THREADS_AUTO = -1,                 /* the number that is predicted to be the fastest */
  MAFAT_DEFAULT_BIAS_BYTES = 31 << 20,     /* constant that the MAFAT paper's predictor adds: the
                                              default of "bias" in the search "greedy" */
  MAFAT_DEFAULT_RESERVE_BYTES = 256 << 10  /* from measurements */
};

struct mafat_model_options {
  size_t size;
  size_t memory_bytes;  /* budget for the whole process; default: the smallest limit of its cgroups,
                           else the available memory */
  const char *memory_name; /* name of the budget in messages; default "memory_bytes". The text must
                           stay valid until the model or dry run is closed */
  const char *plan;     /* mafat-plan(7); default: the search finds one */
  const char *search;   /* its name and parameters: "motes:beam=8,delta=1.1"; default "best": the
                           plan predicted to be the fastest within the budget.
                           mafat_search_describe (mafat_plan.h) lists searches and parameters */
  int layers;           /* number of layers to run, from the first; default all. Layers after these
                           may have unknown types */
  const int *outputs;   /* (n_outputs) layers that stay readable after a run, besides the last one
                           and the heads. Each is kept whole, which costs memory */
  int n_outputs;
  struct mafat_arena *arena; /* shared with other models; default: the model's own */
  int width, height;    /* of the input, in pixels; default: the cfg's */
  const char *algorithm; /* of convolutions: "direct", "winograd", "winograd-large" (3x3, stride 1);
                           default "auto": the faster one that fits, for each layer */
  int threads;          /* computing threads, the caller's included; default 1; or
                           MAFAT_THREADS_AUTO */
  const char *cpu;      /* highest kernel level, such as "avx2" (run_inference --help lists all);
                           default: the highest that this CPU supports */
  bool best_effort;     /* run the smallest plan even if it does not fit */
  const char *picture;  /* picture file; the decoder's memory is predicted from its header. Default:
                           the prediction assumes an upright baseline JPEG of 12 megapixels */
  bool picture_may_fail; /* if the picture cannot be opened, assume the default one */
  bool floats_only;     /* the model will not run on pictures, only on floats and files of floats */
  struct mafat_warning_sink warnings;
  const char *fork;     /* the Darknet fork of a cfg: "darknet" (pjreddie's), "alexeyab"; default
                           "auto": by the cfg's keys. It decides batch normalization, resizing and
                           suppression */
  int max_boxes;        /* largest number of candidates above the threshold that detection keeps, 1
                           to 1000000; the least confident ones are dropped. A box of two classes
                           counts twice. Default: the number of the heads' boxes, at least 2304, at
                           most 4096. The candidates' memory is part of the prediction */
  const size_t *reserve_bytes; /* part of the budget for charges that cannot be predicted, such as
                           the file system's; default MAFAT_DEFAULT_RESERVE_BYTES */
  const char *lock;     /* locks arena and kept weights in memory: "on" (MAFAT_ELIMIT:
                           RLIMIT_MEMLOCK is too low), "off"; default "auto": locks if
                           RLIMIT_MEMLOCK allows it and a memory cgroup has a limit below which the
                           predicted charge is free */
  const char *image_scaling; /* default "exact", as Darknet scales; "fast": a large JPEG is decoded
                           at 1/2, 1/4 or 1/8 of its size, which changes pixels and boxes */
  /* Each byte of a picture becomes (byte - mean) * scale. Default: what pack_weights stored in a
   * packed file, else the model file's values, else those that are usual for the head that decodes
   * the outputs, else 0 and 1 / 255. The defaults of channels, resize and pad are found in the same
   * order. */
  const float *mean, *scale; /* (3) in the order of the input's channels, (1) if it is grey */
  const char *channels; /* the input's channels: "rgb" or "bgr" for three, "gray" for one */
  const char *resize;   /* how a picture is fitted to the input: "stretch"; or, keeping its
                           proportions, "letterbox" (centered), "corner" (top left), "crop" (the
                           middle fills the input) */
  const float *pad;     /* pixel value around a letterbox, 0 to 255; default 114, for Darknet's
                           networks 127.5 */
  const char *decode;   /* head that decodes the outputs of ONNX and TFLite files. Boxes: "yolov5",
                           "yolov8", "yolox", "nanodet", "fastestdet", "ssd", "ultraface", "yunet";
                           "classes"; "darknet": by the layers that are Darknet's heads; "none";
                           default: what pack_weights stored, else "auto": the only head that the
                           outputs' shapes match. MAFAT_EINVAL: the shapes do not match */
  const char *const *constants; /* (n_constants) "NAME=FILE": inputs of an ONNX or TFLite file whose
                                   values are known before the run. FILE: raw values, .npy, or, for
                                   ONNX, a tensor (.pb). If FILE holds weights that the plan reads
                                   during runs, it must not change until the model is closed */
  int n_constants;
  double plan_seconds;  /* time limit of the search in seconds; with one, the plan depends on the
                           machine's speed. Below 0: the first plan found is used. Default: no time
                           limit, but a limit on candidates, the same on every machine; the search
                           continues after the first plan only if better plans are expected to save
                           more time (see `runs`) than it takes. Without `search`, output values do
                           not depend on plan_seconds, and it has no effect if whole maps do not fit
                           the budget */
  const struct mafat_rank_link *link; /* set only by the program mafat_ranks */
  const char *frames;   /* format of video frames (mafat_video.h): "640x480:yuv420p", yuvj420p,
                           nv12, yuyv, rgb24, mjpeg. The arena has room for one; default: none */
  bool frames_stay;     /* a frame stays in the arena until detections are made; false: the run may
                           overwrite rows that it has read */
  bool frames_outside;  /* frames are in the caller's memory; the arena has no buffer for them */
  size_t beside_bytes;  /* part of the budget that the caller itself uses, for example for a
                           camera's buffers */
  double runs;          /* expected number of runs before the model is closed; default 1. The search
                           continues only if it is expected to save more time in these runs than it
                           takes */
};

struct mafat_model;

/* Reads the network, chooses a plan, compares it with the budget, reads the weights that the plan
 * keeps, and maps the arena. weights_path: Darknet's file, or a packed one; NULL if cfg_path is an
 * ONNX, TFLite or packed file, which holds its own (mafat_holds_weights in mafat_file.h). If the
 * plan reads weights during runs, the file stays open and must not change until the model is
 * closed. *out is NULL after a failure. MAFAT_ELIMIT: the plan does not fit; the diagnostic has the
 * bytes that it needs and those of the budget. MAFAT_EIO, MAFAT_EFORMAT, MAFAT_EUNSUPPORTED: a file
 * is wrong. MAFAT_EINVAL: an option is wrong. */
MAFAT_API int mafat_model_open(struct mafat_model **out, const char *cfg_path,
                               const char *weights_path, const struct mafat_model_options *options,
                               struct mafat_diagnostic *d);
MAFAT_API void mafat_model_close(struct mafat_model **model);

enum mafat_model_kind {
  MAFAT_MODEL_OTHER,     /* read by mafat_model_read_output */
  MAFAT_MODEL_DETECTOR,  /* has detection heads: mafat_model_detect */
  MAFAT_MODEL_CLASSIFIER /* ends in [softmax] or is decoded as classes: mafat_model_classify */
};

/* How pictures become the input; the fields are those of mafat_model_options. */
struct mafat_picture_facts {
  const char *channels;  /* NULL: the input takes no pictures */
  const char *resize;
  float mean[3], scale[3]; /* a grey input uses the first */
  float pad;
  const char *source;    /* of mean and scale: "options", "file", "head", "default" */
  const char *assumed;   /* head whose usual preprocessing stands in for values that neither options
                            nor the file give; NULL: nothing is assumed */
};

struct mafat_model_facts {
  size_t size;
  enum mafat_model_kind kind;
  int input_h, input_w, input_c;
  const char *cpu;           /* kernel level: "avx512" */
  size_t budget_bytes;       /* SIZE_MAX: unknown */
  const char *budget_source; /* memory_name, "cgroup limit", "available memory", "unknown" */
  bool packed;               /* the weights file is packed */
  size_t kept_weights_bytes; /* weights that stay in memory from run to run */
  const char *reads_method;  /* how runs read weights: "io_uring", "aio", "thread"; NULL: they read
                                none */
  bool reads_directly;       /* these reads bypass the page cache */
  double load_ms;            /* time to read the kept weights */
  const char *fork;          /* "darknet" or "alexeyab" */
  const char *fork_sign;     /* cfg line that decided it: "line 7: mosaic=1 in [net]"; or NULL */
  int max_boxes;             /* 0: no heads */
  size_t reserve_bytes;
  const char *lock;          /* "on" or "off" */
  const char *lock_reason;   /* why "auto" locked nothing; else NULL */
  size_t locked_bytes;       /* arena and kept weights; a shared arena counts whole */
  struct mafat_picture_facts picture;
  const char *decode;        /* head that decodes the outputs, named as in the options; NULL: the
                                outputs are decoded by Darknet's layers, or not at all */
  const char *decode_sign;   /* output that decided it: "output [1, 3549, 85]"; or NULL */
  int n_inputs, n_outputs;   /* numbers of ports (mafat_model_describe_input, _output) */
  int n_classes;             /* classes that boxes or pictures can have; 0: unknown, or none */
};

MAFAT_API int mafat_model_describe(const struct mafat_model *model,
                                   struct mafat_model_facts *facts);

/* An input or output. Darknet's networks have one input, "data", and one output, "output", which is
 * that of the last layer that runs; the dimensions of both are channels, rows, columns. Other files
 * name their own inputs and outputs. */
struct mafat_port_facts {
  size_t size;
  const char *name;
  const char *type;      /* of its elements in files: "float32", "int32", "int64", "int8", "uint8".
                            In memory they are floats; quantized ones are dequantized */
  int rank;              /* 0 to 8 */
  int64_t dims[8];       /* (rank) */
  size_t n;              /* floats: the product of dims; SIZE_MAX: too many to address */
  double scale;          /* of 8-bit elements: value = scale * (element - zero); 0: not quantized */
  int zero;              /* as the file stores it */
};

/* index: 0 to n_inputs - 1 or n_outputs - 1. MAFAT_EINVAL: out of range. */
MAFAT_API int mafat_model_describe_input(const struct mafat_model *model, int index,
                                         struct mafat_port_facts *facts);
MAFAT_API int mafat_model_describe_output(const struct mafat_model *model, int index,
                                          struct mafat_port_facts *facts);

/* ---- running ----
 *
 * A run discards the outputs of the previous one. If the plan reads weights during runs, each may
 * return MAFAT_EIO (the weights file changed) or MAFAT_EFORMAT (the weights file is damaged). */

/* Decodes a JPEG, PNG, BMP or PPM file into the first input and runs. MAFAT_ELIMIT: this picture's
 * decoder exceeds the budget. MAFAT_EIO, MAFAT_EFORMAT, MAFAT_EUNSUPPORTED: the file. */
MAFAT_API int mafat_model_run_picture(struct mafat_model *model, const char *path,
                                      struct mafat_diagnostic *d);
/* Runs on a picture in memory; the result is the same, bit for bit, as for a PPM file of these
 * pixels. The picture has h rows of w pixels of `channels` bytes: 1 (grey), 3 (red, green, blue) or
 * 4 (the last is ignored). Rows go from the top down and begin `stride` bytes apart. The budget
 * does not count the pixels. MAFAT_EINVAL: not such a picture. */
MAFAT_API int mafat_model_run_pixels(struct mafat_model *model, const unsigned char *pixels, int w,
                                     int h, int channels, size_t stride,
                                     struct mafat_diagnostic *d);
/* Runs on floats for the first input, in the row-major order of its dimensions. MAFAT_EINVAL: n is
 * not the input's size. */
MAFAT_API int mafat_model_run_floats(struct mafat_model *model, const float *floats, size_t n,
                                     struct mafat_diagnostic *d);
/* Runs on a file with the elements of the first input: raw, little-endian and of the input's type;
 * or a NumPy file (.npy) of that type or of floats. Reads bypass the page cache, unless the file is
 * cached. MAFAT_EIO, MAFAT_EFORMAT: the file or its length is wrong. MAFAT_ELIMIT: the read buffer
 * exceeds the budget. */
MAFAT_API int mafat_model_run_raw(struct mafat_model *model, const char *path,
                                  struct mafat_diagnostic *d);

/* Sets an input for the runs that follow. floats: in the row-major order of its dimensions, not
 * copied, so they must stay valid until those runs end. path: a file, as for mafat_model_run_raw.
 * name NULL: the only input. floats or path NULL: unsets it. MAFAT_EINVAL: no such input, or n is
 * not its size. */
MAFAT_API int mafat_model_set_input(struct mafat_model *model, const char *name,
                                    const float *floats, size_t n, struct mafat_diagnostic *d);
MAFAT_API int mafat_model_set_input_file(struct mafat_model *model, const char *name,
                                         const char *path, struct mafat_diagnostic *d);
/* Runs on the inputs that were set. MAFAT_EINVAL: one is not set. Also fails as mafat_model_run_raw
 * does. The other functions that run take only the first input from their arguments; all other
 * inputs must have been set. */
MAFAT_API int mafat_model_run_inputs(struct mafat_model *model, struct mafat_diagnostic *d);

/* Ends the run in progress; may be called from any thread or a signal handler. The run returns
 * MAFAT_ECANCELED after its current step, or the current row of a picture. It leaves no output to
 * read; the model can run again. Between runs this does nothing. The model must not be closed at
 * the same time, and must not be one that runs on several devices. */
MAFAT_API void mafat_model_cancel(struct mafat_model *model);

/* Returns the arena's pages to the system until the next run, which takes milliseconds longer. The
 * outputs are lost; kept weights stay. Does nothing while another model runs in a shared arena, or
 * has outputs there. */
MAFAT_API void mafat_model_rest(struct mafat_model *model);

struct mafat_run_facts {
  size_t size;
  double image_ms;           /* opening, decoding and scaling the picture, or reading floats */
  double layers_ms;          /* the rest of the run's latency: running the layers */
  int picture_w, picture_h;  /* size of the upright picture; boxes are in its pixels */
  bool input_failed;         /* the run failed because of its input */
  uint64_t weights_read_bytes; /* read from the weights file since the model was opened */
  const char *stall_scope;   /* tasks whose stalls on memory are counted (PSI): those of the
                                "cgroup" or the "system"; NULL: unknown */
  uint64_t stall_some_us, stall_full_us; /* time in which at least one task of the scope waited for
                                            memory; in which all waited */
};

/* All facts are 0 before the first run. */
MAFAT_API int mafat_model_last_run(const struct mafat_model *model, struct mafat_run_facts *facts);

/* ---- reading ----
 *
 * These functions return MAFAT_EINVAL if there is no output to read: the model has not run, its
 * last run failed, mafat_model_rest was called since, or another model has used the arena. */

/* Copies all n floats of an output, in the row-major order of its dimensions. The second function
 * copies n floats from index `first` on. name NULL: the only output. MAFAT_EINVAL: no such output,
 * or wrong n. */
MAFAT_API int mafat_model_read_output(const struct mafat_model *model, const char *name,
                                      float *floats, size_t n, struct mafat_diagnostic *d);
MAFAT_API int mafat_model_read_output_part(const struct mafat_model *model, const char *name,
                                           size_t first, float *floats, size_t n,
                                           struct mafat_diagnostic *d);

/* A box. x, y: its top left corner, in pixels of the last picture, or of the input after a run on
 * floats. Coordinates are finite and may be outside the picture. */
struct mafat_detection {
  int class_id;
  float confidence; /* above the threshold */
  float x, y, w, h;
};

/* Boxes, the most confident first. Equal confidences are in the order of class, then head, row,
 * column and anchor. */
struct mafat_detections {
  struct mafat_detection *list; /* (n) */
  size_t n;
  size_t left_out; /* candidates above the threshold beyond max_boxes, all less confident */
  float *points;   /* (n, n_points, 2) x and y of each box's keypoints, in the same pixels as the
                      box; NULL: none. For faces (yunet): right eye, left eye, nose, right and left
                      corner of the mouth */
  int n_points;    /* 0: the head has none */
};

/* Boxes of the last run; none for a network without heads. thresh: boxes have a higher confidence
 * (0.5 in Darknet's programs). nms: if the overlap of two boxes, as intersection over union, is
 * above this, the less confident one is suppressed (0.45 in Darknet's programs). MAFAT_EINVAL: one
 * of them is below 0. */
MAFAT_API int mafat_model_detect(const struct mafat_model *model, float thresh, float nms,
                                 struct mafat_detections **out, struct mafat_diagnostic *d);
MAFAT_API void mafat_detections_close(struct mafat_detections **detections);

struct mafat_class_score {
  int class_id;
  float confidence;
};

/* Writes the likeliest classes of the last run to top (k) and their number to *n, likeliest first,
 * ties by class. MAFAT_EINVAL: not a classifier. MAFAT_ELIMIT: more classes than an int counts. */
MAFAT_API int mafat_model_classify(const struct mafat_model *model, struct mafat_class_score *top,
                                   int k, int *n, struct mafat_diagnostic *d);

#ifdef __cplusplus
}
#endif

#endif
