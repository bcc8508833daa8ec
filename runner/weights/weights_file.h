/* An open weights file: a Darknet file (formats/darknet/constants.h), a packed file
 * (formats/packed/packed.h), or the ONNX or TFLite model itself. Opening checks it against its
 * network without reading the weights. Opens files and allocates; closing undoes both. Included by
 * packer.c and weights_store.h. */
#ifndef MAFAT_RUNNER_WEIGHTS_WEIGHTS_FILE_H
#define MAFAT_RUNNER_WEIGHTS_WEIGHTS_FILE_H

#include "formats/packed/packed.h"
#include "network/constant.h"
#include "runner/weights/reads.h"

struct mafat_weights_file {
  char *name; /* path, for messages */
  struct mafat_read_queue *reads;
  /* positions of the weights in the file: the network's n->constants, or own_constants */
  const struct mafat_constants *constants;
  /* for a packed file, and for a Darknet file with an unusual header; else NULL */
  struct mafat_constants *own_constants;
  struct mafat_packed *packed; /* index of a packed file; else NULL */
};

/* Opens and checks a file. The source may be closed afterwards. The length of a Darknet file must
 * match the cfg. If it is too short, fails with MAFAT_EFORMAT; the diagnostic names the layer and
 * the missing bytes. If it is too long, fails if the network has a detection head, else warns. */
int mafat_weights_file_open(struct mafat_weights_file **out, struct mafat_model_source *source,
                            enum mafat_read_queue_method method, const struct mafat_network *n,
                            const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);
void mafat_weights_file_close(struct mafat_weights_file **file);

#endif
