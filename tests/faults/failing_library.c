/* Uses include/mafat.h while system calls fail; started by tests/faults/inject.py. Makes dry runs,
 * opens two models in one arena, runs both with streamed and kept weights, and prints the results.
 * With OUT it instead packs the model into that file. A failed call must return a known code and a
 * message, and leave no object; else the program aborts. After a failed call the program prints the
 * code's name and the message, and exits with status 1. Usage: failing_library MODEL WEIGHTS
 * PICTURE [OUT] */
#include "include/mafat_pack.h"
#include "include/mafat_plan.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failed(int code, bool made, const struct mafat_diagnostic *d)
{
  bool known = code == MAFAT_ENOMEM || code == MAFAT_EIO || code == MAFAT_EFORMAT ||
               code == MAFAT_EUNSUPPORTED || code == MAFAT_ELIMIT || code == MAFAT_EINVAL;
  if (!known || !d->text[0] || strchr(d->text, '\n') || made) abort();
  fprintf(stderr, "failing_library: %s: %s\n", mafat_error_name(code), d->text);
  return 1;
}

static int ask(const char *model, const char *weights, const struct mafat_model_options *options)
{
  struct mafat_diagnostic d = {""};
  struct mafat_dry_run *dry_run = NULL;
  int code = mafat_dry_run_open(&dry_run, model, weights, options, &d);
  if (code) return failed(code, dry_run != NULL, &d);
  struct mafat_dry_run_facts facts = {.size = sizeof facts};
  mafat_dry_run_describe(dry_run, &facts);
  printf("inputs: %d\n", facts.n_inputs);
  mafat_dry_run_close(&dry_run);
  return 0;
}

static int find_boxes(struct mafat_model *model, const char *picture)
{
  struct mafat_diagnostic d = {""};
  struct mafat_detections *boxes = NULL;
  int code = mafat_model_run_picture(model, picture, &d);
  if (code) return failed(code, false, &d);
  if ((code = mafat_model_detect(model, .3f, .45f, &boxes, &d)))
    return failed(code, boxes != NULL, &d);
  for (size_t i = 0; i < boxes->n; i++) {
    const struct mafat_detection *b = &boxes->list[i];
    printf("class %d: %.4f at %.2f %.2f, %.2f x %.2f\n", b->class_id, (double)b->confidence,
           (double)b->x, (double)b->y, (double)b->w, (double)b->h);
  }
  mafat_detections_close(&boxes);
  return 0;
}

/* Runs the first model, the second, and the first again, whose arena has been overwritten by
 * then. */
static int run_both(const char *model, const char *weights, const char *picture,
                    struct mafat_model_options *options)
{
  static const char *const plans[] = {"rows1:streamed/6/1x1:loaded", "1x1/NoCut"};
  struct mafat_diagnostic d = {""};
  struct mafat_model *models[2] = {NULL, NULL};
  int code = mafat_arena_open(&options->arena, &d), status = 0;
  if (code) return failed(code, options->arena != NULL, &d);
  for (int i = 0; i < 2 && !status; i++) {
    options->plan = plans[i];
    options->threads = 1 + i;
    code = mafat_model_open(&models[i], model, weights, options, &d);
    if (code) status = failed(code, models[i] != NULL, &d);
  }
  for (int i = 0; i < 3 && !status; i++) status = find_boxes(models[i % 2], picture);
  for (int i = 0; i < 2; i++) mafat_model_close(&models[i]);
  mafat_arena_close(&options->arena);
  return status;
}

/* Packs the model with int8 activations, which takes all steps of packing. */
static int pack(const char *model, const char *weights, const char *picture, const char *out)
{
  struct mafat_pack_options options = {.size = sizeof options};
  struct mafat_diagnostic d = {""};
  struct mafat_pack *file = NULL;
  bool done = false;
  options.activations = "int8";
  options.calibrate = &picture;
  options.n_calibrate = 1;
  int code = mafat_pack_open(&file, model, weights, out, &options, &d);
  if (code) return failed(code, file != NULL, &d);
  while (code == MAFAT_OK && !done) code = mafat_pack_step(file, &done, &d);
  mafat_pack_close(&file);
  return code ? failed(code, done || access(out, F_OK) == 0, &d) : 0;
}

int main(int argc, char **argv)
{
  struct mafat_model_options options = {.size = sizeof options};
  if (argc != 4 && argc != 5) return 2;
  fcntl(0, F_GETFD); /* inject.py starts injecting at this call */
  signal(SIGPIPE, SIG_IGN);
  options.memory_bytes = 64 << 20;
  options.algorithm = "direct";
  int status =
      argc == 5 ? pack(argv[1], argv[2], argv[3], argv[4]) : ask(argv[1], argv[2], &options);
  if (!status && argc == 4) status = run_both(argv[1], argv[2], argv[3], &options);
  if (fflush(stdout) || ferror(stdout)) {
    fprintf(stderr, "failing_library: cannot write\n");
    return 1;
  }
  return status;
}
