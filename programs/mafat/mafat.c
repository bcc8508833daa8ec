/* Program `mafat`: one command for the programs in the same folder. Finds the program that a word
 * means, such as run_inference for "predict", and replaces this process by it (execv). Reads
 * /proc/self/exe and the program's ELF header; "doctor" runs in this program. */
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/mebibytes.h"
#include "programs/mafat/doctor.h"
#include "programs/shared/nearest.h"
#include "programs/shared/streams.h"

/* Exit status, as in the other programs. */
enum mafat_status { DONE = 0, FAILED = 1, MISUSE = 2 };

static const struct command {
  const char *word, *program; /* program: its name in the build folder; NULL: in this program */
  const char *options;        /* put before the arguments, separated by blanks; NULL: none */
  const char *needs; /* libraries that the program needs; without them `make` does not build it;
                        NULL: none */
  const char *what, *try;     /* lines of --help: purpose, example */
  const char *usage; /* printed before the program's help; NULL: the program prints its usage */
} commands[] = {
    {"doctor", NULL, NULL, NULL, "show what this machine has, with advice", "mafat doctor", NULL},
    {"predict", "run_inference", "--predict", NULL,
     "predict memory and milliseconds of a network; runs nothing",
     "mafat predict --sweep yolov3-tiny.cfg",
     "usage: % [options] MODEL.cfg [MODEL.weights [IMAGE]]\n"
     "       % [options] MODEL [IMAGE]\n"
     "Predicts the memory and milliseconds of a network within a memory budget, without\n"
     "running it: mafat run with --predict.\n"
     "\n"
     "  % --memory 16M yolov3-tiny.cfg\n"
     "  % --sweep yolox_nano.onnx\n"},
    {"run", "run_inference", NULL, NULL,
     "detect or classify what is in pictures, within a memory budget",
     "mafat run --memory 32M yolov3-tiny.cfg yolov3-tiny.weights dog.jpg", NULL},
    {"bench", "run_inference", "--repeat 20 --report", NULL,
     "measure time for each layer, its spread, and memory",
     "mafat bench --memory 32M yolov3-tiny.cfg yolov3-tiny.weights dog.jpg",
     "usage: % [options] MODEL.cfg MODEL.weights IMAGE\n"
     "       % [options] MODEL IMAGE\n"
     "Measures the time of each layer, its spread over 20 runs, and memory: mafat run with\n"
     "--repeat 20 --report.\n"
     "\n"
     "  % --memory 32M yolov3-tiny.cfg yolov3-tiny.weights dog.jpg\n"
     "  % --repeat 100 --threads 2 yolox_nano.onnx dog.jpg\n"},
    {"annotate", "annotate", NULL, "libgd, json-c and libexif", "draw detections on pictures",
     "mafat run --json MODEL.onnx dog.jpg | mafat annotate -o boxes/", NULL},
    {"serve", "mafat_serve", NULL, NULL, "run a network as an HTTP service with a web page",
     "mafat serve --memory 32M yolov3-tiny.cfg yolov3-tiny.weights", NULL},
    {"pack", "pack_weights", NULL, NULL,
     "convert a model to one packed file: faster, for smaller budgets",
     "mafat pack yolov3-tiny.cfg yolov3-tiny.weights tiny.packed", NULL},
    {"weights", "make_weights", NULL, NULL,
     "make random weights, for measurements without a trained network",
     "mafat weights yolov3-tiny.cfg random.weights", NULL},
    {"limit", "memory_limit", NULL, "libcgroup and libproc2",
     "run a command under a memory limit and report its memory",
     "mafat limit --limit 32M -- mafat run tiny.packed dog.jpg", NULL},
    {"ranks", "mafat_ranks", NULL, "MPI", "run a network on several devices",
     "mpirun -n 2 mafat ranks yolov3-tiny.cfg yolov3-tiny.weights dog.jpg", NULL},
};

enum {
  N_COMMANDS = sizeof commands / sizeof *commands, PROGRAM_ROOM = PATH_MAX + 32, MOST_OPTIONS = 8,
  OPTIONS_ROOM = 64,
  NAME_ROOM = 32
};

/* Finds the path of a command's program: its installed name, mafat-WORD, if that file exists, else
 * its name in the build folder. */
static void program_path(char path[PROGRAM_ROOM], const char *bin, const struct command *c)
{
  snprintf(path, PROGRAM_ROOM, "%s/mafat-%s", bin, c->word);
  if (access(path, X_OK) != 0) snprintf(path, PROGRAM_ROOM, "%s/%s", bin, c->program);
}

static bool is_there(const char *bin, const struct command *c)
{
  char path[PROGRAM_ROOM];
  if (!c->program) return true;
  program_path(path, bin, c);
  return access(path, X_OK) == 0;
}

/* Finds the folder of this program, even if it was started through a symbolic link. Without /proc,
 * uses the name by which it was executed. Returns 0, or another value on failure. */
static int find_bin(char bin[PATH_MAX])
{
  ssize_t n = readlink("/proc/self/exe", bin, PATH_MAX - 1);
  if (n >= 0) bin[n] = '\0';
  else if (!realpath((const char *)getauxval(AT_EXECFN), bin)) return -1;
  char *end = strrchr(bin, '/');
  if (!end) return -1;
  *end = '\0';
  return 0;
}

static int help(const char *bin)
{
  printf("usage: mafat COMMAND [ARGUMENT]...\n"
         "Runs neural networks within a memory budget.\n"
         "mafat COMMAND --help lists the options of a command.\n");
  for (int i = 0; i < N_COMMANDS; i++) {
    const struct command *c = &commands[i];
    printf("\n  %-10s%s%s\n  %10s$ %s\n", c->word, c->what,
           is_there(bin, c) ? "" : " (not installed)", "", c->try);
  }
  return mafat_streams_say("mafat", "\n-h, --help; -V, --version. Exit status: the command's; 2: "
                                    "unknown command.\n"
                                    "Start with: mafat doctor\n") == 0
             ? DONE
             : FAILED;
}

/* ---- unknown commands ---- */

/* Returns the command whose word or program is spelled most like `word`; NULL: none is similar. */
static const struct command *nearest(const char *word)
{
  const struct command *best = NULL;
  struct mafat_nearest near = {word, strlen(word), NULL, 0};
  for (int i = 0; i < N_COMMANDS; i++) {
    if (mafat_nearest_try(&near, commands[i].word)) best = &commands[i];
    if (commands[i].program && mafat_nearest_try(&near, commands[i].program)) best = &commands[i];
  }
  return best;
}

static int refuse(const char *word)
{
  const struct command *c = nearest(word);
  if (c)
    mafat_streams_complain("mafat", "no command '%.60s': did you mean mafat %s? --help lists all",
                           word, c->word);
  else mafat_streams_complain("mafat", "no command '%.60s'; --help lists all", word);
  return MISUSE;
}

/* ---- executing the command ---- */

static bool is_one_of(const char *word, const char *a, const char *b)
{
  return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

/* Bytes that the segments of a program occupy in memory; 0: not readable. */
static unsigned long long image_bytes(const char *path)
{
  FILE *file = fopen(path, "re");
  ElfW(Ehdr) head = {.e_phnum = 0};
  ElfW(Phdr) segment;
  unsigned long long bytes = 0;
  if (!file) return 0;
  if (fread(&head, sizeof head, 1, file) != 1 || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      fseek(file, (long)head.e_phoff, SEEK_SET) != 0)
    head.e_phnum = 0;
  for (int i = 0; i < head.e_phnum && fread(&segment, sizeof segment, 1, file) == 1; i++)
    if (segment.p_type == PT_LOAD && segment.p_vaddr + segment.p_memsz > bytes)
      bytes = segment.p_vaddr + segment.p_memsz;
  fclose(file);
  return bytes;
}

/* False if the address space is limited to less than the program needs to start: the kernel would
 * end it without a message. */
static bool has_room(const char *path)
{
  enum { MORE = 384 << 10 }; /* stack, thread-local variables, first heap */
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
  unsigned long long needed = image_bytes(path);
  if (needed == 0 || limit.rlim_cur >= needed + MORE) return true;
  mafat_streams_complain(
      "mafat",
      "%s: expected an address space of at least %.1f MiB, found a limit of %.1f (ulimit -v)", path,
      mafat_mebibytes_up((size_t)needed + MORE), mafat_mebibytes_down((size_t)limit.rlim_cur));
  return false;
}

static bool is_help(const char *word)
{
  return is_one_of(word, "-h", "--help") || strcmp(word, "--help=all") == 0;
}

/* Prints the command's usage, if it has one and --help is among the arguments. False: the output
 * failed. */
static bool print_usage(const struct command *c, const char *name, int argc, char **argv)
{
  int asked = 0;
  while (asked < argc && !is_help(argv[asked])) asked++;
  if (!c->usage || asked == argc) return true;
  mafat_streams_put_named(c->usage, name);
  if (strcmp(argv[asked], "--help=all") != 0) putchar('\n');
  return mafat_streams_say("mafat", "") == 0;
}

static int become(const struct command *c, int argc, char **argv, const char *bin)
{
  char path[PROGRAM_ROOM], options[OPTIONS_ROOM], name[NAME_ROOM];
  char **words = calloc((size_t)argc + MOST_OPTIONS + 2, sizeof *words);
  if (!words) {
    fprintf(stderr, "mafat: out of memory\n");
    return FAILED;
  }
  int n = 0;
  program_path(path, bin, c);
  snprintf(name, sizeof name, "mafat %s",
           c->word); /* its messages begin with it (mafat_streams_program) */
  if (!has_room(path) || !print_usage(c, name, argc, argv)) {
    free(words);
    return FAILED;
  }
  words[n++] = name;
  snprintf(options, sizeof options, "%s", c->options ? c->options : "");
  for (char *word = strtok(options, " "); word && n <= MOST_OPTIONS; word = strtok(NULL, " "))
    words[n++] = word;
  memcpy(words + n, argv, (size_t)argc * sizeof *words);
  execv(path, words);
  int error = errno;
  free(words);
  if (error == ENOENT && c->needs)
    mafat_streams_complain("mafat", "%s is not there: `make` builds it where it finds %s", path,
                           c->needs);
  else mafat_streams_complain("mafat", "%s: %s", path, strerror(error));
  return error == ENOENT ? MISUSE : FAILED;
}

int main(int argc, char **argv)
{
  char bin[PATH_MAX];
  mafat_streams_hold();
  if (argc < 2) {
    fprintf(stderr, "mafat: expected a command, such as doctor, predict or run; --help lists all, "
                    "and what to try\n");
    return MISUSE;
  }
  if (find_bin(bin) != 0) {
    fprintf(stderr, "mafat: cannot find the folder of its programs: %s; call it by its path\n",
            strerror(errno));
    return FAILED;
  }
  const char *word = argv[1];
  if (is_help(word) || strcmp(word, "help") == 0) return help(bin);
  if (is_one_of(word, "-V", "--version"))
    return mafat_streams_say("mafat", "mafat " MAFAT_VERSION "\n") == 0 ? DONE : FAILED;
  for (int i = 0; i < N_COMMANDS; i++) {
    if (strcmp(word, commands[i].word) != 0) continue;
    if (!commands[i].program) return doctor(argc - 1, argv + 1, bin);
    return become(&commands[i], argc - 2, argv + 2, bin);
  }
  return refuse(word);
}
