/* mafat: runs Darknet networks (.cfg and .weights) inside a memory budget.
 *
 * A model is opened once, for a budget or a plan, and then run on pictures or
 * on floats; opening maps all the memory that running needs. Functions return
 * MAFAT_OK or a negative code and explain themselves in a diagnostic, which may
 * be NULL. Everything that is opened is closed by its opener; closing accepts
 * NULL. Separate models may be used from separate threads; one model is used by
 * one thread at a time. */
#ifndef MAFAT_H
#define MAFAT_H

#include <stdbool.h>
#include <stddef.h>

/* What a shared library of mafat shows; of the rest it shows nothing. */
#ifdef __GNUC__
#define MAFAT_API __attribute__((visibility("default")))
#else
#define MAFAT_API
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

/* One line: file, line, what was expected, what was found. */
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
 * for it loses its middle. */
MAFAT_API int mafat_fail(struct mafat_diagnostic *d, int code, const char *format, ...) MAFAT_PRINTF(3, 4);

/* Receives warnings: text is one line without a newline. NULL is "nobody". */
struct mafat_warning_sink {
  void (*warn)(void *context, const char *text);
  void *context;
};

/* Memory that several models run in, one after the other: it grows to what the largest of them
 * needs. To run two at once is MAFAT_EINVAL for the second, as is to open one that needs a larger
 * arena meanwhile; whoever runs, or is opened, takes away what could be read of the others. It is
 * closed after its models; closed before them, it goes with the last one. */
struct mafat_arena;

MAFAT_API int mafat_arena_open(struct mafat_arena **out, struct mafat_diagnostic *d);
MAFAT_API void mafat_arena_close(struct mafat_arena **arena);

struct mafat_model_options {
  size_t memory_bytes;  /* budget for the whole process; 0 (default): the smallest limit of its
                           cgroups, else the memory that is available */
  const char *plan;     /* as in run_inference --plan. NULL (default): search for one */
  const char *search;   /* "best" (NULL, default): the plan within the budget that is predicted to be the
                           fastest; "greedy": the one that MAFAT's own search finds, by its own
                           predictor. Whether it may run is decided by its predicted bytes all the same */
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
  const char *algorithm; /* of convolutions: "direct", "winograd" (3x3 layers of stride 1), or "auto"
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
  bool floats_only;     /* no pictures will be read: decoding costs nothing; default false */
  struct mafat_warning_sink warnings; /* default: nobody */
};

MAFAT_API void mafat_model_defaults(struct mafat_model_options *options);

struct mafat_model;

/* Reads the network, chooses the plan, checks it against the budget, reads the
 * weights that the plan keeps and maps the arena. weights_path: Darknet's file, or
 * one that pack_weights made of it; if the plan reads weights in runs, it stays open
 * and must not change until the model is closed. MAFAT_ELIMIT: does not fit, the diagnostic names
 * the bytes; MAFAT_EFORMAT, MAFAT_EUNSUPPORTED, MAFAT_EIO: the files;
 * MAFAT_EINVAL: the options; MAFAT_ENOMEM. *out is NULL after a failure. */
MAFAT_API int mafat_model_open(struct mafat_model **out, const char *cfg_path, const char *weights_path,
                     const struct mafat_model_options *options, struct mafat_diagnostic *d);
MAFAT_API void mafat_model_close(struct mafat_model **model);

/* Decodes a JPEG, PNG or PPM file into the network's input and runs it.
 * MAFAT_ELIMIT when this picture's decoder does not fit into the budget; where
 * weights are read in runs, MAFAT_EIO when the file has changed, MAFAT_EFORMAT when
 * it turns out to be damaged. */
MAFAT_API int mafat_model_run_picture(struct mafat_model *model, const char *path,
                            struct mafat_diagnostic *d);
/* Runs on floats in channel, row, column order: n is the input's size. */
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
 * and nms as Darknet's (0.5, 0.45). MAFAT_EINVAL: there is no output to read, for no run
 * has ended well, the model has rested since, or another has used their arena. */
MAFAT_API int mafat_model_detect(const struct mafat_model *model, float thresh, float nms,
                       struct mafat_detections **out, struct mafat_diagnostic *d);
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
 * heads and those of the options' outputs. MAFAT_EINVAL: another layer, or there is no output to read (mafat_model_detect). */
MAFAT_API int mafat_model_read_layer(const struct mafat_model *model, int layer, float *chw,
                           struct mafat_diagnostic *d);

/* Gives the pages of the arena back to the system until the next run, which gets them
 * again (milliseconds); the outputs of the last run are gone. Weights that are kept stay. In a
 * shared arena nothing happens while another model runs, or its output can be read. */
MAFAT_API void mafat_model_rest(struct mafat_model *model);

/* How many of a cfg's layers, from the first on, this library runs, and how many there are.
 * Where it does not run all, *why names the first that it does not. MAFAT_EFORMAT, MAFAT_EIO:
 * the cfg, which *why explains too. */
MAFAT_API int mafat_cfg_known_layers(const char *cfg_path, int *known, int *all, struct mafat_diagnostic *why);

/* The plan in force as text, and the bytes it was predicted to need: what a
 * memory cgroup will count for the process. Valid until the model is closed. */
MAFAT_API const char *mafat_model_plan(const struct mafat_model *model);
MAFAT_API size_t mafat_model_charge_bytes(const struct mafat_model *model);

/* "0.1.0" */
MAFAT_API const char *mafat_version(void);

#ifdef __cplusplus
}
#endif

#endif
