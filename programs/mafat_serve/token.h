/* Reads the token, a secret that clients must send in each request. Opens the token file, or
 * overwrites and unsets the environment variable; allocates nothing. Included by mafat_serve.c. */
#ifndef MAFAT_PROGRAM_SERVE_TOKEN_H
#define MAFAT_PROGRAM_SERVE_TOKEN_H

#include "programs/run_inference/options.h"

enum {
  MAFAT_TOKEN_ROOM = 513,
  MAFAT_TOKEN_LEAST = 8
}; /* lengths in bytes; a longer token would not fit into a head beside other fields */

/* Reads the first line of the token file, or, without one, the environment variable, which is wiped
 * and unset. "": neither is given. MAFAT_EIO: reading fails. MAFAT_EINVAL: the token is too short
 * or long, or contains characters that cannot be sent. */
int mafat_token_read(char token[MAFAT_TOKEN_ROOM], const struct mafat_options *o,
                     struct mafat_diagnostic *d);

#endif
