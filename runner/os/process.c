/* Measures this process (resident bytes, faults, swap) and controls which of its code pages are
 * resident. Called by api/, runner/, programs/mafat_ranks and programs/mafat/doctor.c. Reads /proc;
 * uses madvise, mlock and mprotect on the program's own mappings. */
#include "runner/os/process.h"

#include "base/part.h"
#include "runner/os/lines.h"
#include "runner/os/lock.h"
#include "runner/os/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { SMALL_FILE = 8192 };

/* Reads at most capacity - 1 bytes and appends a NUL; false if unreadable. */
static bool read_small(const char *path, char *text, size_t capacity)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  size_t n = 0;
  while (n < capacity - 1) {
    ssize_t got = read(fd, text + n, capacity - 1 - n);
    if (got <= 0) break;
    n += (size_t)got;
  }
  close(fd);
  text[n] = '\0';
  return n > 0;
}

size_t mafat_process_resident_bytes(void)
{
  char text[SMALL_FILE];
  uint64_t kb = 0;
  if (read_small("/proc/self/smaps_rollup", text, sizeof text) &&
      mafat_lines_number(text, "Rss:", &kb))
    return (size_t)(kb << 10);
  char *end = text; /* the second number of statm is resident pages */
  if (!read_small("/proc/self/statm", text, sizeof text)) return 0;
  strtoul(text, &end, 10);
  return strtoul(end, &end, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

MAFAT_PART(opening) size_t mafat_process_most_resident_bytes(void)
{
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? (size_t)usage.ru_maxrss << 10 : 0;
}

size_t mafat_process_resident_bytes_of(const void *begin, size_t bytes)
{
  unsigned char pages[SMALL_FILE];
  size_t page = (size_t)sysconf(_SC_PAGESIZE), sum = 0;
  for (size_t at = 0; at < bytes; at += sizeof pages * page) {
    size_t length = bytes - at < sizeof pages * page ? bytes - at : sizeof pages * page;
    if (mincore((char *)begin + at, length, pages) != 0) return bytes;
    for (size_t i = 0; i < (length + page - 1) / page; i++) sum += pages[i] & 1 ? page : 0;
  }
  return sum;
}

/* Counts cached pages with cachestat (Linux 6.5), which C library headers may lack. */
static bool ask_cached_pages(int fd, uint64_t *n_pages)
{
  enum { CACHESTAT = 451 };
  uint64_t all[2] = {0, 0}, counts[5]; /* cached, dirty, in writeback, evicted, recently evicted */
  if (syscall(CACHESTAT, fd, all, counts, 0) != 0) return false;
  *n_pages = counts[0];
  return true;
}

size_t mafat_process_cached_bytes_of(int fd, size_t bytes)
{
  uint64_t n_pages, page = (uint64_t)sysconf(_SC_PAGESIZE);
  if (ask_cached_pages(fd, &n_pages)) return (size_t)(n_pages * page);
  void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) return 0;
  size_t cached = mafat_process_resident_bytes_of(map, bytes);
  munmap(map, bytes);
  return cached;
}

size_t mafat_process_peak_bytes(void)
{
  char text[SMALL_FILE];
  uint64_t kb = 0;
  if (read_small("/proc/self/status", text, sizeof text)) mafat_lines_number(text, "VmHWM:", &kb);
  return (size_t)(kb << 10);
}

long mafat_process_major_faults(void)
{
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_majflt : 0;
}

void mafat_process_swap_bytes(uint64_t *in, uint64_t *out)
{
  char text[SMALL_FILE];
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  *in = *out = 0;
  if (!read_small("/proc/vmstat", text, sizeof text)) return;
  mafat_lines_number(text, "pswpin ", in);
  mafat_lines_number(text, "pswpout ", out);
  *in *= page;
  *out *= page;
}

enum { HUGE_PAGE = 2 << 20 }; /* of x86-64, and of Arm with pages of 4 KiB */

static void *map_private(size_t bytes)
{
  return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Maps memory at a multiple of HUGE_PAGE: maps more, and unmaps what is before and after. */
static void *map_aligned(size_t bytes)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE), more;
  if (__builtin_add_overflow(bytes, page + HUGE_PAGE, &more)) return MAP_FAILED;
  char *memory = map_private(more);
  if (memory == MAP_FAILED) return MAP_FAILED;
  size_t before = -(uintptr_t)memory % HUGE_PAGE, end = before + (bytes + page - 1) / page * page;
  if (before) munmap(memory, before);
  munmap(memory + end, more - end);
  return memory + before;
}

void *mafat_process_map(size_t bytes, size_t huge_bytes)
{
  size_t huge = huge_bytes / HUGE_PAGE * HUGE_PAGE;
  void *memory = huge ? map_aligned(bytes) : MAP_FAILED;
  if (memory == MAP_FAILED) return map_private(bytes);
  madvise(memory, huge, MADV_HUGEPAGE); /* only advice */
  return memory;
}

void mafat_process_populate_writable(void *memory, size_t bytes)
{
  enum { POPULATE_WRITE = 23 };
  madvise(memory, bytes, POPULATE_WRITE);
}

void mafat_process_populate(const char *begin, const char *end)
{
  enum { POPULATE_READ = 22 }; /* Linux 5.14 */
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t from = (uintptr_t)begin / page * page, to = ((uintptr_t)end + page - 1) / page * page;
  madvise((void *)from, to - from, MADV_WILLNEED); /* no read-ahead beyond these pages */
  if (madvise((void *)from, to - from, POPULATE_READ) == 0) return;
  for (; from < to; from += page) (void)*(volatile const char *)from;
}

/* Start of the program and end of its code, defined by the linker script run_inference.ld; NULL in
 * other programs. */
extern const char mafat_program_begin[] __attribute__((weak)),
    mafat_program_code_end[] __attribute__((weak));

/* Finds the program header of a type and flags; NULL if there is none. */
static const ElfW(Phdr) *find_segment(ElfW(Word) type, ElfW(Word) flags)
{
  const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
  for (unsigned long i = 0; headers && i < getauxval(AT_PHNUM); i++)
    if (headers[i].p_type == type && (headers[i].p_flags & flags) == flags) return &headers[i];
  return NULL;
}

/* Returns the difference between the load address and the ELF headers' addresses; 0 unless the
 * program is position-independent. */
static uintptr_t displacement(void)
{
  const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
  uintptr_t first = UINTPTR_MAX;
  for (unsigned long i = 0; headers && i < getauxval(AT_PHNUM); i++)
    if (headers[i].p_type == PT_LOAD && headers[i].p_vaddr < first) first = headers[i].p_vaddr;
  return first == UINTPTR_MAX ? 0 : (uintptr_t)mafat_program_begin - first;
}

/* Returns the start of writable data, where the code ends. Pages of data become private. They must
 * not get the advice for code (MADV_RANDOM): the kernel would then not see their use, and would
 * swap them out first. */
static uintptr_t program_data(void)
{
  const ElfW(Phdr) *data = find_segment(PT_LOAD, PF_W);
  return data ? displacement() + data->p_vaddr : (uintptr_t)mafat_program_code_end;
}

/* Tables in writable data that runs do not read; defined by run_inference.ld. */
extern const char mafat_program_tables[] __attribute__((weak)),
    mafat_program_tables_end[] __attribute__((weak));

/* Returns the whole pages of these tables, which are dropped like code. Empty if a loader relocates
 * them, because they then differ from the file. */
static struct mafat_process_part tables(void)
{
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t from = ((uintptr_t)mafat_program_tables + page - 1) / page * page,
            to = (uintptr_t)mafat_program_tables_end / page * page;
  if (from > to || find_segment(PT_DYNAMIC, 0)) from = to;
  return (struct mafat_process_part){(const char *)from, (const char *)to};
}

MAFAT_PART(opening) static size_t count_pages(int pagemap, uintptr_t at, uintptr_t to)
{
  uint64_t entries[MAFAT_PAGES_AT_ONCE];
  size_t n = 0;
  while (at < to) {
    size_t got = mafat_pages_read(pagemap, at, to, entries);
    if (got == 0) break;
    for (size_t i = 0; i < got; i++, at++) n += mafat_page_is_there(entries[i]);
  }
  return n;
}

MAFAT_PART(opening) size_t mafat_process_code_bytes(void)
{
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  struct mafat_process_part t = tables();
  int fd = mafat_program_begin ? mafat_pages_open() : -1;
  if (fd < 0) return 0;
  size_t n = count_pages(fd, (uintptr_t)mafat_program_begin / page, program_data() / page) +
             count_pages(fd, (uintptr_t)t.begin / page, (uintptr_t)t.end / page);
  close(fd);
  return n * page;
}

MAFAT_PART(opening) size_t mafat_process_file_bytes(void)
{
  struct stat st;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return stat("/proc/self/exe", &st) == 0 ? ((size_t)st.st_size + page - 1) / page * page : 0;
}

void mafat_process_drop(const char *begin, const char *end)
{
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t from = ((uintptr_t)begin + page - 1) / page * page, to = (uintptr_t)end / page * page;
  if (from < to) madvise((void *)from, to - from, MADV_DONTNEED);
}

void mafat_process_lock(const char *begin, const char *end)
{
  mafat_lock_pages((void *)begin, (size_t)(end - begin));
}

/* True since Linux 6.3: pages under MADV_RANDOM count as unused, however often they are used. */
MAFAT_PART(opening) static bool advice_hides_use(void)
{
  struct utsname system;
  if (uname(&system) != 0) return false;
  char *end;
  long major = strtol(system.release, &end, 10),
       minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
  return major > 6 || (major == 6 && minor >= 3);
}

/* Restores normal advice for the code of a part, so that the kernel sees its use. Not for
 * constants: the kernel would read ahead for missing ones again. */
static void show_use(const struct mafat_process_part *part)
{
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE),
            code_end = (uintptr_t)mafat_program_code_end / page * page;
  uintptr_t from = (uintptr_t)part->begin / page * page,
            to = ((uintptr_t)part->end + page - 1) / page * page;
  if (to > code_end) to = code_end;
  if (from < to) madvise((void *)from, to - from, MADV_NORMAL);
}

void mafat_process_keep_code(const struct mafat_process_part *parts, int n_parts)
{
  const char *at = mafat_program_begin;
  if (!at) return;
  bool hidden = advice_hides_use(); /* before its own code is dropped */
  mafat_lock_release((void *)at, program_data() - (uintptr_t)at);
  for (int i = 0; i < n_parts; at = parts[i++].end) mafat_process_drop(at, parts[i].begin);
  mafat_process_drop(at, (const char *)program_data());
  struct mafat_process_part t = tables();
  mafat_process_drop(t.begin, t.end);
  for (int i = 0; hidden && i < n_parts; i++) show_use(&parts[i]);
}

/* Since Linux 6.16, the kernel reads missing code ahead to the end of its mapping, whatever the
 * advice. So MADV_DONTDUMP, which has no other effect on code, splits the mapping every 64 KB. */
MAFAT_PART(opening) void mafat_process_advise_code(void)
{
  enum { CODE_PIECE = 64 << 10 };
  if (!mafat_program_begin) return;
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t from = (uintptr_t)mafat_program_begin / page * page, to = program_data() / page * page;
  madvise((void *)from, to - from, MADV_RANDOM); /* only advice: failure is harmless */
  from = from / CODE_PIECE * CODE_PIECE + CODE_PIECE;
  for (; from + CODE_PIECE < (uintptr_t)mafat_program_code_end; from += 2 * CODE_PIECE)
    madvise((void *)from, CODE_PIECE, MADV_DONTDUMP);
}

/* Changes the protection of relocated constants (RELRO), which the loader made read-only. */
MAFAT_PART(opening) static bool seal(const ElfW(Phdr) *sealed, int rights)
{
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t begin = displacement() + sealed->p_vaddr, from = begin / page * page,
            to = (begin + sealed->p_memsz) / page * page;
  return from >= to || mprotect((void *)from, to - from, rights) == 0;
}

MAFAT_PART(opening) void mafat_process_own_data(void)
{
  const ElfW(Phdr) *data = find_segment(PT_LOAD, PF_W), *sealed = find_segment(PT_GNU_RELRO, 0);
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  struct mafat_process_part t = tables();
  if (!mafat_program_begin || !data || (sealed && !seal(sealed, PROT_READ | PROT_WRITE))) return;
  uintptr_t begin = program_data();
  for (uintptr_t at = begin; at < begin + data->p_filesz; at = at / page * page + page)
    if (at < (uintptr_t)t.begin || at >= (uintptr_t)t.end)
      *(volatile char *)at = *(volatile char *)at;
  if (sealed) seal(sealed, PROT_READ);
}

void mafat_process_forget_code(void)
{
  int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* does not drop mapped pages */
  close(fd);
}

/* The kernel leaves a random gap of up to 8 KiB between arguments and stack. This program touches
 * STACK_GAP bytes in total: first the gap, and the remaining bytes below the stack. So all
 * processes touch the same number of bytes. */
enum { STACK_GAP = (8 << 10) + 256 };

/* Returns the size of the gap; STACK_GAP if it cannot be found. */
static size_t touch_gap(void)
{
  uintptr_t above = (uintptr_t)program_invocation_name, below = (uintptr_t)getauxval(AT_RANDOM);
  if (!below || above <= below || above - below > STACK_GAP) return STACK_GAP;
  /* Rewrites the same value atomically: another thread may write there. */
  for (uintptr_t at = below; at < above; at += 1024) {
    char there = __atomic_load_n((char *)at, __ATOMIC_RELAXED);
    __atomic_compare_exchange_n((char *)at, &there, there, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
  }
  return above - below;
}

/* Touches `bytes` below the caller's stack; returns the lowest address touched. Calls nothing,
 * because a call would touch more. */
MAFAT_PART(opening) static __attribute__((noinline)) uintptr_t touch_below(size_t bytes)
{
  volatile char stack[MAFAT_PROCESS_STACK + STACK_GAP];
  volatile char *end = stack + sizeof stack;
  for (size_t i = 1; i < bytes; i += 1024) end[-(ptrdiff_t)i] = 0;
  end[-(ptrdiff_t)bytes] = 0;
  return (uintptr_t)end - bytes;
}

/* Drops the DEEPEST bytes below those that it has touched: reading a model file used some of them,
 * down to an address that differs between processes. Drops them only in the static program, which
 * opens models on the main thread's stack. Below the stack of another thread, memory may be in
 * use. */
MAFAT_PART(opening) void mafat_process_touch_stack(void)
{
  enum { DEEPEST = 256 << 10 };
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t end = touch_below(MAFAT_PROCESS_STACK + STACK_GAP - touch_gap()) / page * page;
  if (mafat_program_begin && mafat_process_is_static())
    madvise((void *)(end - DEEPEST), DEEPEST, MADV_DONTNEED);
}

void mafat_process_trim_heap(void)
{
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

int mafat_process_processors(void)
{
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

bool mafat_process_is_static(void)
{
  return getauxval(AT_BASE) == 0;
}

double mafat_process_now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}
