/* Counts the boxes of each picture: many_pictures MODEL.cfg MODEL.weights PICTURE...
 *
 * The model is opened once and its memory is mapped once for all pictures. A picture that cannot
 * be read is reported, and the next one follows.
 *
 *     cc many_pictures.c $(pkg-config --cflags --libs mafat) */
#include <mafat.h>
#include <stdio.h>

static int run_on(struct mafat_model *model, const char *picture, struct mafat_diagnostic *d)
{
  struct mafat_detections *boxes;
  int code = mafat_model_run_picture(model, picture, d);
  if (code == MAFAT_OK) code = mafat_model_detect(model, 0.5f, 0.45f, &boxes, d);
  if (code) return code;
  printf("%s: %zu boxes\n", picture, boxes->n);
  mafat_detections_close(&boxes);
  return MAFAT_OK;
}

int main(int argc, char **argv)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_model *model = NULL;
  struct mafat_diagnostic d;
  int status = 0;

  if (argc < 4) {
    fputs("usage: many_pictures MODEL.cfg MODEL.weights PICTURE...\n", stderr);
    return 2;
  }
  options.picture = argv[3]; /* the budget includes decoding a picture like this one */
  options.picture_may_fail = true;
  if (mafat_model_open(&model, argv[1], argv[2], &options, &d) != MAFAT_OK) {
    fprintf(stderr, "many_pictures: %s\n", d.text);
    return 1;
  }
  for (int i = 3; i < argc; i++)
    if (run_on(model, argv[i], &d) != MAFAT_OK) {
      fprintf(stderr, "many_pictures: %s\n", d.text);
      status = 1;
    }
  mafat_model_close(&model);
  return status;
}
