/* A model's bytes as a file, and the network that a format's reader makes of them. */
#ifndef MAFAT_TESTS_SUPPORT_IMPORTED_H
#define MAFAT_TESTS_SUPPORT_IMPORTED_H

#include "formats/graph/given.h"
#include "network/network.h"

typedef int test_network_reader(struct mafat_network **out, const char *path, const struct mafat_given *given,
                                struct mafat_diagnostic *d);

struct test_imported {
  char path[64];
  int fd, code;
  struct mafat_network *network; /* NULL: refused, for a reason, in one line */
};

struct test_imported test_import(test_network_reader *read, const char *data, size_t n, struct mafat_diagnostic *d);
void test_imported_close(struct test_imported *m);

/* Fails each allocation of reading that file in turn: all are told, and nothing stays. */
void test_import_without_memory(test_network_reader *read, const char *path, const struct mafat_given *given, const char *name);

#endif
