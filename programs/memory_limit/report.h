/* Reports of memory_limit on a command that has ended. Writes through programs/shared/writer.h.
 * Included by memory_limit.c. */
#ifndef MAFAT_MEMORY_LIMIT_REPORT_H
#define MAFAT_MEMORY_LIMIT_REPORT_H

#include "programs/memory_limit/group.h"
#include "programs/memory_limit/options.h"
#include "programs/memory_limit/watch.h"

/* Writes the report to fd, in o->format. Returns false if fd cannot be written. */
bool report_write(int fd, const struct limit_options *o, const struct limit_group *g,
                  const struct limit_watch *w);

#endif
