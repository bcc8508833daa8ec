/* Fills the public header's structs of facts from models and dry runs. Included by api/dry_run.c,
 * api/facts.c and api/facts_layers.c. Touches only its arguments. */
#ifndef MAFAT_API_FACTS_H
#define MAFAT_API_FACTS_H

#include "api/choose.h"
#include "api/picture.h"
#include "include/mafat_plan.h"

/* Describes a plan. prediction: choice->prediction, or a prediction for another picture. */
void mafat_facts_plan(struct mafat_plan_facts *facts, const struct mafat_network *n,
                      const struct mafat_choice *choice, const struct mafat_prediction *prediction);

/* Describe a layer or group. The caller sets the fields with times. MAFAT_EINVAL: no such layer or
 * group. */
int mafat_facts_layer(struct mafat_layer_facts *facts, const struct mafat_network *n,
                      const struct mafat_choice *choice, int layer);
int mafat_facts_group(struct mafat_group_facts *facts, const struct mafat_choice *choice,
                      int group);

/* Describes how pictures are converted to the input. */
struct mafat_picture_facts mafat_facts_picture(const struct mafat_picture *p);

#endif
