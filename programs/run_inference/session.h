/* One call of run_inference: its command line, and the state that its parts share. Included by
 * programs/mafat_ranks, programs/mafat_serve and programs/run_inference. */
#ifndef MAFAT_PROGRAM_SESSION_H
#define MAFAT_PROGRAM_SESSION_H

#include "include/mafat.h"
#include "programs/run_inference/marks.h"
#include "programs/run_inference/names.h"
#include "programs/run_inference/options.h"
#include "programs/run_inference/output.h"
#include "programs/run_inference/ports.h"
#include "programs/shared/sandbox/sandbox.h"
#include "programs/shared/writer.h"

enum { EXIT_RUNNING = 1, EXIT_INPUT = 2, EXIT_DOES_NOT_FIT = 3 };

struct mafat_session {
  struct mafat_options options;
  struct mafat_model *model;
  struct mafat_names *names;
  struct mafat_dump *dumps; /* (options.n_dumps) */
  double *latencies_ms; /* (repeat) of the current picture */
  double *layers_ms;    /* (repeat) */
  double start_ms;      /* start of the program */
  struct mafat_writer out;
  struct mafat_marks marks;
  int marks_fd; /* -1: no --marks */
  struct mafat_sandbox sandbox;
  char sandbox_text[48];
  bool fork_reported, decode_reported;
  const char *frames;      /* video format, as in a model's options; NULL: pictures are run */
  size_t frames_beside;    /* bytes of the camera's buffers that are not resident memory */
  const struct mafat_rank_link *link; /* link of mafat_ranks; NULL: no ranks */
  struct mafat_diagnostic d;
};

/* For mafat_ranks, on rank 0. run_all: runs all pictures and returns an exit status; NULL: the
 * session runs them one after the other. */
struct mafat_session_ranks {
  const struct mafat_rank_link *link;
  int (*run_all)(struct mafat_session *s);
  void (*report)(const struct mafat_session *s); /* after all runs, with --report */
};

/* The whole program. ranks: NULL if there are none. */
int mafat_session_main(int argc, char **argv, const struct mafat_session_ranks *ranks);

/* Times of the inferences of one picture; image_ms and layers_ms are medians of repetitions. */
struct mafat_session_times {
  double image_ms, layers_ms;
  uint64_t stall_some_us, stall_full_us; /* waits for memory, summed over all repetitions */
};

/* Prints the results of a picture; `before` was measured before its run. Returns an exit status. */
int mafat_session_report(struct mafat_session *s, const char *path,
                         const struct mafat_session_times *times,
                         const struct mafat_process_facts *before);

/* Name at the start of messages, "run_inference" by default; must outlive the session. */
void mafat_session_name_program(const char *name);
const char *mafat_session_program(void);

/* Milliseconds of CLOCK_MONOTONIC. */
double mafat_session_now_ms(void);
int mafat_session_exit_status(int code);
/* Prints one line on standard error. */
void mafat_session_complain(const char *text);
/* The same, for warning sinks; the context is the session. Nothing with --quiet. */
void mafat_session_warn(void *context, const char *text);
/* Prints how options that have become words of --search are written now. Nothing with --quiet. */
void mafat_session_note_renamed(struct mafat_session *s);
/* Prints, once, that keys of the cfg mark it as AlexeyAB's. fork_sign: from the facts. */
void mafat_session_report_fork(struct mafat_session *s, const char *fork_sign);
/* Prints, once, which head was chosen for the outputs if no option named one, and which
 * preprocessing of pictures was assumed. decode, sign, picture: from the facts. */
void mafat_session_report_decode(struct mafat_session *s, const char *decode, const char *sign,
                                 const struct mafat_picture_facts *picture);
/* Picture whose header determines the cost of decoding; NULL: none is known yet. */
const char *mafat_session_picture(const struct mafat_session *s);
/* Options of the command line for a model or a dry run. */
struct mafat_model_options mafat_session_model_options(struct mafat_session *s);
/* Opens the model of the command line, or a dry run of it, with these options. */
int mafat_session_open_model(struct mafat_session *s, const struct mafat_model_options *m);
/* Reads --names, if given, within the budget. MAFAT_ELIMIT; errors of mafat_names_read. */
int mafat_session_read_names(struct mafat_session *s);
int mafat_session_open_dry_run(const struct mafat_session *s, struct mafat_dry_run **dry_run,
                               const struct mafat_model_options *m, struct mafat_diagnostic *d);

/* Warns if --names has more or fewer labels than the opened model has classes. */
void mafat_session_check_names(struct mafat_session *s);

/* Checks that --mean and --scale have as many numbers as the input has channels. facts: of the dry
 * run; NULL: asks the model. */
int mafat_session_check_picture(struct mafat_session *s, const struct mafat_dry_run_facts *facts);

/* Restrict the process as --sandbox says: `confine` before any file of the model is read,
 * `confine_run` when all files are open. */
int mafat_session_confine(struct mafat_session *s);
int mafat_session_confine_run(struct mafat_session *s);
/* Describes the sandbox, "seccomp, Landlock 7", or why there is none. Valid during the session. */
const char *mafat_session_sandbox(struct mafat_session *s);

/* Refuses an output that would overwrite an input. path: NULL if the option is not given. */
int mafat_session_check_output(struct mafat_session *s, const char *option, const char *path);
/* Refuses outputs that would overwrite each other. */
int mafat_session_check_dumps_apart(struct mafat_session *s);

/* Fills in the report of a run and its memory; `before` was measured before it. */
void mafat_session_fill_report(struct mafat_session *s, const char *path,
                               const struct mafat_session_times *t,
                               const struct mafat_process_facts *before,
                               struct mafat_run_report *r);
/* Results of the last run: detections, or the MAFAT_SESSION_CLASSES most likely classes. The
 * caller closes the detections. */
enum { MAFAT_SESSION_CLASSES = 5 };
int mafat_session_find_answers(struct mafat_session *s, struct mafat_run_report *r,
                               struct mafat_detections **detections, struct mafat_class_score *top);
/* Returns free heap memory to the system. */
void mafat_session_trim_heap(void);
/* Returns heap memory to the system before the first run if the budget is tight. */
void mafat_session_make_room(const struct mafat_session *s);

/* Runs video (video.c). `prepare` opens the camera, before the process is confined. `begin` finds
 * the frames' format, possibly from the first bytes of standard input. `run` runs all frames and
 * returns an exit status. */
int mafat_session_prepare_video(struct mafat_session *s);
int mafat_session_begin_video(struct mafat_session *s);
int mafat_session_run_video(struct mafat_session *s);
void mafat_session_close_video(void);

/* Modes without a run; they return an exit status. */
int mafat_session_predict(struct mafat_session *s);   /* predict.c */
int mafat_session_calibrate(struct mafat_session *s); /* calibrate.c */

#endif
