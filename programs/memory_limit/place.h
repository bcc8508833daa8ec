/* Finds where memory cgroups can be made on this machine: in which hierarchy, below which cgroup,
 * by which right. Writes cgroup files, and may restart the program with systemd-run. Included by
 * check.h, group.h and memory_limit.c. */
#ifndef MAFAT_MEMORY_LIMIT_PLACE_H
#define MAFAT_MEMORY_LIMIT_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "programs/memory_limit/why.h"

enum { PATH_ROOM = 2048 };
enum layout { LAYOUT_NONE, LAYOUT_V1, LAYOUT_V2, LAYOUT_HYBRID };
enum means { MEANS_NONE, MEANS_ROOT, MEANS_DELEGATED, MEANS_SYSTEMD_RUN };

/* Groups are named by their path in the hierarchy, without a slash at either end;
 * "" is the top, as far as this process sees it. */
struct limit_place {
  enum layout layout;
  int version; /* of the hierarchy with the memory controller: 1 or 2; 0: none */
  enum means means;
  char mount[PATH_ROOM], cpuset_mount[PATH_ROOM]; /* of the controllers; "": none */
  char own[PATH_ROOM];                            /* this process's group in the memory hierarchy */
  char parent[PATH_ROOM];                         /* below which groups are made */
  char leaf[PATH_ROOM]; /* v2: where this process goes first, as no group may hold both
                           processes and limited groups; "": it stays where it is */
  bool scope_may_help;  /* not possible as it is, perhaps by systemd-run */
  char help[1024];      /* if it is not possible: the one command that would help */
};

/* Changes nothing. False with the reason and, in p->help, what would help. */
bool place_find(struct limit_place *p, const char *parent, bool in_scope, struct why *why);

/* v2: hands the controllers down to groups below the parent, moving this process and
 * `companion` to the leaf before where that is needed. v1: nothing to do. */
bool place_prepare(const struct limit_place *p, bool cpuset, pid_t companion, struct why *why);

/* Moves this process back from the leaf, and removes it. */
void place_restore(const struct limit_place *p);

/* Continues as a scope of the user's systemd, if one answers: starts `argv` again by
 * systemd-run, and returns only if that is not possible. */
void place_enter_scope(char **argv);
/* Are we what place_enter_scope() started? Asked once, at the start. */
bool place_in_scope(void);

const char *layout_name(enum layout layout);
const char *means_name(enum means means); /* NULL for MEANS_NONE */
const char *means_text(enum means means); /* for people: "as root" */

/* ---- small files of the hierarchy ---- */

/* False if it does not fit or cannot be read; the newline at the end is dropped. */
bool file_read(const char *path, char *text, size_t capacity);
/* 0, or errno. */
int file_write(const char *path, const char *text);
bool file_has_word(const char *path, const char *word);
/* mount/group/name, or mount/group if name is "". False if too long: then it is "". */
bool path_join(char path[PATH_ROOM], const char *mount, const char *group, const char *name);

#endif
