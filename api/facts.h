/* Filling the public header's facts from what models and queries hold. */
#ifndef MAFAT_API_FACTS_H
#define MAFAT_API_FACTS_H

#include "api/choose.h"
#include "api/picture.h"
#include "include/mafat_plan.h"

/* The prediction is the choice's, or one with another picture. */
void mafat_facts_plan(struct mafat_plan_facts *facts, const struct mafat_network *n, const struct mafat_choice *choice,
                      const struct mafat_prediction *prediction);

/* The times in them are the caller's to fill. MAFAT_EINVAL: there is no such one. */
int mafat_facts_layer(struct mafat_layer_facts *facts, const struct mafat_network *n,
                      const struct mafat_choice *choice, int layer);
int mafat_facts_group(struct mafat_group_facts *facts, const struct mafat_choice *choice, int group);

/* How pictures become the input. */
struct mafat_picture_facts mafat_facts_picture(const struct mafat_picture *p);

#endif
