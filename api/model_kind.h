/* What a model file is, by its first bytes, and its network, by the reader of that format. */
#ifndef MAFAT_API_MODEL_KIND_H
#define MAFAT_API_MODEL_KIND_H

#include "formats/darknet/darknet.h"
#include "formats/graph/given.h"
#include "network/network.h"

enum mafat_model_format {
  MAFAT_MODEL_CFG, /* or nothing that is known: its reader will say */
  MAFAT_MODEL_PACKED,
  MAFAT_MODEL_PACKED_GRAPH, /* of an ONNX or TFLite file, which is imported */
  MAFAT_MODEL_ONNX,
  MAFAT_MODEL_TFLITE
};

/* Of other files than regular ones nothing is read before its time: they are taken for a cfg. What comes first in a pipe that the process
 * holds open (/dev/stdin, /dev/fd/3) is looked at, and stays there; once it has been read the pipe is taken for a cfg. Whoever has a named
 * pipe opens it, and gives it by that number. */
enum mafat_model_format mafat_model_format_of(const char *path);

/* wish: of Darknet's networks; given: inputs of ONNX and TFLite files that are constants; NULL: none. Errors of the readers;
 * MAFAT_EINVAL: constants of others. */
int mafat_model_network(struct mafat_network **out, const char *path, const struct mafat_darknet_wish *wish,
                        const struct mafat_given *given, const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);

#endif
