/* The kinds (network/kinds.def), each defined in a file of this folder, and functions that several of them share. */
#ifndef MAFAT_NETWORK_KINDS_KINDS_H
#define MAFAT_NETWORK_KINDS_KINDS_H

#include "network/kind.h"

#define KIND(CONSTANT, name, integers) extern const struct mafat_kind mafat_kind_##name;
#define STEPLESS(CONSTANT, name) extern const struct mafat_kind mafat_kind_##name;
#include "network/kinds.def"

/* The layer cannot be; `what` goes on from "layer [conv] ". */
int mafat_kind_refuse(const struct mafat_subject *subject, const char *what);
/* Sets the output's shape, where a map can have it. */
int mafat_kind_put_out(struct mafat_layer *l, const struct mafat_subject *subject, long long h, long long w, long long c);
/* Gives the layer `n` outputs after its first one, of nothing yet. MAFAT_ENOMEM. */
int mafat_kind_add_outputs(struct mafat_layer *l, const struct mafat_subject *subject, int n);
/* Sets the shape, type and meaning of an output after the first, where a map can have that shape. */
int mafat_kind_put_out_more(struct mafat_layer *l, const struct mafat_subject *subject, int output, struct mafat_output is);
/* infer of kinds whose output has their input's shape. */
int mafat_kind_like_input(struct mafat_layer *l, const struct mafat_subject *subject);
int mafat_kind_check_weights(const struct mafat_subject *subject, double filters, double weights_per_filter);

/* in_span of kinds that read the pixel they write, and of those that read whole maps. */
struct mafat_span mafat_kind_same_span(const struct mafat_layer *l, int operand, bool axis_y, struct mafat_span out);
struct mafat_span mafat_kind_whole_span(const struct mafat_layer *l, int operand, bool axis_y, struct mafat_span out);

/* Of operands and the output, where no multiplier of 31 bits and shift brings one to the other. */
#define MAFAT_KIND_FAR_SCALES "has scales that lie too far apart"

/* numbers of kinds whose operands and output are whole numbers, and of those that put them out as they read them. */
const char *mafat_kind_numbers_alone(const struct mafat_network *n, int layer);
const char *mafat_kind_numbers_kept(const struct mafat_network *n, int layer);

/* Counts of one matrix with a bias for each filter, normalized or not. */
struct mafat_weight_counts mafat_kind_matrix_counts(const struct mafat_layer *l);
/* Of windows over the channels of a group. */
uint64_t mafat_kind_window_macs(const struct mafat_layer *l, uint64_t pixels, int filters, int channels);

#endif
