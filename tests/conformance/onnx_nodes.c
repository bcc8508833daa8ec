/* Runs ONNX's own test models, each in a child process, and prints the results:
 *       onnx_nodes [--least PASSED | --write FOLDER] [--constant NAME=FILE]... FOLDER|MODEL...
 * A model is a folder with model.onnx and test_data_set_0. In other folders, all models are run.
 * Prints a line for each refused or failed model, a table by operator, and the number of models
 * that are not tried, by reason. Exit status 1 if a model failed or fewer than PASSED models
 * passed. --constant: the input NAME is a constant, read from the .pb file FILE. --write: runs
 * nothing, but writes each model as FOLDER/NAME.onnx with its constants. Started by
 * tests/conformance/run.sh. */
#include "tests/conformance/run_model.h"
#include "tests/conformance/write_model.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Result of a model; a child process sends it through a pipe. */
struct verdict {
  enum model_outcome outcome;
  char group[40]; /* name of the operator; for an excluded model, the reason */
  char text[512];
};

enum { MAX_GROUPS = 200, SECONDS = 60 };

static const char *written; /* folder of --write, or NULL */
static char **constants;    /* pairs of arguments: --constant, NAME=FILE */
static int n_constants;

static struct group {
  char name[40];
  int n[N_OUTCOMES];
} groups[MAX_GROUPS];
static int n_groups, totals[N_OUTCOMES];

/* ---- one model ---- */

static struct verdict try_model(const char *folder)
{
  static struct node_trial t;
  struct verdict v = {.outcome = FAILED, .group = "(unread)"};
  struct mafat_diagnostic d = {""};
  char capacity[80];
  int code = trial_open(&t, folder, &d);
  if (code == MAFAT_OK) trial_choose(&t);
  for (int i = 0; i < n_constants && code == MAFAT_OK; i++)
    code = trial_bind(&t, constants[2 * i + 1], &d);
  if (code == MAFAT_OK) {
    const char *why = trial_excluded(&t, capacity, sizeof capacity);
    snprintf(v.group, sizeof v.group, "%s", why ? why : trial_operator(&t));
    if (why) v.outcome = EXCLUDED;
    else v.outcome = written ? write_model(&t, written, &d) ? PASSED : FAILED : run_model(&t, &d);
  }
  memcpy(v.text, d.text, sizeof v.text);
  trial_close(&t);
  return v;
}

/* Tries a model in a child process. A crash or timeout counts as failed. */
static struct verdict try_in_child(const char *folder)
{
  struct verdict v = {.outcome = FAILED, .group = "(ended)"};
  int ends[2], status;
  fflush(stdout);
  if (pipe(ends) != 0) exit(2);
  pid_t child = fork();
  if (child < 0) exit(2);
  if (child == 0) {
    alarm(SECONDS);
    v = try_model(folder);
    _exit(write(ends[1], &v, sizeof v) == sizeof v ? 0 : 1);
  }
  close(ends[1]);
  ssize_t got = read(ends[0], &v, sizeof v); /* a verdict is shorter than PIPE_BUF, so the child
                                              * writes it in one piece */
  close(ends[0]);
  waitpid(child, &status, 0);
  if (got != sizeof v || status != 0) {
    v.outcome = FAILED;
    snprintf(v.text, sizeof v.text, "%s %d",
             WIFSIGNALED(status) ? "ended by signal" : "exit status",
             WIFSIGNALED(status) ? WTERMSIG(status) : status);
  }
  return v;
}

static struct group *group_of(const char *name)
{
  for (int i = 0; i < n_groups; i++)
    if (strcmp(groups[i].name, name) == 0) return &groups[i];
  if (n_groups == MAX_GROUPS) exit(2);
  snprintf(groups[n_groups].name, sizeof groups->name, "%s", name);
  return &groups[n_groups++];
}

static void count_model(const char *folder)
{
  struct verdict v = try_in_child(folder);
  const char *slash = strrchr(folder, '/'), *after = strstr(v.text, "model.onnx: ");
  group_of(v.group)->n[v.outcome]++;
  totals[v.outcome]++;
  if (v.outcome == FAILED || v.outcome == REFUSED)
    printf("%s %s: %s\n", v.outcome == FAILED ? "FAIL" : "refused", slash ? slash + 1 : folder,
           after ? after + strlen("model.onnx: ") : v.text);
}

/* ---- all of them ---- */

static int is_visible(const struct dirent *entry)
{
  return entry->d_name[0] != '.';
}

static void walk(const char *folder)
{
  char path[512];
  struct dirent **entries;
  snprintf(path, sizeof path, "%s/model.onnx", folder);
  if (access(path, R_OK) == 0) {
    count_model(folder);
    return;
  }
  int n = scandir(folder, &entries, is_visible, alphasort);
  if (n < 0) fprintf(stderr, "onnx_nodes: %s: cannot be read\n", folder);
  for (int i = 0; i < n; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    count_model(path);
    free(entries[i]);
  }
  if (n >= 0) free(entries);
}

static int by_name(const void *a, const void *b)
{
  return strcmp(((const struct group *)a)->name, ((const struct group *)b)->name);
}

static void print_table(void)
{
  qsort(groups, (size_t)n_groups, sizeof *groups, by_name);
  printf("%-24s %8s %8s %8s\n", "operator", "passed", "refused", "failed");
  for (int i = 0; i < n_groups; i++)
    if (!groups[i].n[EXCLUDED])
      printf("%-24s %8d %8d %8d\n", groups[i].name, groups[i].n[PASSED], groups[i].n[REFUSED],
             groups[i].n[FAILED]);
  printf("%-24s %8d %8d %8d\n", "all", totals[PASSED], totals[REFUSED], totals[FAILED]);
  for (int i = 0; i < n_groups; i++)
    if (groups[i].n[EXCLUDED])
      printf("not tried: %d with %s\n", groups[i].n[EXCLUDED], groups[i].name);
}

int main(int argc, char **argv)
{
  int least = 0, first = 1;
  if (argc > 2 && strcmp(argv[1], "--least") == 0) least = atoi(argv[2]);
  else if (argc > 2 && strcmp(argv[1], "--write") == 0) written = argv[2];
  if (least > 0 || written) first = 3;
  constants = argv + first;
  for (; first + 1 < argc && strcmp(argv[first], "--constant") == 0; first += 2) n_constants++;
  if (first >= argc) {
    fprintf(stderr, "usage: onnx_nodes [--least PASSED | --write FOLDER] [--constant NAME=FILE]... "
                    "FOLDER|MODEL...\n");
    return 2;
  }
  for (int i = first; i < argc; i++) walk(argv[i]);
  print_table();
  if (totals[PASSED] < least)
    printf("FAIL expected at least %d to pass, found %d\n", least, totals[PASSED]);
  return totals[FAILED] || totals[PASSED] < least;
}
