/* Writes packed files: a network and its weights in one file, in the order that plans read them,
 * and in narrower types if requested (pack_weights(1)). Sizes, defaults, errors and ownership are
 * described in mafat.h. */
#ifndef MAFAT_PACK_H
#define MAFAT_PACK_H

#include "mafat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* True if the file is packed, by its first bytes. */
MAFAT_API bool mafat_is_packed(const char *path);

/* Memory that options point to must stay valid until the pack is closed. */
struct mafat_pack_options {
  size_t size;
  const char *weights;     /* type, such as "int8" (pack_weights --help); default "float32" */
  /* default "float32"; "int8": convolutions between the first and the last compute in integers, and
   * weights are int8 */
  const char *activations;
  /* (n_calibrate) for int8 activations: pictures from which quantization parameters are chosen */
  const char *const *calibrate;
  int n_calibrate;
  /* picture for measuring the error of each layer's output; default: the pictures of `calibrate`;
   * if there are none, errors are not measured */
  const char *measure;
  /* layers with a larger error (mafat_pack_layer_facts.error) get the next wider type, until no
   * layer has a larger one; default: no limit */
  const double *keep_above;
  const char *fork;        /* as in mafat_model_options */
  const char *const *constants; /* (n_constants) as in mafat_model_options */
  int n_constants;
  bool replace;            /* replace an existing file; else MAFAT_EINVAL */
  const char *replace_name; /* name of this option in messages; default "replace" */
  struct mafat_warning_sink warnings;
  /* options of mafat_model_options that the file stores: opening it applies each of them, unless
   * the same option is given then. Pictures of calibrate and measure follow them, too */
  const float *mean, *scale;
  const char *channels, *resize;
  const float *pad;
  const char *decode;      /* only for ONNX and TFLite files */
};

struct mafat_pack;

/* Reads the network; writes nothing yet. model_path: a cfg, with weights_path its weights; or an
 * ONNX or TFLite file, with weights_path NULL. Paths must stay valid until the pack is closed.
 * Fails as mafat_model_open does; also MAFAT_EINVAL: invalid options, a packed model, or an output
 * file that exists. *out is NULL after a failure. */
MAFAT_API int mafat_pack_open(struct mafat_pack **out, const char *model_path,
                              const char *weights_path, const char *out_path,
                              const struct mafat_pack_options *options, struct mafat_diagnostic *d);
/* Does the next step of the work. The first step creates a temporary file (mafat_pack_facts.path).
 * Later ones write a megabyte or part of a layer, or run all pictures. The last one renames the
 * file and sets *done. After a failure the pack can only be closed. MAFAT_EFORMAT, MAFAT_EINVAL:
 * weights or a picture are wrong. MAFAT_EUNSUPPORTED: no layer supports int8. MAFAT_EIO: a file
 * cannot be read or written. */
MAFAT_API int mafat_pack_step(struct mafat_pack *pack, bool *done, struct mafat_diagnostic *d);
/* Removes the temporary file if the work is not done. */
MAFAT_API void mafat_pack_close(struct mafat_pack **pack);

struct mafat_pack_facts {
  size_t size;
  const char *path;      /* of the file being written: out_path + ".part" */
  int pass; /* from 0; each pass rewrites the file with wider layers or other parameters */
  double share;          /* share of this pass's bytes that is written, 0 to 1 */
  /* If errors are measured, these are known before the last step; else they are 0. */
  int n_layers, n_candidates;  /* entries of mafat_pack_layer and mafat_pack_candidate */
  double error, largest; /* errors of all outputs of the network, as in mafat_pack_layer_facts */
};

struct mafat_pack_layer_facts {
  size_t size;
  int layer;
  const char *type;      /* the cfg's word */
  const char *computes;  /* "float32", or "int8": in integers */
  const char *weights;   /* their type in the file; NULL: none */
  size_t bytes;          /* of weights, scales and biases */
  /* relative root mean square error of the layer's output when all earlier layers compute in
   * floats */
  double error;
  double largest;        /* largest difference of its output, relative to the largest magnitude */
  bool kept;             /* wider than requested */
};

/* Quantization parameters that were tried. */
struct mafat_pack_candidate_facts {
  size_t size;
  const char *ranges;    /* method: "least squares", "percentile" */
  bool equalized;        /* channels around depthwise convolutions are equalized */
  double error;          /* error of the network's outputs */
  bool taken;            /* the file has these parameters */
};

MAFAT_API int mafat_pack_describe(const struct mafat_pack *pack, struct mafat_pack_facts *facts);
/* index: from 0. MAFAT_EINVAL: out of range. */
MAFAT_API int mafat_pack_layer(const struct mafat_pack *pack, int index,
                               struct mafat_pack_layer_facts *facts);
MAFAT_API int mafat_pack_candidate(const struct mafat_pack *pack, int index,
                             struct mafat_pack_candidate_facts *facts);

#ifdef __cplusplus
}
#endif

#endif
