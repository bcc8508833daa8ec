/* What a run needs beside its weights and its arena, whatever the plan: this
 * process as it stands, and the decoder of a picture. Measured, and looked up in
 * the picture's header; used by those who run and by those who only ask.
 *
 * The kernel maps a program's code as it is entered, 64 KB around a fault where its
 * cache has them. So that the process can be measured before anything runs, the
 * code that a run will enter is made resident first: it stands together, in parts
 * (runner/os/parts.def). Where it does not, in a program that is not linked that
 * way, what will come is a guess. */
#ifndef MAFAT_API_SURROUNDINGS_H
#define MAFAT_API_SURROUNDINGS_H

#include "predictor/cost/predict.h"
#include "runner/engine/arena.h"
#include "runner/os/own.h"
#include "runner/image/image.h"
#include "runner/kernels/kernels.h"

struct mafat_surroundings_request {
  const struct mafat_network *network; /* has been read: it is part of what is resident */
  const char *picture;   /* its header decides what decoding costs; NULL: an ordinary one is assumed */
  bool picture_may_fail; /* a picture that cannot be opened is taken for an ordinary one */
  bool floats_only;      /* no picture at all, raw floats come */
  const struct mafat_kernels *kernels; /* that will run; NULL: this processor's best */
  struct mafat_arena *arena; /* that the run will share: its pages are not counted twice; NULL: none */
  size_t reserve_bytes;  /* as the options have it */
  const struct mafat_image_input *input; /* what pictures are to become; NULL: the usual one */
  const struct mafat_frame_format *frame; /* frames of video come, and no pictures; NULL: none do */
  size_t beside_bytes;   /* that the caller holds beside the model */
  bool frame_stays;      /* and its rows are asked for once more */
  size_t absent_bytes;   /* of the model's files in memory: of pages that become resident when they are read */
};

/* Before anything of a model is read: its opening's code is made resident, that of ONNX and TFLite files where it
 * `imports`, and where the process's groups have little room what was read ahead of the program's file is given back. */
void mafat_surroundings_begin(bool imports);

/* MAFAT_EUNSUPPORTED: the network has channels that no picture has. Errors of
 * mafat_image_open(). */
int mafat_surroundings_measure(struct mafat_surroundings *around,
                               const struct mafat_surroundings_request *request, struct mafat_diagnostic *d);

/* Once a plan is chosen: what runs enter of the program's file is made resident, all else of it is given back, before
 * so much more is charged to the process's groups. Where its code does not stand together it stays as it is. */
void mafat_surroundings_settle(const struct mafat_surroundings *around, const struct mafat_network *n,
                               const struct mafat_kernels *kernels, const struct mafat_layout *layout, size_t coming_bytes);
/* Once the weights are open: a packed model's are compared with its graph, by code of those who read it. */
void mafat_surroundings_forget_import(void);
/* Before the first run, and once there is room for it: locks what runs enter, and all that is the program's own, as far
 * as it may. Not of programs of others, whose memory is theirs to lock. Returns the heap that is locked (own.h). */
struct mafat_own_range mafat_surroundings_lock(const struct mafat_surroundings *around, const struct mafat_network *n,
                                               const struct mafat_kernels *kernels, const struct mafat_layout *layout);

/* Changes what depends on the picture: to an opened one, to an
 * ordinary one, to a file of floats. */
void mafat_surroundings_set_picture(struct mafat_surroundings *around, const struct mafat_image *image,
                                    const struct mafat_network *n);
void mafat_surroundings_assume_picture(struct mafat_surroundings *around, const struct mafat_network *n,
                                       const struct mafat_image_input *input);
void mafat_surroundings_set_floats(struct mafat_surroundings *around, const struct mafat_network *n);

/* What the network wants of a picture where nobody says otherwise; MAFAT_EUNSUPPORTED where it wants none. */
struct mafat_image_input mafat_surroundings_usual_input(const struct mafat_network *n);
int mafat_surroundings_check_input(const struct mafat_image_input *input, const struct mafat_network *n, struct mafat_diagnostic *d);

#endif
