/* Counts the boxes in each frame of a camera or another video. Frames are read from standard
 * input directly into the model's arena:
 *
 *     ffmpeg -v error -f v4l2 -video_size 640x480 -i /dev/video0 -f rawvideo -pix_fmt yuv420p - |
 *         camera MODEL.cfg MODEL.weights 640x480
 *
 *     cc camera.c $(pkg-config --cflags --libs mafat) */
#include <mafat_video.h>
#include <stdio.h>

static int failed(struct mafat_model **model, const struct mafat_diagnostic *d)
{
  fprintf(stderr, "camera: %s\n", d->text);
  mafat_model_close(model);
  return 1;
}

int main(int argc, char **argv)
{
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_frame_facts frames = {.size = sizeof frames};
  struct mafat_model *model = NULL;
  struct mafat_detections *boxes = NULL;
  struct mafat_diagnostic d;

  if (argc != 4) {
    fputs("usage: camera MODEL.cfg MODEL.weights WIDTHxHEIGHT[:FORMAT]\n", stderr);
    return 2;
  }
  options.memory_bytes = 64 << 20; /* for the whole process */
  options.frames = argv[3];        /* the plan reserves memory for one frame */
  if (mafat_frame_describe(argv[3], &frames, &d) != MAFAT_OK) return failed(&model, &d);
  if (frames.varies) {
    mafat_fail(&d, MAFAT_EINVAL, "expected a format whose frames have one size, found %s", argv[3]);
    return failed(&model, &d);
  }
  if (mafat_model_open(&model, argv[1], argv[2], &options, &d) != MAFAT_OK)
    return failed(&model, &d);
  unsigned char *frame = mafat_model_frame_room(model);
  for (int n = 0; fread(frame, 1, frames.bytes, stdin) == frames.bytes; n++) {
    if (mafat_model_run_frame(model, frame, frames.bytes, &d) != MAFAT_OK)
      return failed(&model, &d);
    if (mafat_model_detect(model, 0.5f, 0.45f, &boxes, &d) != MAFAT_OK) return failed(&model, &d);
    printf("frame %d: %zu boxes\n", n, boxes->n);
    mafat_detections_close(&boxes);
  }
  mafat_model_close(&model);
  return 0;
}
