/* mafat: runs Darknet networks (.cfg and .weights) inside a memory budget.
 *
 * A model is opened once, for a budget or a plan, and then run on pictures or
 * on floats; opening maps all the memory that running needs. Functions return
 * MAFAT_OK or a negative code and explain themselves in a diagnostic, which may
 * be NULL. Everything that is opened is closed by its opener; closing accepts
 * NULL. Separate models may be used from separate threads; one model is used by
 * one thread at a time. After fork() the child may close what its parent has opened, and run
 * models of one thread whose weights are kept; to run others there is MAFAT_EINVAL.
 *
 * Nothing here prints or exits, or changes signals, locale or the allocator's settings
 * (mafat_calibrate aside). Opening gives free memory of the heap back to the system
 * (malloc_trim): what is resident is part of the prediction. */
#ifndef MAFAT_H
#define MAFAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a shared library of mafat shows; of the rest it shows nothing. */
#ifdef __GNUC__
#define MAFAT_API __attribute__((visibility("default")))
#else
#define MAFAT_API
#endif

/* Functions that are given a struct which later versions may lengthen. They are inline, and tell the library how
 * long the struct is that their program knows: see the end of this file. */
#ifdef MAFAT_WITHOUT_INLINE
#define MAFAT_SIZED MAFAT_API
#else
#define MAFAT_SIZED static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum {
  MAFAT_OK = 0,
  MAFAT_ENOMEM = -1,       /* the system refused memory */
  MAFAT_EIO = -2,          /* a file could not be opened, read or written */
  MAFAT_EFORMAT = -3,      /* a file's content is damaged or inconsistent */
  MAFAT_EUNSUPPORTED = -4, /* well-formed, but not something this build runs */
  MAFAT_ELIMIT = -5,       /* a plan or size exceeds a limit or the budget */
  MAFAT_EINVAL = -6        /* an argument or option makes no sense */
};

/* One line: file, line, what was expected, what was found. Behind a call that succeeded it means nothing. */
struct mafat_diagnostic {
  char text[512];
};

/* A short English name for a code; never NULL, also for unknown codes. */
MAFAT_API const char *mafat_error_name(int code);

#ifdef __GNUC__
#define MAFAT_PRINTF(format, first) __attribute__((__format__(__printf__, format, first)))
#else
#define MAFAT_PRINTF(format, first)
#endif

/* For callbacks: formats into d, which may be NULL, and returns code. What is too long
 * for it loses its middle, and control characters become question marks: it is one line. */
MAFAT_API int mafat_fail(struct mafat_diagnostic *d, int code, const char *format, ...) MAFAT_PRINTF(3, 4);

/* Receives warnings: text is one line without a newline. NULL is "nobody". */
struct mafat_warning_sink {
  void (*warn)(void *context, const char *text);
  void *context;
};

/* Memory that several models run in, one after the other: it grows to what the largest of them
 * needs. To run two at once is MAFAT_EINVAL for the second, as is to open one that needs a larger
 * arena meanwhile; whoever runs, is opened, or asks for room for a frame, takes away what could be read of
 * the others. It is closed after its models; closed before them, it goes with the last one. */
struct mafat_arena;

MAFAT_API int mafat_arena_open(struct mafat_arena **out, struct mafat_diagnostic *d);
MAFAT_API void mafat_arena_close(struct mafat_arena **arena);

struct mafat_rank_link;

struct mafat_model_options {
  size_t memory_bytes;  /* budget for the whole process; 0 (default): the smallest limit of its
                           cgroups, else the memory that is available */
  const char *memory_name; /* what messages call it: "memory_bytes" (NULL, default), or your program's
                           option. To live as long as the model or query */
  const char *plan;     /* mafat-plan(7). NULL (default): search for one */
  const char *search;   /* "best" (NULL, default): the plan within the budget that is predicted to be the
                           fastest; "greedy": the one that MAFAT's own search finds, by its own
                           predictor; "least": of those that keep all weights and compute nothing twice the
                           one whose maps and scratch take the fewest bytes, the fastest of equals; "fdt": what fused depthwise tiling's flow finds; "motes":
                           what MOTES' beam search finds; "separable": of whole maps, pairs of depthwise and 1x1 layers, and
                           bottlenecks by rows or channels what `objective` says. Whether it may run is decided by its predicted bytes all the same */
  size_t bias_bytes;    /* greedy: what MAFAT's predictor adds to its tiles; default 31 MB, the authors' */
  int layers;           /* run the first so many layers; 0 (default): all. What comes after them may be
                           layers that are not known: then it is as if the cfg, and the weights file,
                           ended there */
  const int *outputs;   /* layers whose output can be read after a run, beside the last one's and the
                           heads': they exist whole to its end, which costs memory; n_outputs of them,
                           default none. Read while the model is opened, not kept */
  int n_outputs;
  struct mafat_arena *arena; /* shared with other models; NULL (default): the model has one of its own */
  int width, height;    /* of the input, in place of the cfg's; 0 (default): the cfg's */
  const char *algorithm; /* of convolutions: "direct", "winograd", "winograd-large" (3x3 layers of stride 1), or "auto"
                           (NULL, default): for each layer the faster one that fits; of a given
                           plan by shapes, direct everywhere if only that fits */
  int threads;          /* that compute, the caller's included; default 1; 0: as many as are predicted to
                           be the fastest, up to the processors */
  const char *cpu;      /* highest kernel level: "portable", "avx2", "avx512", "neon"; NULL (default):
                           the best of this CPU */
  bool best_effort;     /* run the smallest plan even if it does not fit; default false */
  const char *picture;  /* its header says what decoding costs; NULL (default): an upright
                           baseline JPEG of 12 megapixels */
  bool picture_may_fail; /* a picture that cannot be opened is taken for such a JPEG; default false */
  bool floats_only;     /* no pictures will be read, files of floats at most; default false */
  struct mafat_warning_sink warnings; /* default: nobody */
  const char *fork;     /* whose Darknet the network is of: "darknet" (pjreddie's), "alexeyab", or "auto" (NULL,
                           default): AlexeyAB's where the cfg has something that only his reads, which facts
                           name. It decides how batch normalization is computed, how pictures
                           become the input (unless letter_box= says it), and which boxes are suppressed */
  int max_boxes;        /* of the boxes above the threshold, those of the highest confidence that detections are
                           made of, before suppression; one of two classes counts twice. Their memory is part
                           of the prediction. 1 to 1000000; 0 (default): as many as the heads have boxes, but no
                           fewer than 2304 and no more than 4096 */
  size_t reserve_bytes; /* of the budget, left to what is charged to the process's group and is no process's to
                           foresee: the file system's records of files, pages of whoever started it. Part of what
                           is predicted; default: as measured, 256 KB. 0: none */
  const char *lock;     /* arena and kept weights in memory, so that the kernel drops pages of files and does not
                           swap them: "on": MAFAT_ELIMIT where the process may not (RLIMIT_MEMLOCK); "off";
                           "auto" (NULL, default): where it may, and a memory cgroup limits it to no less
                           than is predicted */
  const char *image_scaling; /* of pictures, to the input's size: "exact" (NULL, default), as Darknet does; "fast":
                           a JPEG of at least twice its size in the input is decoded to a half, a quarter or an
                           eighth of its sides first: less work and memory, and other pixels, so other boxes */
  /* How pictures become the input: of each channel (byte - mean) * scale, where a byte is 0 to 255. What is NULL is as
   * the model's file says, if it does, and else as the defaults here. Read while the model is opened, not kept. */
  const float *mean, *scale; /* (3) in the order of the input's channels; of a grey input (1). Default 0, and 1 / 255 */
  const char *channels; /* of an input of three: "rgb" (default), "bgr"; "gray": of one */
  const char *resize;   /* "stretch": to fill the input (default, but as the cfg has it); keeping the proportions:
                           "letterbox", in the middle of what is `pad`; "corner", the same at its left and top; "crop",
                           so that the picture's middle fills it. Boxes are of the picture's pixels all the same */
  const float *pad;     /* a byte of 0 to 255 for all channels; default 114, of Darknet's networks 127.5 */
  const char *decode;   /* what outputs of an ONNX or TFLite file hold: "yolov5", "yolov8", "yolox", "nanodet", "fastestdet",
                           "ssd", "ultraface", "yunet": boxes; "classes"; "auto" (NULL, default): one of these, where their
                           dimensions are no other's, as facts tell; "darknet": what layers of Darknet's say; "none": not
                           even that. MAFAT_EINVAL: the outputs are not so */
  const char *const *constants; /* "NAME=FILE": inputs of an ONNX or TFLite file that are known beforehand, such as shapes,
                           axes and weights that its operators need so; n_constants of them, default none. FILE: raw
                           numbers, as the model has the input, an array of NumPy (.npy), or, of ONNX, a tensor (.pb).
                           Weights stay in it. Read while the model is opened, not kept */
  int n_constants;
  double plan_seconds;  /* that looking for a plan may take: what is found by then is taken. The more, the better it may be, and
                           not the same every time. What it begins with takes up to two seconds of networks of hundreds of layers,
                           however short that is. 0 (default): until so much has been looked at, the same on any machine */
  const struct mafat_rank_link *link; /* to the other ranks of a plan that has them: build/mafat_ranks makes one; default NULL */
  const char *tiling;   /* of the search "fdt": "fdt", along channels; "ffmt", along rows and columns; "both" (NULL, default) */
  const char *layout;   /* what that search places buffers by while it looks for a plan: "ours" (NULL, default), as the arena is;
                           "published", hill climbing. Any plan's arena is ours. MAFAT_EINVAL: given, and the search is another */
  double delta;         /* search "motes": how many times as long as whole maps its plan may take, by prediction or `measure`; 0 (default): 1.05 */
  int beam;             /* and how many states it keeps, up to 64; 0 (default): 8 */
  const char *objective; /* search "separable": "latency" (NULL, default), what is predicted to be the fastest; "transfers", what moves
                           fewest bytes between a fast memory */
  size_t fast_bytes;    /* of this size and the rest (mafat_answer_moves); 0 (default): 64 KB */
  const char *cells;    /* search "motes": the layers that its cells begin with, as in "2,43,92"; NULL (default): they are found, by dominance */
  bool measure;         /* and how long plans take is measured by running them on zeros, not predicted: whole maps first, so that MAFAT_ELIMIT
                           is what the budget (of a query, the machine) has no room for. The plan is not the same every time, and its charge holds what was
                           needed to measure; default false */
  const char *frames;   /* of video, for mafat_model_run_frame, in place of pictures: "640x480:yuv420p", or yuvj420p, nv12, yuyv, rgb24, mjpeg. One of
                           them has room in the arena (mafat_model_frame_room), as a part of the plan; NULL (default): there are none */
  bool frames_stay;     /* a frame lies there untouched until its run is over and detections are made; else what runs may lie over it
                           once all of it was read; default false */
  bool frames_outside;  /* frames lie in memory of the caller's, and need no room; default false */
  size_t beside_bytes;  /* of the budget, memory that the caller holds beside the model, such as buffers of a camera; default 0 */
};

/* Options of NULL, for a model or a query, are these. */
MAFAT_SIZED void mafat_model_defaults(struct mafat_model_options *options);

struct mafat_model;

/* Is this a file that pack_weights made, or mafat_pack_open? It holds a network and its weights. */
MAFAT_API bool mafat_is_packed(const char *path);

/* Does this file hold a network and its weights: ONNX, TFLite, or a packed one? By its first bytes. Of a pipe that the process
 * holds open (/dev/stdin, /dev/fd/3) they stay there; a named one is opened by its user, who gives it so: else it is taken for a cfg. */
MAFAT_API bool mafat_holds_weights(const char *path);

/* Reads the network, chooses the plan, checks it against the budget, reads the
 * weights that the plan keeps and maps the arena. weights_path: Darknet's file, or
 * one that pack_weights made of it. What holds its own (mafat_holds_weights) stands alone as cfg_path, weights_path
 * NULL; if the plan reads weights in runs, it stays open and must not change until the model is closed. MAFAT_ELIMIT:
 * does not fit, the diagnostic names the bytes; MAFAT_EFORMAT, MAFAT_EUNSUPPORTED, MAFAT_EIO: the files; MAFAT_EINVAL:
 * the options; MAFAT_ENOMEM. *out is NULL after a failure. */
MAFAT_SIZED int mafat_model_open(struct mafat_model **out, const char *cfg_path, const char *weights_path,
                                 const struct mafat_model_options *options, struct mafat_diagnostic *d);
MAFAT_API void mafat_model_close(struct mafat_model **model);

/* Decodes a JPEG, PNG or PPM file into the network's input and runs it.
 * MAFAT_ELIMIT when this picture's decoder does not fit into the budget; MAFAT_EIO
 * when somebody writes to it meanwhile; where weights are read in runs, MAFAT_EIO when
 * their file has changed, MAFAT_EFORMAT when it turns out to be damaged. */
MAFAT_API int mafat_model_run_picture(struct mafat_model *model, const char *path,
                            struct mafat_diagnostic *d);
/* The same of a picture in memory: w x h pixels of 1 (grey), 3 (red, green, blue) or 4 (the last one
 * is not looked at) interleaved bytes, rows from the top down, `stride` bytes from one to the next.
 * To the bit what a PPM file of them gives. They are in no budget but the caller's.
 * MAFAT_EINVAL: no such picture. */
MAFAT_API int mafat_model_run_pixels(struct mafat_model *model, const unsigned char *pixels, int w, int h, int channels,
                                     size_t stride, struct mafat_diagnostic *d);
/* What frames of video are, by the options' text. MAFAT_EINVAL: it is none. */
struct mafat_frame_facts {
  int width, height;
  const char *format;   /* "yuv420p" */
  size_t bytes;         /* of a frame; of mjpeg, at most */
  bool varies;          /* no two have to be as long */
};
MAFAT_SIZED int mafat_frame_describe(const char *frames, struct mafat_frame_facts *facts, struct mafat_diagnostic *d);
/* Where a frame is put before its run, so that it is nowhere else: as many bytes as there are in one. It is in the arena, so that the last
 * run's outputs end where it begins to be filled; asked for anew where another model has used a shared arena. NULL: the model was opened
 * without frames, or they lie outside. */
MAFAT_API unsigned char *mafat_model_frame_room(struct mafat_model *model);
/* Runs on a frame, which lies there or in the caller's memory: n bytes, as the options' frames have it, rows of each plane one behind the
 * other. Y, U and V are BT.601's, of 16 to 235 (yuvj420p and mjpeg: of 0 to 255); each pixel takes the nearest U and V, and becomes bytes of
 * red, green and blue, which make of it what a PPM file of them would. MAFAT_EINVAL: no frames were told of, or of another length;
 * of mjpeg also the errors of a picture. */
MAFAT_API int mafat_model_run_frame(struct mafat_model *model, const unsigned char *frame, size_t n, struct mafat_diagnostic *d);
/* The same of a frame of any size that the caller has in memory, whatever frames the model was opened for, or pictures: `frames` as the option of
 * that name has them. It is in no budget but the caller's, and is not seen by mafat_model_frame_rows. */
MAFAT_API int mafat_model_run_frame_of(struct mafat_model *model, const char *frames, const unsigned char *frame, size_t n, struct mafat_diagnostic *d);
/* A frame's pixels, such as boxes are to be drawn on: all its rows, from the top down, y of them being above it, as red, green and blue, width * 3
 * bytes that the callee may change while it runs. What it returns, if not MAFAT_OK, ends this, and is returned; it tells why. A frame of mjpeg is
 * decoded once more; with the option frames_stay what that takes is part of the prediction. Neither the last run's outputs nor its detections
 * change. Errors of mafat_model_run_frame, and of `row`. */
MAFAT_API int mafat_model_frame_rows(struct mafat_model *model, const unsigned char *frame, size_t n,
                                     int (*row)(void *context, unsigned char *rgb, int y, struct mafat_diagnostic *d), void *context,
                                     struct mafat_diagnostic *d);
/* Runs on floats in channel, row, column order, or, of an ONNX or TFLite file, in that of the input's dimensions: n is
 * the input's size; they are in no budget but the caller's. */
MAFAT_API int mafat_model_run_floats(struct mafat_model *model, const float *chw, size_t n,
                           struct mafat_diagnostic *d);

/* A box with a class. x, y: top left corner, in pixels of the last picture (of
 * the network's input after floats); all finite, may lie outside the picture. */
struct mafat_detection {
  int class_id;
  float confidence; /* above the threshold */
  float x, y, w, h;
};

/* Most confident first; of equals the lower class, then the earlier head, cell
 * (row by row) and anchor. */
struct mafat_detections {
  struct mafat_detection *list;
  size_t n;
};

/* The boxes of the last run; none for a network without detection heads. thresh
 * and nms as Darknet's (0.5, 0.45). MAFAT_EINVAL: there is no output to read, for there was
 * no run, the last one failed, the model has rested since, or another has used their arena. */
MAFAT_API int mafat_model_detect(const struct mafat_model *model, float thresh, float nms,
                       struct mafat_detections **out, struct mafat_diagnostic *d);
/* Boxes above the threshold, once for each class, that were not looked at because there were more than
 * max_boxes: they are all less confident than those that were, whose list is as it would be with them,
 * but for its end. NULL: 0. */
MAFAT_API size_t mafat_detections_left_out(const struct mafat_detections *detections);
/* Points that belong to box `index`, of faces (yunet): right eye, left eye, nose, right and left corner of the mouth. x
 * and y of each, *n of them, in pixels as the box's, and behind them those of the boxes that follow; they live as long
 * as the list. NULL, and 0: it has none. */
MAFAT_API const float *mafat_detections_points(const struct mafat_detections *detections, size_t index, int *n);
MAFAT_API void mafat_detections_close(struct mafat_detections **detections);

/* Of the network: its input, the layers that are run, and what one of these puts out.
 * MAFAT_EINVAL: there is no such layer. */
MAFAT_API void mafat_model_input_shape(const struct mafat_model *model, int *h, int *w, int *c);
MAFAT_API int mafat_model_n_layers(const struct mafat_model *model);
MAFAT_API int mafat_model_layer_shape(const struct mafat_model *model, int layer, int *h, int *w, int *c);
/* The last layer's output: its shape, and a copy in channel, row, column order; zeros
 * where there is none to read. */
MAFAT_API void mafat_model_output_shape(const struct mafat_model *model, int *h, int *w, int *c);
MAFAT_API void mafat_model_read_output(const struct mafat_model *model, float *chw);
/* The same of any layer that stays readable after a run: the last one, the detection
 * heads and those of the options' outputs. MAFAT_EINVAL: another layer, or there is no output to read
 * (mafat_model_detect). */
MAFAT_API int mafat_model_read_layer(const struct mafat_model *model, int layer, float *chw,
                           struct mafat_diagnostic *d);

/* Gives the pages of the arena back to the system until the next run, which gets them
 * again (milliseconds); the outputs of the last run are gone. Weights that are kept stay. In a
 * shared arena nothing happens while another model runs, or its output can be read. */
MAFAT_API void mafat_model_rest(struct mafat_model *model);

/* How many of a cfg's layers, from the first on, this library runs, and how many there are.
 * Where it does not run all, *why names the first that it does not. MAFAT_EFORMAT, MAFAT_EIO,
 * MAFAT_EUNSUPPORTED (of [net] itself): the cfg, which *why explains too. */
MAFAT_API int mafat_cfg_known_layers(const char *cfg_path, int *known, int *all, struct mafat_diagnostic *why);

/* The plan in force as text, and the bytes it was predicted to need: what a
 * memory cgroup will count for the process. Valid until the model is closed. */
MAFAT_API const char *mafat_model_plan(const struct mafat_model *model);
MAFAT_API size_t mafat_model_charge_bytes(const struct mafat_model *model);

/* ---- what is known of models: plain data ----
 *
 * Structs that a function fills whole. Texts in them live as long as the handle they
 * were asked of; a later version may add fields at a struct's end, but for structs that stand in
 * others or in lists. Bytes are bytes, milliseconds real time, MACs multiply-adds. */

enum { MAFAT_MAX_THREADS = 64 };

/* Where predicted bytes go. At the peak, while the layers run, the parts add up to
 * charge_bytes. */
struct mafat_memory_facts {
  size_t process;     /* resident in this process whatever the plan: code, heap, stack */
  size_t threads;     /* that compute beside the caller's: their stacks */
  size_t weights;     /* kept, and those that are loaded at the peak */
  size_t activations;
  size_t input;
  size_t scratch;
  size_t io;          /* where streamed weights are read to; page cache of the picture's file */
  size_t image;       /* the picture's decoder; what raw floats are read through */
  bool image_before;  /* it works before the layers run, and not while: no part of their sum */
  size_t kernel;      /* the kernel's own for the process */
  size_t rest;        /* gaps in the arena, rounding up, what the kernel charges ahead, and the reserve */
  size_t resident_bytes; /* of the process while the layers run: at most */
  size_t charge_bytes;   /* what a memory cgroup counts for it: at most; budgets are compared with it */
};

/* A plan, and what it is predicted to take. */
struct mafat_plan_facts {
  const char *text;      /* as in mafat_model_options.plan */
  const char *algorithm; /* of convolutions, where the text says nothing else: as in the options */
  int threads;           /* that compute */
  int n_layers, n_groups;
  bool fits;             /* memory.charge_bytes within the budget */
  struct mafat_memory_facts memory;
  size_t arena_bytes;       /* the one mapping that holds all but kept weights */
  size_t arena_bound_bytes; /* the largest sum of what lives at one time in it: no arena could be smaller */
  const char *peak_name;    /* the largest thing at the peak: "activations", "scratch", "input",
                               "kept weights", "weights", "io" */
  int peak_layer;           /* whose it is; -1: no layer's */
  size_t peak_bytes;
  uint64_t macs;            /* as direct convolution counts, whatever the algorithm */
  uint64_t redundant_macs;  /* of them: computed again where tiles overlap */
  uint64_t padded_macs;     /* that kernels multiply, with padding, and with Winograd's savings */
  uint64_t weights_read_bytes; /* from the file in every run; 0: all are kept */
  double latency_ms;        /* predicted, of all layers: without opening and decoding a picture */
  double compute_ms;        /* of it: computing */
  double reading_ms;        /* reading weights, were it alone; most of it happens beside computing */
  bool calibrated;          /* by this machine's calibration; else by built-in figures */
};

/* Layers that are run together. */
struct mafat_group_facts {
  int first, last;       /* layers, both included */
  char cut[256];         /* as in the plan's text: "rows4", "5x5:balanced"; without words for weights */
  int rows;              /* rolling windows of at least so many rows; 0: none */
  bool panels;           /* whole maps, some filters at a time */
  int tile_rows, tile_cols; /* else: tiles of the group's output; 1 x 1 is a whole map */
  const char *weights;   /* "kept", "loaded" (in every run, for as long as the group runs), "streamed" */
  size_t peak_bytes;     /* the largest sum of what lives in the arena while it runs */
  uint64_t macs, redundant_macs, padded_macs;
  size_t paper_bytes;    /* answers only: what Algorithm 1 says of it, without the bias; 0: nothing */
};

struct mafat_layer_facts {
  const char *type;      /* the cfg's word: "convolutional" */
  int in_h, in_w, in_c, out_h, out_w, out_c;
  int size, stride, filters; /* as far as the type has them, else 0 */
  int group;             /* that it is run in */
  int inside;            /* the layer in whose step it is computed, without a map of its own; -1: in its own */
  const char *algorithm; /* of a convolution: "direct", "winograd", "winograd-large"; else NULL */
  const char *weights;   /* as of its group, but for small layers and those that cannot be read a part at a time; NULL: none */
  size_t weights_bytes;  /* packed */
  uint64_t macs;         /* its own, with what is computed again */
  uint64_t step_macs;    /* of its step: with those of layers inside it; 0 for these */
  size_t arena_bytes;    /* of its output and of what it works in */
  double ms;             /* of its step in the last run; 0 where none was, and in answers */
  int position;          /* of its step in the order of the run, from 0 on: its times are 2 * position, when Winograd may
                            transform its input ahead of all else, and the next; of a layer in parts the first one's */
};

enum mafat_model_kind {
  MAFAT_MODEL_OTHER,     /* part of a network, or one that ends otherwise: mafat_model_read_output */
  MAFAT_MODEL_DETECTOR,  /* has detection heads, or outputs decoded as boxes: mafat_model_detect */
  MAFAT_MODEL_CLASSIFIER /* ends in [softmax], or is decoded as classes: mafat_model_classify */
};

/* How pictures become the input, as the options have it. */
struct mafat_picture_facts {
  const char *channels;   /* NULL: the input takes no pictures */
  const char *resize;
  float mean[3], scale[3]; /* of a grey input the first */
  float pad;
  const char *source;     /* of mean and scale: "options", "file", "default" */
};

struct mafat_model_facts {
  enum mafat_model_kind kind;
  int input_h, input_w, input_c;
  const char *cpu;           /* kernel level: "avx512" */
  size_t budget_bytes;       /* SIZE_MAX: not known */
  const char *budget_source; /* the options' memory_name, "cgroup limit", "available memory", "unknown" */
  bool packed;               /* the weights file comes from pack_weights */
  size_t kept_weights_bytes; /* in memory from run to run */
  const char *reads_method;  /* of weights in runs: "io_uring", "aio", "thread"; NULL: all are kept */
  bool reads_directly;       /* past the page cache */
  double load_ms;            /* that opening took to read kept weights */
  struct mafat_plan_facts plan; /* its memory with the decoder of the last picture */
  const char *fork;          /* "darknet" or "alexeyab" */
  const char *fork_sign;     /* what of the cfg says so: "line 7: mosaic=1 in [net]"; NULL: nothing, or the options do */
  int max_boxes;             /* that detections are made of at most, as the options or the network have it; 0: no heads */
  size_t reserve_bytes;      /* of the options: so much of plan.memory.rest */
  const char *lock;          /* "on" or "off": are arena and kept weights locked in memory? */
  const char *lock_reason;   /* why "auto" has locked nothing, in a few words; else NULL */
  size_t locked_bytes;       /* of both; in a shared arena also for another model */
  struct mafat_picture_facts picture;
  const char *decode;        /* how outputs are decoded, as in the options: "yolox"; NULL: not at all, or as layers of Darknet's say */
  const char *decode_sign;   /* of which dimensions they are: "output [1, 3549, 85]"; NULL: nothing is decoded */
};

MAFAT_SIZED void mafat_model_describe(const struct mafat_model *model, struct mafat_model_facts *facts);
/* Layers from 0 to plan.n_layers - 1, groups to plan.n_groups - 1. MAFAT_EINVAL: no such one;
 * then nothing is filled. */
MAFAT_SIZED int mafat_model_layer(const struct mafat_model *model, int layer, struct mafat_layer_facts *facts);
MAFAT_SIZED int mafat_model_group(const struct mafat_model *model, int group, struct mafat_group_facts *facts);

/* ---- running: what else can be asked ---- */

/* mafat_model_run_floats on a file that holds exactly these numbers, little-endian and of the input's type
 * (mafat_port_facts), or as NumPy writes an array of them or of floats (.npy, of its dimensions); it is read ahead of
 * the layers, and past the page cache unless it is there. MAFAT_EIO, also when somebody writes to it meanwhile;
 * MAFAT_EFORMAT: it has another length, or ended while it was read; MAFAT_ELIMIT: what it is read through does not fit
 * into the budget. */
MAFAT_API int mafat_model_run_raw(struct mafat_model *model, const char *path, struct mafat_diagnostic *d);

/* ---- inputs and outputs by name ---- */

/* An input or output. A network of Darknet's has one input, "data", and one output, "output", of the last layer that
 * is run: channels, rows, columns. Of other files they are the file's own. */
struct mafat_port_facts {
  const char *name;
  const char *type;          /* "float32"; of an input also "int32", "int64", "int8" or "uint8": its elements in files. In memory
                              * they are floats: of 8 bits what they mean, which becomes the nearest number */
  int rank;                  /* 0 to 8 */
  int64_t dims[8];           /* (rank) */
  size_t n;                  /* floats: all dimensions multiplied; SIZE_MAX: more than can be addressed */
  double scale;              /* of 8-bit numbers in the model: they mean scale * (number - zero); 0: there are none */
  int zero;                  /* as the model's file has it: of int8 from -128 on */
};

MAFAT_API int mafat_model_n_inputs(const struct mafat_model *model);
MAFAT_API int mafat_model_n_outputs(const struct mafat_model *model);
/* From 0 on. MAFAT_EINVAL: no such one. */
MAFAT_SIZED int mafat_model_describe_input(const struct mafat_model *model, int index, struct mafat_port_facts *facts);
MAFAT_SIZED int mafat_model_describe_output(const struct mafat_model *model, int index, struct mafat_port_facts *facts);

/* What the runs that follow take for an input: floats in the row-major order of its dimensions, which stay the caller's
 * and where they are; or a file, as mafat_model_run_raw reads it. name: NULL is the only input. NULL in place of floats
 * or path: nothing any more. MAFAT_EINVAL: no such input, another number of floats. */
MAFAT_API int mafat_model_set_input(struct mafat_model *model, const char *name, const float *floats, size_t n,
                                    struct mafat_diagnostic *d);
MAFAT_API int mafat_model_set_input_file(struct mafat_model *model, const char *name, const char *path,
                                         struct mafat_diagnostic *d);
/* Runs on the inputs as they were set. MAFAT_EINVAL: one was not; errors of reading as of mafat_model_run_raw. Runs
 * on a picture, or on one array or file, take it for the first input and the others as they were set. */
MAFAT_API int mafat_model_run_inputs(struct mafat_model *model, struct mafat_diagnostic *d);

/* After a run: an output in the row-major order of its dimensions, all n floats of it; or n of them from number
 * `first` on. name: NULL is the only output. MAFAT_EINVAL: no such output, another number of floats, no output to read
 * (mafat_model_detect). */
MAFAT_API int mafat_model_read_output_named(const struct mafat_model *model, const char *name, float *floats, size_t n,
                                            struct mafat_diagnostic *d);
MAFAT_API int mafat_model_read_output_part(const struct mafat_model *model, const char *name, size_t first,
                                           float *floats, size_t n, struct mafat_diagnostic *d);

struct mafat_run_facts {
  double image_ms;           /* opening, decoding and scaling the picture, or reading the floats */
  double layers_ms;          /* all else: the run's latency is both */
  int picture_w, picture_h;  /* as seen; what boxes are relative to */
  bool input_failed;         /* the run failed for its picture or floats, and not for running */
  uint64_t weights_read_bytes; /* from the weights file since the model was opened */
  const char *stall_scope;   /* who waited for memory meanwhile, as the kernel counts (PSI): "cgroup": the tasks of
                                the process's group; "system": all; NULL: it does not count */
  uint64_t stall_some_us, stall_full_us; /* for so long some of them, or all of them at once; 0 if not known */
};

/* All 0 before the first run. */
MAFAT_SIZED void mafat_model_last_run(const struct mafat_model *model, struct mafat_run_facts *facts);

/* A part of a layer's work: these channels of these rows and columns of its output (or, with
 * layers computed inside it, of theirs), ends excluded. One layer may take many. */
struct mafat_step_facts {
  int layer;                 /* -1: rows of the picture */
  int channel_begin, channel_end, row_begin, row_end, col_begin, col_end;
  double from_ms, to_ms;     /* of CLOCK_MONOTONIC */
};

/* `ran` is told of every step of the runs that follow, by the caller's thread, between
 * steps: it may ask mafat_model_describe, _layer and _group, and its time is the run's. NULL: nobody is
 * told, as at the start. */
MAFAT_API void mafat_model_set_watch(struct mafat_model *model,
                                     void (*ran)(void *context, const struct mafat_step_facts *step), void *context);

struct mafat_class_score {
  int class_id;
  float confidence;
};

/* The k likeliest classes of the last run into top (k), likeliest first, of equals the
 * lower; *n: how many. MAFAT_EINVAL: the model is no classifier; MAFAT_ELIMIT: more classes than an int counts. */
MAFAT_API int mafat_model_classify(const struct mafat_model *model, struct mafat_class_score *top, int k, int *n,
                                   struct mafat_diagnostic *d);

/* Row y of channel c of what a layer puts out, into row (its width), for those who have no room
 * for a copy of all. Which layers, and when: as mafat_model_read_layer. MAFAT_EINVAL. */
MAFAT_API int mafat_model_read_row(const struct mafat_model *model, int layer, int c, int y, float *row,
                                   struct mafat_diagnostic *d);

/* ---- this process ---- */

/* Since its start; of swap: the whole system's, since its start. 0 where the system does not say. */
struct mafat_process_facts {
  size_t resident_bytes; /* now, to the page */
  size_t peak_bytes;     /* at most so far; the kernel counts it in batches: up to 0.2 MB off */
  uint64_t swap_in_bytes, swap_out_bytes;
  uint64_t major_faults; /* pages that had to be read */
};

MAFAT_SIZED void mafat_process_measure(struct mafat_process_facts *facts);

/* What was measured of a model's process, beside its prediction. */
struct mafat_check {
  bool holds;            /* nothing to be told: not more than predicted, and not much less (2 % and 256 KB)
                            but for reasons that are known */
  bool in_arena;         /* less than predicted, and most of it in the arena; else the process differs */
  size_t predicted_bytes, measured_bytes;
  size_t off_bytes;      /* by which that part differs from its prediction */
};

/* resident_bytes: of mafat_process_measure after a run, before the memory of its answers. It holds
 * for programs with one model, opened early, which is what predictions are made for. */
MAFAT_SIZED void mafat_model_check(const struct mafat_model *model, size_t resident_bytes, struct mafat_check *check);

/* ---- asking without running ---- */

/* Which plans there are for a network, and what each would cost, in milliseconds and without
 * weights. One query is used by one thread at a time. */
struct mafat_query;

struct mafat_query_facts {
  int input_h, input_w, input_c, n_layers;
  const char *cpu;
  size_t budget_bytes;   /* of the options, or found; SIZE_MAX: not known */
  const char *budget_source; /* as of mafat_model_facts */
  bool packed;           /* the weights file comes from pack_weights */
  bool weights_assumed;  /* none was named: Darknet's */
  bool floats_only;      /* as the options say, or the channels are no picture's */
  bool picture_assumed;  /* else none was named: an upright baseline JPEG of 12 megapixels */
  bool plan_given;       /* not searched for */
  bool greedy;           /* searched for by MAFAT's own search */
  int threads;           /* of the options; 0: searched for, too */
  size_t bias_bytes;
  int n_front;           /* plans in mafat_query_front; at least 1 */
  const char *fork, *fork_sign; /* as of mafat_model_facts */
  size_t reserve_bytes;  /* of the options: so much of an answer's memory.rest */
  struct mafat_picture_facts picture;
  const char *decode, *decode_sign; /* as of mafat_model_facts */
  bool least;            /* searched for as the least of maps and scratch */
  uint64_t n_weights;    /* that its layers multiply with: neither biases nor what normalizes */
  const char *search;    /* that finds answers' plans, by name; NULL: a plan is given */
  const char *searched;  /* what its plans are: "the best there is"; NULL, too */
  bool one_plan;         /* of that search: the same for every budget */
};

/* What finds plans (mafat_model_options.search). */
struct mafat_search_facts {
  const char *name;      /* "best" */
  const char *searched;  /* what its plans are: "the best there is" */
  bool one_plan;         /* the same for every budget */
  bool by_paper;         /* goes by the paper's predictor, and adds bias_bytes */
  bool timed;            /* looks at plans for plan_seconds, where that is set */
  bool tiles;            /* goes by the options' tiling and layout */
  bool beams;            /* goes by delta, beam, cells and measure */
  bool separable;        /* goes by objective and fast_bytes */
};

/* Number `index` of them; the first is what is taken where none is named. MAFAT_EINVAL: no such one. */
MAFAT_SIZED int mafat_search_describe(int index, struct mafat_search_facts *facts);

/* weights_path: only what kind of file it is; NULL: Darknet's, or cfg_path itself, which is packed. options->picture:
 * NULL, an ordinary one is assumed, or floats where the network's channels are no picture's. Errors as of
 * mafat_model_open, but what does not fit is none. *out is NULL after a failure. */
MAFAT_SIZED int mafat_query_open(struct mafat_query **out, const char *cfg_path, const char *weights_path,
                                 const struct mafat_model_options *options, struct mafat_diagnostic *d);
MAFAT_API void mafat_query_close(struct mafat_query **query);
MAFAT_SIZED void mafat_query_describe(const struct mafat_query *query, struct mafat_query_facts *facts);

/* ---- on several devices: what the ranks of build/mafat_ranks would need ---- */

struct mafat_rank_facts {
  size_t arena_bytes, weights_bytes; /* of its parts; weights: kept */
  uint64_t sent_bytes, received_bytes;
  int messages;                      /* that it sends */
  double compute_ms, waiting_ms;     /* until what others make is there */
};

struct mafat_shared_layer_facts {
  int layer;
  const char *type, *how; /* "rows", "fan-out", "fused-out", "fused-in", "whole" */
};

/* All of it is the answer's. */
struct mafat_ranks_facts {
  const char *plan, *search; /* search: by which it was found; NULL: it was given */
  int n_ranks;
  const struct mafat_rank_facts *ranks; /* (n_ranks) */
  int switch_layer;          /* the first that is shared by its weights, of those that have any; -1: there is none */
  int n_layers;
  const struct mafat_shared_layer_facts *layers; /* (n_layers) those with weights */
  uint64_t exchanged_bytes;
  double latency_ms;         /* until rank 0 has what is put out */
};

struct mafat_ranks_answer;

struct mafat_ranks_question {
  int n_ranks;
  const char *search;          /* "deeperthings" (NULL), "fdto", "layers", "best"; not looked at where the query has a plan */
  double link_bits_per_second; /* of any two ranks, */
  double link_seconds;         /* and what a message takes beside its bytes */
  const double *speeds;        /* (n_ranks) above 0: of each beside what is predicted for this machine; NULL: 1. Each gets as much to do */
  const size_t *memory_bytes;  /* (n_ranks) for arena and weights of each; NULL: the query's budget, where one was given */
  double plan_seconds;         /* that the search "best" may take: what is found by then is taken; 0: the query's, or until all has been looked at */
};

/* MAFAT_EINVAL; MAFAT_ELIMIT: some rank needs more than it has. */
MAFAT_SIZED int mafat_query_ranks(struct mafat_ranks_answer **out, const struct mafat_query *query,
                                  const struct mafat_ranks_question *question, struct mafat_diagnostic *d);
MAFAT_API const struct mafat_ranks_facts *mafat_ranks_answer_facts(const struct mafat_ranks_answer *answer);
MAFAT_API void mafat_ranks_answer_close(struct mafat_ranks_answer **answer);

/* As of a model. */
MAFAT_API int mafat_query_n_inputs(const struct mafat_query *query);
MAFAT_API int mafat_query_n_outputs(const struct mafat_query *query);
MAFAT_SIZED int mafat_query_describe_input(const struct mafat_query *query, int index, struct mafat_port_facts *facts);
MAFAT_SIZED int mafat_query_describe_output(const struct mafat_query *query, int index, struct mafat_port_facts *facts);

/* One of the plans none of which another beats in both bytes and milliseconds. */
struct mafat_front_facts {
  const char *text;      /* its plan */
  int threads;
  size_t charge_bytes;
  double latency_ms;
};

/* Plan number `index` of them, by rising bytes and falling milliseconds: the first needs least of
 * all plans; what a model takes for a budget is the last that is within it. Whatever plan the options give.
 * MAFAT_EINVAL: no such one. */
MAFAT_SIZED int mafat_query_front(const struct mafat_query *query, int index, struct mafat_front_facts *facts);
/* Budgets that tell something about this network, rising: from the least that fits to the
 * most that is of use; with the greedy search the paper's. At most `room`; returns how many. */
MAFAT_API int mafat_query_budgets(const struct mafat_query *query, size_t *budgets, int room);

/* The same network and options with its weights as pack_weights would have them: "float32", "fp16", "int8" or "int4" ("float32",
 * too, reads them from a packed file), those of a layer that does not take the type wider. What packing would buy. Closed
 * before the query that it is made of. MAFAT_EINVAL: no such type; MAFAT_EUNSUPPORTED: a type by which no weights
 * become fewer bytes; MAFAT_ENOMEM. *out is NULL after a failure. */
MAFAT_API int mafat_query_pack(struct mafat_query **out, const struct mafat_query *query, const char *weights,
                               struct mafat_diagnostic *d);

/* What a model would be for one budget. */
struct mafat_answer;

/* budget_bytes 0: the query's. The answer is closed before its query. MAFAT_EINVAL, MAFAT_ELIMIT:
 * a given plan is none for this network; MAFAT_ENOMEM. *out is NULL after a failure. */
MAFAT_API int mafat_query_answer(struct mafat_answer **out, const struct mafat_query *query, size_t budget_bytes,
                                 struct mafat_diagnostic *d);
MAFAT_API void mafat_answer_close(struct mafat_answer **answer);
MAFAT_API void mafat_answer_describe(const struct mafat_answer *answer, struct mafat_plan_facts *facts);
/* As of a model. */
MAFAT_SIZED int mafat_answer_layer(const struct mafat_answer *answer, int layer, struct mafat_layer_facts *facts);
MAFAT_SIZED int mafat_answer_group(const struct mafat_answer *answer, int group, struct mafat_group_facts *facts);

/* Bytes moved between a fast memory of some size and the rest, were tiles copied in and out explicitly: layers in units that
 * are computed together there. Closed before the answer, or the model, that it is of. */
struct mafat_moves;

struct mafat_unit_facts {
  int first, last, n_layers; /* what follows each other: each reads the one before alone */
  const char *how;       /* "alone", "dw-pw rows", "pw-dw channels", "pw-dw rows", "bottleneck rows" */
  bool fits;             /* else no tile has room, and each byte is counted once */
  bool runs;             /* the plan computes these layers together */
  int extent;            /* rows or channels of a tile of what is fused; of one layer rows of its output */
  int row_tiles, channel_tiles;
  uint64_t input_bytes, again_bytes; /* moved in; of them not for the first time, as tiles share rows or come again */
  uint64_t output_bytes, weights_bytes;
  uint64_t room_bytes;   /* that a tile takes */
};

/* objective NULL: what the plan computes together, of what units can be. "transfers": what moves fewest bytes; "latency": what
 * is predicted to be the fastest, of what the executor has. MAFAT_EINVAL: another one; MAFAT_ENOMEM. */
MAFAT_API int mafat_answer_moves(struct mafat_moves **out, const struct mafat_answer *answer, size_t fast_bytes,
                                 const char *objective, struct mafat_diagnostic *d);
/* Of what the model runs. */
MAFAT_API int mafat_model_moves(struct mafat_moves **out, const struct mafat_model *model, size_t fast_bytes,
                                struct mafat_diagnostic *d);
MAFAT_API void mafat_moves_close(struct mafat_moves **moves);
/* By their last layers. MAFAT_EINVAL: no such one. */
MAFAT_SIZED int mafat_moves_unit(const struct mafat_moves *moves, int index, struct mafat_unit_facts *facts);

/* The arena of an answer's plan: a place in it for each buffer, for as long as steps need what is in it. */
struct mafat_arena_facts {
  size_t bytes, bound_bytes; /* arena_bytes and arena_bound_bytes of mafat_plan_facts */
  int n_buffers;
  int n_times;               /* lives run from time 0 to the one before it (mafat_layer_facts.position) */
  int peak_time;             /* when bound_bytes live, for the first time */
};

/* Two that live at one time do not overlap. What is kept from run to run is in none. */
struct mafat_buffer_facts {
  const char *tag;      /* "input", "activations", "scratch", "weights" (loaded), "io" */
  const char *what;     /* "map", "scratch", "weights"; of I/O what streamed weights go through: "ring", "panel", "affine" */
  int layer;            /* whose it is; of scratch that a group's layers share the first of them; -1: no layer's */
  int input;            /* of an input's map: which (mafat_query_describe_input); else -1 */
  size_t offset, bytes; /* in the arena */
  int first, last;      /* times of its life, both included */
  int rows;             /* of a map: that are there at a time; else 0 */
};

MAFAT_SIZED void mafat_answer_arena(const struct mafat_answer *answer, struct mafat_arena_facts *facts);
/* From 0 to n_buffers - 1. MAFAT_EINVAL: no such one; then nothing is filled. */
MAFAT_SIZED int mafat_answer_buffer(const struct mafat_answer *answer, int index, struct mafat_buffer_facts *facts);
/* The layer, run in parts, that has one of them at that position; -1: none, or of an input. */
MAFAT_API int mafat_answer_part(const struct mafat_answer *answer, int position);
/* MAFAT_ELIMIT where the plan does not fit, with what opening the model would say. */
MAFAT_API int mafat_answer_check(const struct mafat_answer *answer, struct mafat_diagnostic *d);

/* What MAFAT's own predictor (Algorithm 1 of Farley and Gerstlauer, 2021) says of the plan. */
struct mafat_paper_facts {
  size_t bytes;                  /* with the bias */
  int group;                     /* the largest one */
  int layer, tile_row, tile_col; /* of it; layer -1: none of its layers computes anything */
};

/* MAFAT_EUNSUPPORTED: the plan has more than tiles. */
MAFAT_SIZED int mafat_answer_paper(const struct mafat_answer *answer, struct mafat_paper_facts *facts,
                                   struct mafat_diagnostic *d);

/* ---- writing packed files ----
 *
 * What pack_weights does: a network and its weights in one file, in the order that plans take them, perhaps of narrower types
 * (pack_weights(1), doc/packed.md). */

struct mafat_pack_options {
  const char *weights;     /* their type: "float32" (NULL, default), "fp16", "int8", "int4" */
  const char *activations; /* "float32" (NULL, default); "int8": convolutions between the first and the last ones compute with whole
                              numbers, and weights are int8 */
  const char *const *calibrate; /* then: pictures, n_calibrate of them, by which is chosen what the numbers mean */
  int n_calibrate;
  const char *measure;     /* a picture by which is measured how far each layer's output moves; NULL (default): by those that
                              calibrate, of weights alone not at all */
  double keep_above;       /* a layer that moves by more gets the next wider type, until none does; default infinity */
  const char *fork;        /* as of a model */
  const char *const *constants; /* as of a model */
  int n_constants;
  bool replace;            /* the file, where there is one; default false: that is MAFAT_EINVAL */
  const char *replace_name; /* what messages call it: "replace" (NULL, default), or your program's option */
  struct mafat_warning_sink warnings; /* default: nobody */
};

struct mafat_pack;

/* Options of NULL are these. */
MAFAT_SIZED void mafat_pack_defaults(struct mafat_pack_options *options);

/* Reads the network; nothing is written yet. model_path: a cfg, whose weights are weights_path; or an ONNX or TFLite file, and
 * weights_path NULL. These and all texts of the options stay the caller's until it is closed. Errors as of mafat_model_open;
 * MAFAT_EINVAL: options, what is packed already, a file that would be written over and is none to be. *out is NULL after a failure. */
MAFAT_SIZED int mafat_pack_open(struct mafat_pack **out, const char *model_path, const char *weights_path, const char *out_path,
                                const struct mafat_pack_options *options, struct mafat_diagnostic *d);
/* The next part of the work: the first makes the file, under a name of its own (mafat_pack_facts.path); those that follow write a
 * megabyte, or a part of a layer, or run all pictures; the last gives it its name, and *done is true. After a failure it can only be
 * closed. MAFAT_EFORMAT, MAFAT_EINVAL: weights and pictures; MAFAT_EUNSUPPORTED: no layer can be of int8; MAFAT_EIO, MAFAT_ENOMEM. */
MAFAT_API int mafat_pack_step(struct mafat_pack *pack, bool *done, struct mafat_diagnostic *d);
/* Before it is done, at any time: nothing is left of the file. */
MAFAT_API void mafat_pack_close(struct mafat_pack **pack);

struct mafat_pack_facts {
  const char *path;      /* of the file that is being written: out_path with ".part" behind it */
  int pass;              /* from 0 on: the file is written again where layers are kept wider, or numbers chosen in another way */
  double share;          /* of this pass's bytes that are written; 1: all */
  /* 0 until all but the last step is done, and where nothing is measured. */
  int n_layers, n_ways;  /* that the functions below tell of */
  double error, largest; /* of the network's outputs, all together, as of a layer's */
};

struct mafat_pack_layer_facts {
  int layer;
  const char *type;      /* the cfg's word */
  const char *computes;  /* "float32", or "int8": with whole numbers */
  const char *weights;   /* their type in the file; NULL: it has none */
  size_t bytes;          /* of them, with scales and biases */
  double error;          /* of what it puts out, where all before it is as with floats: root of the mean of squares, relative */
  double largest;        /* difference, of the largest magnitude */
  bool kept;             /* wider than was asked for */
};

/* A way in which was tried what whole numbers mean. */
struct mafat_pack_way_facts {
  const char *ranges;    /* by "least squares", "percentile" */
  bool equalized;        /* channels around depthwise convolutions are made alike first */
  double error;          /* of the outputs */
  bool taken;
};

MAFAT_SIZED void mafat_pack_describe(const struct mafat_pack *pack, struct mafat_pack_facts *facts);
/* From 0 on. MAFAT_EINVAL: no such one. */
MAFAT_SIZED int mafat_pack_layer(const struct mafat_pack *pack, int index, struct mafat_pack_layer_facts *facts);
MAFAT_SIZED int mafat_pack_way(const struct mafat_pack *pack, int index, struct mafat_pack_way_facts *facts);

/* ---- measuring the machine ---- */

struct mafat_calibrate_options {
  const char *cpu;     /* kernel level to measure; NULL (default): the best of this CPU */
  double seconds;      /* that computing may take, about; default 20 */
  size_t memory_bytes; /* that it may take; 0 (default): as a model's budget */
  void (*progress)(void *context, double share); /* told the share that is done, now and then; default NULL */
  void *context;
  struct mafat_warning_sink warnings; /* default: nobody */
};

/* Options of NULL are these. */
MAFAT_SIZED void mafat_calibrate_defaults(struct mafat_calibrate_options *options);

/* Of one thread. 0: not known. */
struct mafat_calibration_facts {
  char path[1024];       /* the file that keeps it, in the user's cache folder */
  char cpu[16];          /* kernel level */
  double conv_gflops, point_gflops;    /* convolutions of 3x3 and larger; of 1x1 */
  double winograd_gflops;              /* its products */
  double winograd_direct_gflops;       /* the same in those that a direct convolution would need */
  double depthwise_gflops;
  double map_read_gbs, map_write_gbs, weights_gbs; /* memory, GB/s */
  double disk_gbs;                     /* past the page cache, in a row */
  double disk_wait_us;                 /* until a lone read begins to arrive */
  double read_us;                      /* of the processor, for each read */
  double packed_gbs, darknet_gbs;      /* taking weights in, by kind of file */
  double thread_step_us;               /* more, of a step that several threads share */
  double fit_error;                    /* median relative error of a layer's milliseconds */
};

/* Measures how fast this machine computes and reads, and keeps it for the predicted milliseconds of
 * models and queries to come: about 20 seconds of networks of random weights, and some disk
 * space while it lasts. MAFAT_ELIMIT: too little memory; MAFAT_EIO: no place for the files; MAFAT_EINVAL: no such
 * level; MAFAT_ENOMEM. Not beside other threads: while it runs, the signals that end a
 * program (INT, TERM, HUP) are its own, to leave no file behind. */
MAFAT_SIZED int mafat_calibrate(struct mafat_calibration_facts *out, const struct mafat_calibrate_options *options,
                                struct mafat_diagnostic *d);

/* "0.1.0" */
MAFAT_API const char *mafat_version(void);

/* ---- what the functions marked MAFAT_SIZED are ----
 *
 * A program and the library that it meets may be of different versions. Structs of options and facts
 * only grow, at their ends, and each call says by sizeof how much of them its program knows. Of options
 * that a program does not know the library takes the defaults; options that the library does not know
 * are MAFAT_EINVAL unless they are 0. Of facts the library fills those that both know, and those that
 * only the program knows with 0.
 *
 * The library also has functions of the plain names, for programs that were linked with version 0.1.0,
 * before there were sizes: their structs are as long as they were then. For those who can call nothing
 * else (or define MAFAT_WITHOUT_INLINE) they are what these names mean. */

MAFAT_API void mafat_model_defaults_sized(struct mafat_model_options *options, size_t bytes);
MAFAT_API int mafat_model_open_sized(struct mafat_model **out, const char *cfg_path, const char *weights_path,
                                     const struct mafat_model_options *options, size_t bytes,
                                     struct mafat_diagnostic *d);
MAFAT_API void mafat_model_describe_sized(const struct mafat_model *model, struct mafat_model_facts *facts,
                                          size_t bytes);
MAFAT_API int mafat_frame_describe_sized(const char *frames, struct mafat_frame_facts *facts, size_t bytes, struct mafat_diagnostic *d);
MAFAT_API int mafat_model_layer_sized(const struct mafat_model *model, int layer, struct mafat_layer_facts *facts,
                                      size_t bytes);
MAFAT_API int mafat_model_group_sized(const struct mafat_model *model, int group, struct mafat_group_facts *facts,
                                      size_t bytes);
MAFAT_API void mafat_model_last_run_sized(const struct mafat_model *model, struct mafat_run_facts *facts, size_t bytes);
MAFAT_API void mafat_process_measure_sized(struct mafat_process_facts *facts, size_t bytes);
MAFAT_API void mafat_model_check_sized(const struct mafat_model *model, size_t resident_bytes,
                                       struct mafat_check *check, size_t bytes);
MAFAT_API int mafat_query_open_sized(struct mafat_query **out, const char *cfg_path, const char *weights_path,
                                     const struct mafat_model_options *options, size_t bytes,
                                     struct mafat_diagnostic *d);
MAFAT_API void mafat_query_describe_sized(const struct mafat_query *query, struct mafat_query_facts *facts,
                                          size_t bytes);
MAFAT_API int mafat_moves_unit_sized(const struct mafat_moves *moves, int index, struct mafat_unit_facts *facts, size_t bytes);
MAFAT_API int mafat_search_describe_sized(int index, struct mafat_search_facts *facts, size_t bytes);
MAFAT_API int mafat_query_front_sized(const struct mafat_query *query, int index, struct mafat_front_facts *facts,
                                      size_t bytes);
MAFAT_API int mafat_answer_layer_sized(const struct mafat_answer *answer, int layer, struct mafat_layer_facts *facts,
                                       size_t bytes);
MAFAT_API int mafat_answer_group_sized(const struct mafat_answer *answer, int group, struct mafat_group_facts *facts,
                                       size_t bytes);
MAFAT_API void mafat_answer_arena_sized(const struct mafat_answer *answer, struct mafat_arena_facts *facts,
                                        size_t bytes);
MAFAT_API int mafat_answer_buffer_sized(const struct mafat_answer *answer, int index, struct mafat_buffer_facts *facts,
                                        size_t bytes);
MAFAT_API int mafat_answer_paper_sized(const struct mafat_answer *answer, struct mafat_paper_facts *facts, size_t bytes,
                                       struct mafat_diagnostic *d);
MAFAT_API int mafat_model_describe_input_sized(const struct mafat_model *model, int index,
                                               struct mafat_port_facts *facts, size_t bytes);
MAFAT_API int mafat_model_describe_output_sized(const struct mafat_model *model, int index,
                                                struct mafat_port_facts *facts, size_t bytes);
MAFAT_API int mafat_query_describe_input_sized(const struct mafat_query *query, int index,
                                               struct mafat_port_facts *facts, size_t bytes);
MAFAT_API int mafat_query_describe_output_sized(const struct mafat_query *query, int index,
                                                struct mafat_port_facts *facts, size_t bytes);
MAFAT_API int mafat_query_ranks_sized(struct mafat_ranks_answer **out, const struct mafat_query *query,
                                      const struct mafat_ranks_question *question, size_t bytes, struct mafat_diagnostic *d);
MAFAT_API void mafat_pack_defaults_sized(struct mafat_pack_options *options, size_t bytes);
MAFAT_API int mafat_pack_open_sized(struct mafat_pack **out, const char *model_path, const char *weights_path, const char *out_path,
                                    const struct mafat_pack_options *options, size_t bytes, struct mafat_diagnostic *d);
MAFAT_API void mafat_pack_describe_sized(const struct mafat_pack *pack, struct mafat_pack_facts *facts, size_t bytes);
MAFAT_API int mafat_pack_layer_sized(const struct mafat_pack *pack, int index, struct mafat_pack_layer_facts *facts, size_t bytes);
MAFAT_API int mafat_pack_way_sized(const struct mafat_pack *pack, int index, struct mafat_pack_way_facts *facts, size_t bytes);
MAFAT_API void mafat_calibrate_defaults_sized(struct mafat_calibrate_options *options, size_t bytes);
MAFAT_API int mafat_calibrate_sized(struct mafat_calibration_facts *out, size_t out_bytes,
                                    const struct mafat_calibrate_options *options, size_t options_bytes,
                                    struct mafat_diagnostic *d);

#ifndef MAFAT_WITHOUT_INLINE
MAFAT_SIZED void mafat_model_defaults(struct mafat_model_options *options)
{
  mafat_model_defaults_sized(options, sizeof *options);
}

MAFAT_SIZED int mafat_model_open(struct mafat_model **out, const char *cfg_path, const char *weights_path,
                                 const struct mafat_model_options *options, struct mafat_diagnostic *d)
{
  return mafat_model_open_sized(out, cfg_path, weights_path, options, sizeof *options, d);
}

MAFAT_SIZED void mafat_model_describe(const struct mafat_model *model, struct mafat_model_facts *facts)
{
  mafat_model_describe_sized(model, facts, sizeof *facts);
}

MAFAT_SIZED int mafat_frame_describe(const char *frames, struct mafat_frame_facts *facts, struct mafat_diagnostic *d)
{
  return mafat_frame_describe_sized(frames, facts, sizeof *facts, d);
}

MAFAT_SIZED int mafat_model_layer(const struct mafat_model *model, int layer, struct mafat_layer_facts *facts)
{
  return mafat_model_layer_sized(model, layer, facts, sizeof *facts);
}

MAFAT_SIZED int mafat_model_group(const struct mafat_model *model, int group, struct mafat_group_facts *facts)
{
  return mafat_model_group_sized(model, group, facts, sizeof *facts);
}

MAFAT_SIZED void mafat_model_last_run(const struct mafat_model *model, struct mafat_run_facts *facts)
{
  mafat_model_last_run_sized(model, facts, sizeof *facts);
}

MAFAT_SIZED void mafat_process_measure(struct mafat_process_facts *facts)
{
  mafat_process_measure_sized(facts, sizeof *facts);
}

MAFAT_SIZED void mafat_model_check(const struct mafat_model *model, size_t resident_bytes, struct mafat_check *check)
{
  mafat_model_check_sized(model, resident_bytes, check, sizeof *check);
}

MAFAT_SIZED int mafat_query_open(struct mafat_query **out, const char *cfg_path, const char *weights_path,
                                 const struct mafat_model_options *options, struct mafat_diagnostic *d)
{
  return mafat_query_open_sized(out, cfg_path, weights_path, options, sizeof *options, d);
}

MAFAT_SIZED void mafat_query_describe(const struct mafat_query *query, struct mafat_query_facts *facts)
{
  mafat_query_describe_sized(query, facts, sizeof *facts);
}

MAFAT_SIZED int mafat_search_describe(int index, struct mafat_search_facts *facts)
{
  return mafat_search_describe_sized(index, facts, sizeof *facts);
}

MAFAT_SIZED int mafat_moves_unit(const struct mafat_moves *moves, int index, struct mafat_unit_facts *facts)
{
  return mafat_moves_unit_sized(moves, index, facts, sizeof *facts);
}

MAFAT_SIZED int mafat_query_front(const struct mafat_query *query, int index, struct mafat_front_facts *facts)
{
  return mafat_query_front_sized(query, index, facts, sizeof *facts);
}

MAFAT_SIZED int mafat_answer_layer(const struct mafat_answer *answer, int layer, struct mafat_layer_facts *facts)
{
  return mafat_answer_layer_sized(answer, layer, facts, sizeof *facts);
}

MAFAT_SIZED int mafat_answer_group(const struct mafat_answer *answer, int group, struct mafat_group_facts *facts)
{
  return mafat_answer_group_sized(answer, group, facts, sizeof *facts);
}

MAFAT_SIZED void mafat_answer_arena(const struct mafat_answer *answer, struct mafat_arena_facts *facts)
{
  mafat_answer_arena_sized(answer, facts, sizeof *facts);
}

MAFAT_SIZED int mafat_answer_buffer(const struct mafat_answer *answer, int index, struct mafat_buffer_facts *facts)
{
  return mafat_answer_buffer_sized(answer, index, facts, sizeof *facts);
}

MAFAT_SIZED int mafat_answer_paper(const struct mafat_answer *answer, struct mafat_paper_facts *facts,
                                   struct mafat_diagnostic *d)
{
  return mafat_answer_paper_sized(answer, facts, sizeof *facts, d);
}

MAFAT_SIZED int mafat_model_describe_input(const struct mafat_model *model, int index, struct mafat_port_facts *facts)
{
  return mafat_model_describe_input_sized(model, index, facts, sizeof *facts);
}

MAFAT_SIZED int mafat_model_describe_output(const struct mafat_model *model, int index, struct mafat_port_facts *facts)
{
  return mafat_model_describe_output_sized(model, index, facts, sizeof *facts);
}

MAFAT_SIZED int mafat_query_describe_input(const struct mafat_query *query, int index, struct mafat_port_facts *facts)
{
  return mafat_query_describe_input_sized(query, index, facts, sizeof *facts);
}

MAFAT_SIZED int mafat_query_describe_output(const struct mafat_query *query, int index, struct mafat_port_facts *facts)
{
  return mafat_query_describe_output_sized(query, index, facts, sizeof *facts);
}

MAFAT_SIZED int mafat_query_ranks(struct mafat_ranks_answer **out, const struct mafat_query *query,
                                  const struct mafat_ranks_question *question, struct mafat_diagnostic *d)
{
  return mafat_query_ranks_sized(out, query, question, sizeof *question, d);
}

MAFAT_SIZED void mafat_pack_defaults(struct mafat_pack_options *options)
{
  mafat_pack_defaults_sized(options, sizeof *options);
}

MAFAT_SIZED int mafat_pack_open(struct mafat_pack **out, const char *model_path, const char *weights_path, const char *out_path,
                                const struct mafat_pack_options *options, struct mafat_diagnostic *d)
{
  return mafat_pack_open_sized(out, model_path, weights_path, out_path, options, sizeof *options, d);
}

MAFAT_SIZED void mafat_pack_describe(const struct mafat_pack *pack, struct mafat_pack_facts *facts)
{
  mafat_pack_describe_sized(pack, facts, sizeof *facts);
}

MAFAT_SIZED int mafat_pack_layer(const struct mafat_pack *pack, int index, struct mafat_pack_layer_facts *facts)
{
  return mafat_pack_layer_sized(pack, index, facts, sizeof *facts);
}

MAFAT_SIZED int mafat_pack_way(const struct mafat_pack *pack, int index, struct mafat_pack_way_facts *facts)
{
  return mafat_pack_way_sized(pack, index, facts, sizeof *facts);
}

MAFAT_SIZED void mafat_calibrate_defaults(struct mafat_calibrate_options *options)
{
  mafat_calibrate_defaults_sized(options, sizeof *options);
}

MAFAT_SIZED int mafat_calibrate(struct mafat_calibration_facts *out, const struct mafat_calibrate_options *options,
                                struct mafat_diagnostic *d)
{
  return mafat_calibrate_sized(out, sizeof *out, options, sizeof *options, d);
}
#endif

#ifdef __cplusplus
}
#endif

#endif
