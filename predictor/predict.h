/* What a plan costs in bytes, by tag, before anything runs. */
#ifndef MAFAT_PREDICTOR_PREDICT_H
#define MAFAT_PREDICTOR_PREDICT_H

#include "predictor/layout.h"

/* What the plan does not decide. */
struct mafat_surroundings {
  size_t process_bytes; /* resident before the weights and the arena exist */
  size_t late_bytes;    /* what comes to that beside weights and arena: records of plan and layout;
                           code where it could not be made resident before */
  size_t jpeg_bytes, png_bytes; /* code of the decoders that are used, 0: not */
  size_t image_bytes;   /* decoder state, beside the network's input */
  size_t turned_bytes;  /* beside that, when a plan asks for rows and the picture has none to pull */
  size_t file_bytes;    /* page cache the picture's file brings in */
};

struct mafat_prediction {
  size_t process, weights, activations, scratch, input, image, io, threads; /* at the peak */
  size_t resident_bytes; /* compare with Rss while the arena is fully touched, after the layers */
  size_t charge_bytes;   /* compare with a memory cgroup's peak and with budgets; while the picture
                            is decoded or the layers run, whichever takes more */
};

enum {
  MAFAT_PAGE = 4096,
  /* What a group is charged beyond resident pages: kernel memory (about 0.28 MB).
   * What the kernel reads ahead of a cold program is given back under pressure. */
  MAFAT_GROUP_CHARGE = 352 << 10,
  /* For each thread beside the first: stack and descriptor, and the kernel's memory. */
  MAFAT_THREAD_PAGES = 12 << 10,
  MAFAT_THREAD_CHARGE = 24 << 10
};

void mafat_predict(struct mafat_prediction *p, const struct mafat_layout *layout,
                   const struct mafat_surroundings *around);

#endif
