/* Packs models and runs each and its packed file by several plans. Names and dimensions of
 * inputs and outputs, and all output bits, must be equal.
 *     packed_models [--least N] [--cpu LEVEL] MODEL...|--operators
 * --operators: small TFLite models, one for each variant of an operator. --cpu: the highest
 * kernel level. Prints a line for each model that differs, and the number of refused ones. Exit
 * status 1 if one differs or fewer than N are equal. Started by tests/packed/run.sh; packs into
 * memory files. */
#include "formats/packed/graph.h"
#include "api/model_files.h"
#include "runner/weights/packer.h"
#include "tests/support/network_files.h"
#include "tests/support/tflite_operators.h"

#include "include/mafat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum pack_outcome { SAME, REFUSED, DIFFERS, N_OUTCOMES };

static struct mafat_diagnostic diagnostic;
static const char *cpu; /* NULL: the best level */

/* ---- packing ---- */

/* Packs into the file. Returns NULL, or the reason why not. */
static const char *pack(const char *path, int fd, enum pack_outcome *outcome)
{
  struct mafat_network *n = NULL;
  struct mafat_embedded_graph *embedded_graph;
  *outcome = REFUSED;
  if (test_packed_graph_read(&n, &embedded_graph, NULL, path, NULL, &diagnostic) != MAFAT_OK)
    return diagnostic.text;
  struct mafat_packed_origin origin = {.embedded_graph = embedded_graph};
  int code = mafat_packer_write(path, n, &origin, fd, "packed", &diagnostic);
  mafat_network_close(&n);
  mafat_embedded_graph_close(&embedded_graph);
  *outcome = DIFFERS;
  return code == MAFAT_OK ? NULL : diagnostic.text;
}

/* ---- running ---- */

struct bits {
  float *floats;
  size_t n;
};

static bool put(struct bits *b, size_t n)
{
  float *grown = realloc(b->floats, (b->n + n + 1) * sizeof *grown);
  if (!grown) return false;
  b->floats = grown;
  memset(grown + b->n, 0, n * sizeof *grown);
  b->n += n;
  return true;
}

static struct mafat_model_facts facts_of(const struct mafat_model *m)
{
  struct mafat_model_facts facts = {.size = sizeof facts};
  mafat_model_describe(m, &facts);
  return facts;
}

/* Writes names, types and dimensions of inputs and outputs as text. */
static void describe(const struct mafat_model *m, char *text, size_t capacity)
{
  size_t n = 0;
  const struct mafat_model_facts facts = facts_of(m);
  for (int i = 0; i < facts.n_inputs + facts.n_outputs; i++) {
    struct mafat_port_facts f = {.size = sizeof f};
    int code = i < facts.n_inputs ? mafat_model_describe_input(m, i, &f)
                                  : mafat_model_describe_output(m, i - facts.n_inputs, &f);
    if (code || n >= capacity) return;
    n += (size_t)snprintf(text + n, capacity - n, "%s %s", f.name, f.type);
    for (int k = 0; k < f.rank && n < capacity; k++)
      n += (size_t)snprintf(text + n, capacity - n, " %lld", (long long)f.dims[k]);
    if (n < capacity) n += (size_t)snprintf(text + n, capacity - n, ";");
  }
}

/* A value between 0 and 2, also usable as an index. For integer inputs any representable value. */
static float any_value(const struct mafat_port_facts *f, uint32_t *state)
{
  int least = strcmp(f->type, "int8") == 0 ? -128 : 0;
  *state = *state * 1664525u + 1013904223u;
  if (f->scale > 0) return (float)(f->scale * (least + (int)(*state >> 24) - f->zero));
  return (float)(*state >> 8) * 0x1p-23f;
}

/* Sets all inputs. The floats must stay in place until the run is over. */
static bool set_inputs(struct mafat_model *m, struct bits *floats)
{
  uint32_t state = 1;
  const int n_inputs = facts_of(m).n_inputs;
  struct mafat_port_facts f = {.size = sizeof f};
  for (int i = 0; i < n_inputs; i++) {
    size_t at = floats->n;
    if (mafat_model_describe_input(m, i, &f) || !put(floats, f.n)) return false;
    for (; at < floats->n; at++) floats->floats[at] = any_value(&f, &state);
  }
  size_t at = 0;
  for (int i = 0; i < n_inputs; i++, at += f.n)
    if (mafat_model_describe_input(m, i, &f) ||
        mafat_model_set_input(m, f.name, floats->floats + at, f.n, &diagnostic))
      return false;
  return true;
}

static bool read_outputs(struct mafat_model *m, struct bits *out)
{
  const int n_outputs = facts_of(m).n_outputs;
  struct mafat_port_facts f = {.size = sizeof f};
  for (int i = 0; i < n_outputs; i++) {
    size_t at = out->n;
    if (mafat_model_describe_output(m, i, &f) || !put(out, f.n) ||
        mafat_model_read_output(m, f.name, out->floats + at, f.n, &diagnostic))
      return false;
  }
  return true;
}

/* Opens and runs a model. False: failed, with a diagnostic. */
static bool run(const char *path, const char *plan, char *ports, size_t capacity, struct bits *out)
{
  struct mafat_model_options o = {.size = sizeof o};
  struct mafat_model *m;
  struct bits in = {NULL, 0};
  o.plan = plan;
  o.cpu = cpu;
  o.floats_only = o.best_effort = true;
  if (mafat_model_open(&m, path, NULL, &o, &diagnostic) != MAFAT_OK) return false;
  describe(m, ports, capacity);
  bool done = set_inputs(m, &in) && mafat_model_run_inputs(m, &diagnostic) == MAFAT_OK &&
              read_outputs(m, out);
  mafat_model_close(&m);
  free(in.floats);
  return done;
}

/* Compares the model by `first`, which keeps all weights, with the packed file by each of
 * `plans`, which place weights differently. */
static const char *compare(const char *path, const char *packed, const char *first,
                           const char *const *plans, enum pack_outcome *outcome)
{
  static char ports[2][4096], text[700];
  struct bits wanted = {NULL, 0};
  const char *wrong = NULL;
  *outcome = DIFFERS;
  if (!run(path, first, ports[0], sizeof ports[0], &wanted)) {
    *outcome = REFUSED;
    wrong = diagnostic.text;
  }
  for (int i = 0; plans[i] && !wrong; i++) {
    struct bits found = {NULL, 0};
    if (run(packed, plans[i], ports[1], sizeof ports[1], &found)) {
      if (strcmp(ports[0], ports[1]) != 0) wrong = "has other inputs or outputs";
      else if (found.n != wanted.n ||
               memcmp(found.floats, wanted.floats, found.n * sizeof(float)) != 0)
        wrong = "has other bits";
    /* more tiles than the map has pixels */
    } else if (i == 0 || !strstr(diagnostic.text, "tiles")) {
      wrong = diagnostic.text;
    }
    if (wrong) snprintf(text, sizeof text, "plan %s: %s", plans[i], wrong);
    if (wrong) wrong = text;
    free(found.floats);
  }
  free(wanted.floats);
  return wrong;
}

static const char *try_model(const char *path, enum pack_outcome *outcome)
{
  static const char *const direct[] = {
      "1x1:direct/NoCut", "1x1:direct:streamed/NoCut", "rows2:direct:loaded/NoCut",
      "panels:direct:streamed4/NoCut", "rows1:direct:streamed/NoCut", "2x2:direct:loaded/NoCut",
      NULL};
  static const char *const winograd[] = {"1x1:winograd:streamed/NoCut",
                                         "panels:winograd:streamed4/NoCut", NULL};
  char packed[64];
  int fd = memfd_create("packed", MFD_CLOEXEC);
  if (fd < 0) return "cannot make a memory file";
  snprintf(packed, sizeof packed, "/proc/self/fd/%d", fd);
  const char *wrong = pack(path, fd, outcome);
  if (!wrong && mafat_packer_check(packed, NULL, &diagnostic) != MAFAT_OK) wrong = diagnostic.text;
  if (!wrong) wrong = compare(path, packed, "1x1:direct/NoCut", direct, outcome);
  if (!wrong) wrong = compare(path, packed, "1x1:winograd/NoCut", winograd, outcome);
  if (!wrong) *outcome = SAME;
  close(fd);
  return wrong;
}

static int n[N_OUTCOMES];

static void count(const char *path, const char *name)
{
  enum pack_outcome outcome = DIFFERS;
  const char *wrong = try_model(path, &outcome);
  n[outcome]++;
  if (wrong && outcome == DIFFERS) printf("FAIL %s: %s\n", name, wrong);
}

static void count_operators(void)
{
  char path[64];
  for (int i = 0; i < test_tflite_n_operators(); i++) {
    int fd = test_tflite_file(test_tflite_operator_model(i));
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    count(path, test_tflite_operator_name(i));
    close(fd);
  }
}

int main(int argc, char **argv)
{
  int least = 0, first = 1;
  for (; first + 1 < argc; first += 2) {
    if (strcmp(argv[first], "--least") == 0) least = atoi(argv[first + 1]);
    else if (strcmp(argv[first], "--cpu") == 0) cpu = argv[first + 1];
    else break;
  }
  if (first >= argc) {
    fprintf(stderr, "usage: packed_models [--least N] [--cpu LEVEL] MODEL...|--operators\n");
    return 2;
  }
  for (int i = first; i < argc; i++) {
    if (strcmp(argv[i], "--operators") == 0) count_operators();
    else count(argv[i], argv[i]);
  }
  printf("%d the same, %d refused, %d differ\n", n[SAME], n[REFUSED], n[DIFFERS]);
  if (n[SAME] < least)
    printf("FAIL expected at least %d to be the same, found %d\n", least, n[SAME]);
  return n[DIFFERS] > 0 || n[SAME] < least;
}
