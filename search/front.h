/* A front while it is being found: plans by their text, laid out and kept where no
 * other one beats them in both bytes and milliseconds. */
#ifndef MAFAT_SEARCH_FRONT_H
#define MAFAT_SEARCH_FRONT_H

#include "search/best.h"

/* Of candidates by (bytes, ms), in any order, keeps those that no other beats;
 * sorts them by bytes. Texts of the others are freed. */
void mafat_front_reduce(struct mafat_front *front);

/* Adds a plan for the options' threads with its prediction, for an arena without holes; a text that is no plan
 * for the network is passed over. MAFAT_ENOMEM. */
int mafat_front_add(struct mafat_front *front, const struct mafat_search_request *request, const char *text,
                    struct mafat_diagnostic *d);

/* Of each plan the arena as it is: what others beat then goes. */
int mafat_front_arrange(struct mafat_front *front, const struct mafat_search_request *request,
                        struct mafat_diagnostic *d);

#endif
