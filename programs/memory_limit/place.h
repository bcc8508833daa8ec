/* Finds where this process can create memory cgroups: in which hierarchy, below which cgroup, and
 * why it may (as root, by delegation, by systemd-run). Writes cgroup files, and may restart the
 * program with systemd-run. Included by check.h, group.h and memory_limit.c. */
#ifndef MAFAT_MEMORY_LIMIT_PLACE_H
#define MAFAT_MEMORY_LIMIT_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "programs/memory_limit/why.h"

enum { PATH_ROOM = 2048 };
enum layout { LAYOUT_NONE, LAYOUT_V1, LAYOUT_V2, LAYOUT_HYBRID };
enum means { MEANS_NONE, MEANS_ROOT, MEANS_DELEGATED, MEANS_SYSTEMD_RUN };

/* A place for groups. Groups are named by their path in the hierarchy, without a slash at either
 * end; "" is the root that this process sees. */
struct limit_place {
  enum layout layout;
  int version; /* of the hierarchy with the memory controller: 1 or 2; 0: none */
  enum means means;
  char mount[PATH_ROOM], cpuset_mount[PATH_ROOM]; /* mounts of memory and cpuset; "": none */
  char own[PATH_ROOM];                            /* this process's group in the memory hierarchy */
  char parent[PATH_ROOM];                         /* group below which groups are made */
  char leaf[PATH_ROOM]; /* v2: group to which this process moves first, because a group cannot have
                           both processes and limited groups; "": it need not move */
  bool scope_may_help;  /* groups cannot be made, but perhaps after place_enter_scope() */
  char help[1024];      /* if groups cannot be made: a command that would make it possible */
};

/* Finds the place; changes nothing. parent: group given by the user, or NULL. Returns false, with
 * the reason and p->help, if groups cannot be made. */
bool place_find(struct limit_place *p, const char *parent, bool in_scope, struct why *why);

/* v2: enables the controllers for groups below the parent. If needed, moves this process and the
 * process `companion` to the leaf first. v1: does nothing. */
bool place_prepare(const struct limit_place *p, bool cpuset, pid_t companion, struct why *why);

/* Moves this process back from the leaf, and removes it. */
void place_restore(const struct limit_place *p);

/* Replaces this process by `systemd-run argv`, which runs the program again in a scope of the
 * user's systemd. Returns only if that is not possible. */
void place_enter_scope(char **argv);
/* True if place_enter_scope() started this process. Called once, at the start. */
bool place_in_scope(void);

const char *layout_name(enum layout layout);
const char *means_name(enum means means); /* NULL for MEANS_NONE */
const char *means_text(enum means means); /* for people: "as root" */

/* ---- small files of the hierarchy ---- */

/* Reads a file as text, without its last newline. Returns false if it does not fit or cannot be
 * read. */
bool file_read(const char *path, char *text, size_t capacity);
/* Writes the text to a file. Returns 0 or errno. */
int file_write(const char *path, const char *text);
bool file_has_word(const char *path, const char *word);
/* Makes the path mount/group/name, or mount/group if name is "". Returns false, with path "", if it
 * is too long. */
bool path_join(char path[PATH_ROOM], const char *mount, const char *group, const char *name);

#endif
