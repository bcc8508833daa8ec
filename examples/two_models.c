/* Two networks that share one arena: two_models FIRST.cfg FIRST.weights SECOND.cfg
 * SECOND.weights PICTURE
 *
 * They run one after the other. Results of a run have to be read before the other network runs,
 * because it overwrites them.
 *
 *     cc two_models.c $(pkg-config --cflags --libs mafat) */
#include <mafat.h>
#include <stdio.h>

static int run_on(struct mafat_model *model, const char *name, const char *picture,
                struct mafat_diagnostic *d)
{
  struct mafat_detections *boxes;
  int code = mafat_model_run_picture(model, picture, d);
  if (code == MAFAT_OK) code = mafat_model_detect(model, 0.5f, 0.45f, &boxes, d);
  if (code) return code;
  printf("%s: %zu boxes\n", name, boxes->n);
  mafat_detections_close(&boxes);
  return MAFAT_OK;
}

int main(int argc, char **argv)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_arena *arena = NULL;
  struct mafat_model *models[2] = {NULL, NULL};
  struct mafat_diagnostic d;

  if (argc != 6) {
    fputs("usage: two_models FIRST.cfg FIRST.weights SECOND.cfg SECOND.weights PICTURE\n", stderr);
    return 2;
  }
  int code = mafat_arena_open(&arena, &d);
  options.arena = arena;
  for (int i = 0; i < 2 && code == MAFAT_OK; i++)
    code = mafat_model_open(&models[i], argv[1 + 2 * i], argv[2 + 2 * i], &options, &d);
  for (int i = 0; i < 2 && code == MAFAT_OK; i++)
    code = run_on(models[i], argv[1 + 2 * i], argv[5], &d);
  for (int i = 0; i < 2; i++) mafat_model_close(&models[i]);
  mafat_arena_close(&arena);
  if (code == MAFAT_OK) return 0;
  fprintf(stderr, "two_models: %s\n", d.text);
  return 1;
}
