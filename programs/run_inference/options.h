/* The command line of run_inference, read into one struct. */
#ifndef MAFAT_PROGRAM_OPTIONS_H
#define MAFAT_PROGRAM_OPTIONS_H

#include "include/mafat_file.h"
#include "programs/run_inference/words.h"

enum { MAFAT_SWEEP_SIZES = 64, MAFAT_OPTION_PORTS = 16 };

struct mafat_options {
  const char *cfg, *weights; /* NULL: left out, with --predict */
  struct mafat_file model; /* the file that is given as cfg */
  char **images;          /* the rest of the command line; "-" reads a list from stdin */
  int n_images;
  size_t memory_bytes;    /* --memory; 0: find out */
  size_t reserve_bytes;   /* --reserve, default the library's */
  const char *lock;       /* --lock; NULL: auto */
  const char *sandbox;    /* --sandbox; NULL: auto */
  const char *plan;       /* --plan; NULL: search */
  const char *search;     /* --search; NULL: best, or: */
  const char *share;      /* --search, of those that share layers out to ranks; NULL: deeperthings */
  int ranks;              /* --ranks, with --predict; 0: one device */
  double link_bits, link_seconds; /* --link: a second; a message; 0: as usual */
  double speeds[MAFAT_WORDS_RANKS]; /* --speed (n_speeds), with --ranks; none: all as this machine */
  int n_speeds;
  size_t rank_bytes[MAFAT_WORDS_RANKS]; /* --memory of several sizes (n_rank_bytes), with --ranks */
  int n_rank_bytes;
  const char *tiling, *layout; /* --tiling, --layout; NULL: both, ours */
  double plan_seconds;    /* --plan-time; 0: as usual */
  double delta;           /* --delta; 0: as usual */
  int beam;               /* --beam; 0: as usual */
  const char *cells;      /* --cells; NULL: they are found */
  bool measure;           /* --measure */
  size_t fast_bytes;      /* --fast-memory; 0: nobody asks what is moved */
  const char *objective;  /* --objective; NULL: of the plan */
  bool predict;           /* --predict: nothing is run */
  bool calibrate;         /* --calibrate: there is no model */
  bool paper;             /* --predictor paper */
  size_t bias_bytes;      /* --bias, default 31 MB; of the paper's predictor */
  bool sweep, pareto;     /* --predict: for many budgets */
  size_t sweep_bytes[MAFAT_SWEEP_SIZES]; /* --sweep (n_sweep), ascending; none: budgets that make sense */
  int n_sweep;
  const char *map;        /* --map; NULL: no picture of the arena */
  int layers;             /* --layers; 0: all */
  const char *algorithm;  /* --algorithm; NULL: auto */
  int threads;            /* --threads, default 1; MAFAT_THREADS_AUTO */
  const char *fork;       /* --fork; NULL: auto */
  const char *image_scaling; /* --image-scaling; NULL: exact */
  float mean[3], scale[3], pad;  /* --mean, --scale, --pad, where they are given */
  int n_mean, n_scale;           /* numbers that were given, 1 or 3; 0: the option was not */
  bool has_pad;
  const char *channels, *resize; /* --channels, --resize; NULL: the library's */
  const char *decode;     /* --decode; NULL: auto */
  const char *cpu;        /* --cpu; NULL: the best there is */
  const char *input;      /* the first --input; NULL: an image */
  const char *inputs[MAFAT_OPTION_PORTS]; /* --input (n_inputs): FILE or NAME=FILE */
  int n_inputs;
  const char *constants[MAFAT_OPTION_PORTS]; /* --constant (n_constants): NAME=FILE */
  int n_constants;
  const char *dumps[MAFAT_OPTION_PORTS];  /* --dump-output (n_dumps), the same */
  int n_dumps;
  const char *video;      /* --video: frames as the library has them, or "y4m"; NULL: none, or the camera's own */
  const char *camera;     /* --camera; NULL: frames come by standard input */
  bool live;              /* --live */
  const char *overlay;    /* --overlay; "-" is standard output; NULL: none */
  const char *marks;      /* --marks; NULL: nobody asks when layers ran */
  int repeat;             /* --repeat, default 1 */
  const char *names;
  float thresh;           /* default 0.5, as Darknet's detector */
  float nms;              /* default 0.45 */
  int max_boxes;          /* --max-boxes; 0: the library's */
  bool json, report, best_effort, quiet;
  bool show_help, show_version;
  bool serves;            /* set before they are read: no image is named, pictures come later (build/mafat_serve) */
};

void mafat_options_defaults(struct mafat_options *o);
/* MAFAT_EINVAL with the option and what it expects. Points into argv. */
int mafat_options_read(struct mafat_options *o, int argc, char **argv, struct mafat_diagnostic *d);

/* What is told of an --input of a network that has no other than the image's. */
#define MAFAT_INPUT_AND_IMAGE "--input takes the place of images, found %.100s too"

/* "127.5" for all n, or n of them like "1,2/3,4.5": how many there are, 1 or n; 0: it is neither. */
int mafat_options_numbers(const char *text, int n, float *values);
/* Are its inputs floats, all of them? */
static inline bool mafat_options_floats_only(const struct mafat_options *o)
{
  return o->input && !o->n_images;
}

/* Are its inputs frames of video? */
static inline bool mafat_options_video(const struct mafat_options *o)
{
  return o->video || o->camera;
}

extern const char mafat_options_help[];

#endif
