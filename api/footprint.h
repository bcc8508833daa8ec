/* Measures the process footprint: everything that a run needs besides weights and arena, whatever
 * the plan. This is the size of the process now, plus that of the picture's decoder, which is
 * computed from the picture's header.
 *
 * The kernel makes code resident when it is entered, up to 64 KB around a page fault. To measure
 * the process before a run, the code that the run will enter is made resident first. It is known
 * from the program's parts (runner/os/parts.def). In a program that was linked without parts, its
 * size is estimated.
 *
 * Included by api/. Reads /proc and picture headers; maps, drops and locks pages. */
#ifndef MAFAT_API_FOOTPRINT_H
#define MAFAT_API_FOOTPRINT_H

#include "predictor/cost/predict.h"
#include "runner/engine/arena.h"
#include "runner/os/own.h"
#include "runner/image/image.h"
#include "runner/kernels/kernels.h"

struct mafat_footprint_request {
  const struct mafat_network *network; /* already read: part of the resident bytes */
  const char *picture;   /* path; its header determines the decoder's memory. NULL: a typical
                            picture is assumed */
  bool picture_may_fail; /* assume a typical picture if it cannot be opened */
  bool floats_only;      /* no pictures: inputs are raw floats */
  const struct mafat_kernels *kernels; /* kernels of the run; NULL: this processor's best */
  struct mafat_arena *arena; /* shared by the run; its pages are not counted twice; NULL: none */
  size_t reserve_bytes;  /* from the options */
  const struct mafat_image_input *input; /* conversion of pictures; NULL: the network's default */
  const struct mafat_frame_format *frame; /* frames of video instead of pictures; NULL: none */
  size_t beside_bytes;   /* part of the budget that the caller uses for itself */
  bool frame_stays;      /* the frame is kept, and its rows are read a second time */
  size_t absent_bytes;   /* pages of in-memory model files that become resident when read */
  size_t reading_bytes;  /* memory of reading the model that was freed since */
};

/* Called before a model is read. Makes the code for opening resident; with `imports`, also that of
 * the ONNX and TFLite readers. If the process's cgroups have little memory left, drops unmapped
 * pages of the program's file. */
void mafat_footprint_begin(bool imports);

/* Measures the process footprint. MAFAT_EUNSUPPORTED: the network's channels do not match pictures.
 * Errors of mafat_image_open(). */
int mafat_footprint_measure(struct mafat_footprint *footprint,
                            const struct mafat_footprint_request *request,
                            struct mafat_diagnostic *d);

/* Called when a plan is chosen, before coming_bytes more are charged to the process's cgroups.
 * Makes the code that runs enter resident, and drops all other code. Does nothing in a program
 * without parts. */
void mafat_footprint_settle(const struct mafat_footprint *footprint, const struct mafat_network *n,
                            const struct mafat_kernels *kernels, const struct mafat_layout *layout,
                            size_t coming_bytes);
/* Drops the code of the ONNX and TFLite readers. Called after the weights are opened, because that
 * code compares a packed model with its graph. */
void mafat_footprint_forget_import(void);
/* Locks the code that runs enter and the program's own memory, as far as permitted. Called before
 * the first run, when there is memory for it. Does nothing in a program without parts: such a
 * program locks its memory itself. Returns the locked heap (own.h). */
struct mafat_own_range mafat_footprint_lock(const struct mafat_footprint *footprint,
                                            const struct mafat_network *n,
                                            const struct mafat_kernels *kernels,
                                            const struct mafat_layout *layout);

/* Replace the part of the footprint that depends on the next input: an open picture, a typical
 * picture, or a file of floats. */
void mafat_footprint_set_picture(struct mafat_footprint *footprint, const struct mafat_image *image,
                                    const struct mafat_network *n);
void mafat_footprint_assume_picture(struct mafat_footprint *footprint,
                                    const struct mafat_network *n,
                                    const struct mafat_image_input *input);
void mafat_footprint_set_floats(struct mafat_footprint *footprint, const struct mafat_network *n);

/* Returns the default conversion of pictures for the network. */
struct mafat_image_input mafat_footprint_usual_input(const struct mafat_network *n);
/* Checks that the input can take pictures. MAFAT_EUNSUPPORTED: it does not have 1 or 3 channels. */
int mafat_footprint_check_input(const struct mafat_image_input *input,
                                const struct mafat_network *n, struct mafat_diagnostic *d);

#endif
