/* Prints the boxes of one picture: one_picture MODEL.cfg MODEL.weights PICTURE
 *
 *     cc one_picture.c $(pkg-config --cflags --libs mafat) */
#include <mafat.h>
#include <stdio.h>

static int failed(struct mafat_model **model, const struct mafat_diagnostic *d)
{
  fprintf(stderr, "one_picture: %s\n", d->text);
  mafat_model_close(model);
  return 1;
}

int main(int argc, char **argv)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_model *model = NULL;
  struct mafat_detections *boxes = NULL;
  struct mafat_diagnostic d;

  if (argc != 4) {
    fputs("usage: one_picture MODEL.cfg MODEL.weights PICTURE\n", stderr);
    return 2;
  }
  options.memory_bytes = 64 << 20; /* for the whole process */
  if (mafat_model_open(&model, argv[1], argv[2], &options, &d) != MAFAT_OK)
    return failed(&model, &d);
  if (mafat_model_run_picture(model, argv[3], &d) != MAFAT_OK) return failed(&model, &d);
  if (mafat_model_detect(model, 0.5f, 0.45f, &boxes, &d) != MAFAT_OK) return failed(&model, &d);
  for (size_t i = 0; i < boxes->n; i++) {
    const struct mafat_detection *b = &boxes->list[i];
    printf("class %d: %.2f at %.0f, %.0f, %.0f x %.0f\n", b->class_id, b->confidence, b->x, b->y,
           b->w, b->h);
  }
  mafat_detections_close(&boxes);
  mafat_model_close(&model);
  return 0;
}
