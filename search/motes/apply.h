/* MOTES' Apply: what a set of partition schemes makes of a network, as a spec.
 *
 * A scheme cuts some layers, the same part of the axis connecting graph of each, into n parts. Schemes that cut a layer along several axes run
 * together, part by part, and so may those along one axis of which one reads what another makes: they are a split group, with what
 * lies between their layers. All else is groups of whole maps before, between and behind them. */
#ifndef MAFAT_SEARCH_MOTES_APPLY_H
#define MAFAT_SEARCH_MOTES_APPLY_H

#include "predictor/plan/spec.h"

struct mafat_scheme {
  enum mafat_split_axis axis;
  int n;       /* parts */
  int *layers; /* (n_layers), rising */
  int n_layers;
};

enum { MAFAT_MOST_SCHEMES = 96 }; /* of a state */

/* Of the first n_layers; groups of whole maps end where cells do (cell_of, of each layer; NULL: there are none). `apart`: schemes that only
 * read each other are groups of their own. `direct`: groups say so
 * of their convolutions. MAFAT_EINVAL: schemes wait for each other; MAFAT_ENOMEM. */
int mafat_schemes_apply(struct mafat_spec **out, const struct mafat_network *network, int n_layers,
                        const struct mafat_scheme *const *schemes, int n, const int *cell_of, bool apart, bool direct,
                        struct mafat_heap *heap);

/* Does the scheme cut that layer? */
bool mafat_scheme_holds(const struct mafat_scheme *scheme, int layer);
/* Do both cut a layer along the same axis? No plan has that. */
bool mafat_schemes_clash(const struct mafat_scheme *a, const struct mafat_scheme *b);

#endif
