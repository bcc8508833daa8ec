/* swap_cost: measures how long it takes to swap a page out and in. Run by a user, or by
 * experiments/swap.sh cost, in a memory cgroup whose limit is a fraction of --size.
 *
 * The first phase writes anonymous memory page by page, so that the kernel must swap most of it
 * out. The second phase reads the pages in order, the third in random order; each page that is
 * swapped in replaces another. Huge pages are disabled. The contents do not compress, so that zram
 * and zswap do not seem faster than they are.
 *
 * Prints one JSON object: microseconds per 4 KiB, major faults of each phase, and the swap device
 * that was used most. Reads /proc/swaps; allocates and frees. Exit status: 0 done, 1 too little was
 * swapped or a page came back wrong, 2 misuse. */
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"
#include "programs/shared/decimal.h"
#include "programs/shared/refused_option.h"

enum { MAX_DEVICES = 32, UNIT_BYTES = 4096, POOL_PAGES = 64 };

static const char usage[] =
    "usage: swap_cost [--size SIZE] [--seconds N]\n"
    "Measures what a page of swap costs, inside a memory cgroup with a limit of less than\n"
    "half the size. Prints one JSON object.\n"
    "\n"
    "  --size SIZE    anonymous memory: 64M, 16384K, bytes (default: 64M)\n"
    "  --seconds N    time limit for reading, in each order (default: 15)\n"
    "  -h, --help     this text\n"
    "  -V, --version  the version\n"
    "\n"
    "Exit status: 0 done, 1 nothing was swapped (no limit, or no swap), 2 misuse.\n";

struct memory {
  unsigned char *bytes, *pool;
  size_t page_bytes, n_pages;
};

/* Cost of a phase. */
struct phase {
  double us;      /* duration of the phase in microseconds */
  size_t n_pages; /* pages written or read */
  long major_faults;
};

struct device {
  char name[4096], type[16];
  long long used; /* KiB */
};

struct devices {
  struct device list[MAX_DEVICES];
  int n;
};

static double now_us(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static long major_faults(void)
{
  struct rusage r;
  getrusage(RUSAGE_SELF, &r);
  return r.ru_majflt;
}

static uint64_t next_random(uint64_t *state) /* xorshift64* */
{
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * 0x2545f4914f6cdd1dULL;
}

/* ---- /proc/swaps ---- */

/* Decodes a name of /proc/swaps, in which blanks and some other characters are escaped as \ooo. */
static void decode(char *name)
{
  char *to = name;
  for (unsigned c; (c = (unsigned char)*name); name++) {
    if (c == '\\' && sscanf(name, "\\%3o", &c) == 1) name += 3;
    *to++ = (char)c;
  }
  *to = '\0';
}

static void devices_read(struct devices *d)
{
  char line[4352];
  FILE *f = fopen("/proc/swaps", "r");
  d->n = 0;
  while (f && d->n < MAX_DEVICES && fgets(line, sizeof line, f)) {
    struct device *one = &d->list[d->n];
    if (sscanf(line, "%4095s %15s %*d %lld", one->name, one->type, &one->used) == 3)
      decode(d->list[d->n++].name);
  }
  if (f) fclose(f);
}

/* Returns the swap device whose use has grown most from `before` to `after`. NULL: none has. */
static const struct device *device_used(const struct devices *before, const struct devices *after)
{
  const struct device *found = NULL;
  long long most = 0;
  for (int i = 0; i < after->n; i++) {
    long long grown = after->list[i].used;
    for (int k = 0; k < before->n; k++)
      if (strcmp(before->list[k].name, after->list[i].name) == 0) grown -= before->list[k].used;
    if (grown > most) {
      most = grown;
      found = &after->list[i];
    }
  }
  return found;
}

/* Prints a name as a JSON string. Bytes that are not UTF-8 become U+FFFD; false: there are some. */
static bool print_name(const char *name)
{
  bool valid = true;
  putchar('"');
  for (size_t n; *name; name += n ? n : 1) {
    n = mafat_utf8_character(name);
    valid = valid && n;
    if (n == 1 && ((unsigned char)*name < 0x20 || *name == 0x7f)) printf("\\u%04x", *name);
    else if (n == 1 && (*name == '"' || *name == '\\')) printf("\\%c", *name);
    else if (n) printf("%.*s", (int)n, name);
    else printf("\xef\xbf\xbd");
  }
  putchar('"');
  return valid;
}

static void print_device(const char *name)
{
  if (print_name(name)) return;
  printf(", \"device_bytes\": \"");
  for (; *name; name++) printf("%02x", (unsigned char)*name);
  putchar('"');
}

/* ---- phases ---- */

/* Writes page i: a copy of page i % POOL_PAGES of the pool that begins with the number i. */
static void write_page(const struct memory *m, size_t i)
{
  uint64_t number = i;
  unsigned char *page = m->bytes + i * m->page_bytes;
  memcpy(page, m->pool + i % POOL_PAGES * m->page_bytes, m->page_bytes);
  memcpy(page, &number, sizeof number);
}

static bool page_is_right(const struct memory *m, size_t i)
{
  uint64_t number;
  const unsigned char *page = m->bytes + i * m->page_bytes,
                      *wanted = m->pool + i % POOL_PAGES * m->page_bytes;
  memcpy(&number, page, sizeof number);
  return number == i && memcmp(page + 64, wanted + 64, 64) == 0;
}

static void write_out(const struct memory *m, struct phase *p)
{
  long faults = major_faults();
  double start = now_us();
  for (size_t i = 0; i < m->n_pages; i++) write_page(m, i);
  *p = (struct phase){now_us() - start, m->n_pages, major_faults() - faults};
}

/* Reads pages in the given order (NULL: by address) until all are read or the time is over. Returns
 * the number of pages with wrong contents. */
static size_t read_in(const struct memory *m, const uint32_t *order, double seconds,
                      struct phase *p)
{
  long faults = major_faults();
  size_t wrong = 0, i = 0;
  double start = now_us();
  while (i < m->n_pages && now_us() < start + seconds * 1e6) {
    wrong += !page_is_right(m, order ? order[i] : i);
    i++;
  }
  *p = (struct phase){now_us() - start, i, major_faults() - faults};
  return wrong;
}

/* Returns the number of resident pages, by mincore(2); the number of all pages if it fails. */
static size_t pages_resident(const struct memory *m, unsigned char *flags)
{
  size_t n = 0;
  if (mincore(m->bytes, m->n_pages * m->page_bytes, flags) != 0) return m->n_pages;
  for (size_t i = 0; i < m->n_pages; i++) n += flags[i] & 1;
  return n;
}

static void shuffle(uint32_t *order, size_t n, uint64_t *state)
{
  for (size_t i = 0; i < n; i++) order[i] = (uint32_t)i;
  for (size_t i = n; i > 1; i--) {
    size_t k = next_random(state) % i;
    uint32_t t = order[i - 1];
    order[i - 1] = order[k];
    order[k] = t;
  }
}

static int failed(const char *what)
{
  fprintf(stderr, "swap_cost: %s\n", what);
  return 1;
}

/* Flushes standard output and reports a failure, since a full disk shows only now. */
static int printed(void)
{
  if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
  perror("swap_cost: standard output");
  return 1;
}

/* Performs the phases and prints the result. Returns the exit status. order and flags: memory for
 * one element for each page. */
static int measure(const struct memory *m, uint32_t *order, unsigned char *flags, double seconds)
{
  static struct devices before, after; /* too large for a stack */
  struct phase out, in, random_in;
  uint64_t state = 1;
  for (size_t i = 0; i < POOL_PAGES * m->page_bytes; i += sizeof state) {
    uint64_t r = next_random(&state);
    memcpy(m->pool + i, &r, sizeof r);
  }
  shuffle(order, m->n_pages, &state);

  devices_read(&before);
  write_out(m, &out);
  devices_read(&after);
  size_t n_out = m->n_pages - pages_resident(m, flags);
  if (n_out < m->n_pages / 2)
    return failed("less than half of the memory was swapped out: is swap on, and is there a limit "
                  "of a quarter of --size?");
  size_t wrong = read_in(m, NULL, seconds, &in);
  wrong += read_in(m, order, seconds, &random_in);
  if (wrong > 0) return failed("what came back from swap is not what was written");

  const struct device *used = device_used(&before, &after);
  double units = (double)m->page_bytes / UNIT_BYTES;
  printf("{\"page_bytes\": %zu, \"n_pages\": %zu, \"out_pages\": %zu, \"out_us\": %.2f, \"in_us\": "
         "%.2f, \"in_random_us\": %.2f, "
         "\"out_major_faults\": %ld, \"in_pages\": %zu, \"in_major_faults\": %ld, "
         "\"in_random_pages\": %zu, \"in_random_major_faults\": %ld, \"device\": ",
         m->page_bytes, m->n_pages, n_out, out.us / (double)n_out / units,
         in.us / (double)in.n_pages / units, random_in.us / (double)random_in.n_pages / units,
         out.major_faults, in.n_pages, in.major_faults, random_in.n_pages, random_in.major_faults);
  print_device(used ? used->name : "");
  printf(", \"type\": \"%s\"}\n", used ? used->type : "");
  return printed();
}

/* ---- command line ---- */

static int misuse(const char *option, const char *expected, const char *found)
{
  char text[256];
  snprintf(text, sizeof text, "%s expects %s, found '%s'", option, expected, found);
  mafat_utf8_keep_to_one_line(text);
  fprintf(stderr, "swap_cost: %s\n", text);
  return 2;
}

/* Returns the bytes of a size such as 64M, 1.5G, 16384K or 4096; 0 if the text is not a size. */
static size_t size_of(const char *text)
{
  char *end;
  double n = strtod(text, &end);
  const char *units = "KMG", *unit = *end ? strchr(units, *end) : NULL;
  if (unit) {
    n *= (double)(1ULL << 10 * (unit - units + 1));
    end++;
  }
  return mafat_decimal_begins(text) && *end == 0 && n >= 1 && n <= 1e12 &&
                 n < (double)(SIZE_MAX / 2)
             ? (size_t)n
             : 0;
}

int main(int argc, char **argv)
{
  static const struct option options[] = {{"size", required_argument, NULL, 's'},
                                          {"seconds", required_argument, NULL, 't'},
                                          {"version", no_argument, NULL, 'V'},
                                          {"help", optional_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
  size_t bytes = 64 << 20;
  double seconds = 15;
  char *end, refused[MAFAT_REFUSED_ROOM];
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, ":hV", options, NULL)) != -1;) switch (c) {
    case 's':
      bytes = size_of(optarg);
      if (bytes < 1 << 20) return misuse("--size", "at least 1M, such as 64M", optarg);
      break;
    case 't':
      seconds = strtod(optarg, &end);
      if (!mafat_decimal_begins(optarg) || *end || !(seconds > 0))
        return misuse("--seconds", "a number above 0", optarg);
      break;
    case 'V':
      puts("swap_cost " MAFAT_VERSION);
      return printed();
    case 'h':
      fputs(usage, stdout);
      return printed();
    default:
      mafat_refused_option(refused, c, options, argv);
      mafat_utf8_keep_to_one_line(refused);
      fprintf(stderr, "swap_cost: %s\n", refused);
      return 2;
    }
  if (optind < argc) return misuse("the command line", "nothing more", argv[optind]);

  struct memory m = {.page_bytes = (size_t)sysconf(_SC_PAGESIZE)};
  m.n_pages = bytes / m.page_bytes;
  m.bytes = mmap(NULL, m.n_pages * m.page_bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  m.pool = malloc(POOL_PAGES * m.page_bytes);
  uint32_t *order = malloc(m.n_pages * sizeof *order);
  unsigned char *flags = malloc(m.n_pages);
  int status;
  if (m.bytes == MAP_FAILED || !m.pool || !order || !flags) status = failed("out of memory");
  else {
    madvise(m.bytes, m.n_pages * m.page_bytes,
            MADV_NOHUGEPAGE); /* fails, without harm, if the kernel has no huge pages */
    status = measure(&m, order, flags, seconds);
  }
  free(flags);
  free(order);
  free(m.pool);
  if (m.bytes != MAP_FAILED) munmap(m.bytes, m.n_pages * m.page_bytes);
  return status;
}
