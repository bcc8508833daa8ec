/* The kinds of layers (network/kinds.def), each defined in a file of this folder, and functions
 * that several kinds share. Included by network/kinds. Functions change only the layer that they
 * infer, and may allocate its list of outputs. */
#ifndef MAFAT_NETWORK_KINDS_KINDS_H
#define MAFAT_NETWORK_KINDS_KINDS_H

#include "network/kind.h"

#define KIND(CONSTANT, name, integers) extern const struct mafat_kind mafat_kind_##name;
#define STEPLESS(CONSTANT, name) extern const struct mafat_kind mafat_kind_##name;
#include "network/kinds.def"

/* Fails; `what` follows "layer [conv] " in the message. Returns MAFAT_EFORMAT. */
int mafat_kind_refuse(const struct mafat_infer_context *context, const char *what);
/* Sets the shape of the first output; fails if it is empty or too large. */
int mafat_kind_put_out(struct mafat_layer *l, const struct mafat_infer_context *context,
                       long long h, long long w, long long c);
/* Allocates l->more with `n` empty outputs, which follow the layer's first; frees an earlier list.
 * MAFAT_ENOMEM; MAFAT_EFORMAT if they are too many. */
int mafat_kind_add_outputs(struct mafat_layer *l, const struct mafat_infer_context *context, int n);
/* Sets shape, type and quantization parameters of output `output`, from 1 on; fails if its shape is
 * empty or too large. */
int mafat_kind_put_out_more(struct mafat_layer *l, const struct mafat_infer_context *context,
                            int output, struct mafat_output is);
/* The function `infer` of kinds whose output has the input's shape. */
int mafat_kind_like_input(struct mafat_layer *l, const struct mafat_infer_context *context);
/* Fails if the layer would have too many weights. */
int mafat_kind_check_weights(const struct mafat_infer_context *context, double filters,
                             double weights_per_filter);

/* The function `in_span` of kinds that read only the pixel that they write, and of kinds that read
 * whole maps. */
struct mafat_span mafat_kind_same_span(const struct mafat_layer *l, int operand, bool axis_y,
                                       struct mafat_span out);
struct mafat_span mafat_kind_whole_span(const struct mafat_layer *l, int operand, bool axis_y,
                                        struct mafat_span out);

/* Error text if no 31-bit multiplier and shift can convert the operands' scale to the output's. */
#define MAFAT_KIND_FAR_SCALES "has scales that are too different"

/* mafat_kind.numbers for two sorts of kinds. Both require that operands and output are all integers
 * or all floats; mafat_kind_numbers_kept also that they have equal quantization parameters. */
const char *mafat_kind_numbers_alone(const struct mafat_network *n, int layer);
const char *mafat_kind_numbers_kept(const struct mafat_network *n, int layer);

/* Counts the weights of a matrix with a bias per filter, with or without normalization. */
struct mafat_weight_counts mafat_kind_matrix_counts(const struct mafat_layer *l);
/* Counts the multiply-accumulates of windows over the channels of a group. */
uint64_t mafat_kind_window_macs(const struct mafat_layer *l, uint64_t pixels, int filters,
                                int channels);

#endif
