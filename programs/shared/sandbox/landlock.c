/* Restricts with Landlock, a kernel interface, which files this process can write; newer kernels
 * also forbid TCP sockets, and signals to other processes. Called by sandbox.c. Restricts the
 * process until it ends; opens and closes folders. */
#include "programs/shared/sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Landlock as of version 6 of its interface. The numbers never change; they are repeated here
 * because the kernel's headers may be older than the kernel. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

enum { VERSION_FLAG = 1, PATH_BENEATH = 1 };
enum access {
  EXECUTE = 1 << 0, WRITE_FILE = 1 << 1, REMOVE_DIR = 1 << 4, REMOVE_FILE = 1 << 5,
  MAKE_CHAR = 1 << 6, MAKE_DIR = 1 << 7, MAKE_REG = 1 << 8, MAKE_SOCK = 1 << 9, MAKE_FIFO = 1 << 10,
  MAKE_BLOCK = 1 << 11, MAKE_SYM = 1 << 12,
  REFER = 1 << 13,    /* since version 2: move files between folders */
  TRUNCATE = 1 << 14, /* since version 3 */
  DEVICES = 1 << 15   /* since version 5: ioctl of devices */
};

struct rules {
  uint64_t files, network, scoped;
};

struct beneath {
  uint64_t allowed;
  int32_t parent;
} __attribute__((packed));

static struct rules forbidden(int version)
{
  struct rules r = {EXECUTE | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_CHAR | MAKE_DIR |
                        MAKE_REG | MAKE_SOCK | MAKE_FIFO | MAKE_BLOCK | MAKE_SYM,
                    0, 0};
  if (version >= 2) r.files |= REFER;
  if (version >= 3) r.files |= TRUNCATE;
  if (version >= 5) r.files |= DEVICES;
  if (version >= 4) r.network = 3; /* binding and connecting TCP sockets */
  if (version >= 6) r.scoped = 3;  /* abstract Unix sockets of, and signals to, processes outside */
  return r;
}

static size_t rules_bytes(int version)
{
  return version >= 6 ? 24 : version >= 4 ? 16 : 8;
}

static int allow(int ruleset, const char *path, uint64_t access)
{
  struct beneath rule = {access, open(path, O_PATH | O_CLOEXEC)};
  if (rule.parent < 0) return errno;
  int code = syscall(SYS_landlock_add_rule, ruleset, PATH_BENEATH, &rule, 0) == 0 ? 0 : errno;
  close(rule.parent);
  return code;
}

static int allow_files(int ruleset, const char *folder, int version)
{
  return allow(ruleset, folder,
               WRITE_FILE | (version >= 3 ? TRUNCATE : 0) | MAKE_REG | REMOVE_FILE);
}

/* Allows writing the output. A regular file is written under a temporary name in the same folder
 * and renamed, so its folder is allowed. */
static int allow_output(int ruleset, const char *path, int version)
{
  struct stat st;
  char folder[PATH_MAX];
  uint64_t write = WRITE_FILE | (version >= 3 ? TRUNCATE : 0);
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
    return EISDIR; /* a mistake of the user; it would allow everything in it */
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) return allow(ruleset, path, write);
  if (!realpath(path, folder)) { /* the file does not exist yet */
    if (strlen(path) >= sizeof folder) return ENAMETOOLONG;
    strcpy(folder, path);
  }
  char *slash = strrchr(folder, '/');
  if (!slash) strcpy(folder, ".");
  else slash[slash == folder] = '\0';
  return allow_files(ruleset, folder, version);
}

int mafat_landlock_enter(const char *const *outputs, int n_outputs, const char *copies)
{
  long version = syscall(SYS_landlock_create_ruleset, NULL, 0, VERSION_FLAG);
  if (version < 1) return 0;
  const struct rules rules = forbidden((int)version);
  int ruleset = (int)syscall(SYS_landlock_create_ruleset, &rules, rules_bytes((int)version), 0);
  if (ruleset < 0) return 0;
  /* Errors are ignored: a path that cannot be allowed cannot be opened either, and its writer
   * reports that. */
  for (int i = 0; i < n_outputs; i++) allow_output(ruleset, outputs[i], (int)version);
  if (copies) allow_files(ruleset, copies, (int)version);
  if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0) version = 0;
  close(ruleset);
  return (int)version;
}
