/* Prints golden hashes of a network: a line for each of its 21 plans, with a hash for each
 * aspect (canonical.h); a line for the plans that searches find; and a line for the bits of the
 * outputs. tests/golden/run.sh compares the lines with golden.txt. Reads the cfg; makes files in
 * memory (memfd_create). */
#include "formats/darknet/darknet.h"
#include "predictor/planning/planning.h"
#include "tests/golden/canonical.h"
#include "tests/golden/outputs.h"
#include "tests/golden/plans.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: golden MODEL.cfg\n"
    "       golden --show MODEL.cfg PLAN [ASPECT]\n"
    "Print the golden hashes of a network, or with --show the hashed text of plan 1 to 21: one\n"
    "aspect (plan, steps, arena, reads, cost) or all; PLAN \"search\": what searches find.\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 misuse.\n";

struct session {
  const char *cfg;
  char name[64]; /* the cfg file's name without folder and ending */
  struct mafat_network *network;
  struct golden_searches searches;
  struct mafat_diagnostic d;
};

/* ---- lines ---- */

static int print_cfg(struct session *s)
{
  char chunk[4096];
  uint64_t hash = GOLDEN_HASH_START;
  FILE *file = fopen(s->cfg, "rb");
  if (!file) return mafat_fail(&s->d, MAFAT_EIO, "%s: cannot be read", s->cfg);
  for (size_t n; (n = fread(chunk, 1, sizeof chunk, file)) > 0;) hash = golden_hash(hash, chunk, n);
  fclose(file);
  printf("%s cfg file=%016" PRIx64 "\n", s->name, hash);
  return MAFAT_OK;
}

/* Writes the text of one aspect (GOLDEN_N_ASPECTS: of all) to `show`. If `show` is NULL, prints the
 * hashes of the texts instead. */
static int write_case(const struct golden_case *c, enum golden_aspect only, FILE *show)
{
  int code = MAFAT_OK;
  for (int aspect = 0; aspect < GOLDEN_N_ASPECTS && code == MAFAT_OK; aspect++) {
    struct golden_text text = {GOLDEN_HASH_START, show};
    if (only != GOLDEN_N_ASPECTS && (int)only != aspect) continue;
    code = golden_write(&text, (enum golden_aspect)aspect, c);
    if (!show) printf(" %s=%016" PRIx64, golden_aspect_name((enum golden_aspect)aspect), text.hash);
  }
  return code;
}

/* Makes the plan and writes it. *refused: true if the plan is not valid for this network. */
static int write_plan(struct session *s, const struct golden_request *r, enum golden_aspect only,
                      FILE *show, bool *refused)
{
  struct golden_case c = {.network = s->network, .calibration = &s->searches.calibration};
  struct mafat_plan *plan = NULL;
  struct mafat_layout *layout = NULL;
  int code = mafat_plan_read(&plan, r->text, s->network, s->network->n_layers, &r->options, &s->d);
  if (code == MAFAT_OK) code = mafat_layout_make(&layout, s->network, plan, &s->d);
  *refused = code == MAFAT_EINVAL || code == MAFAT_ELIMIT;
  c.plan = plan;
  c.layout = layout;
  if (code == MAFAT_OK) {
    code = write_case(&c, only, show);
    if (code) code = mafat_fail(&s->d, code, "%s: %s: cannot be walked", s->cfg, r->text);
  }
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  return *refused ? MAFAT_OK : code;
}

static int print_plan(struct session *s, int number)
{
  static struct golden_request r;
  char words[128];
  bool refused;
  int code = golden_request_make(&r, number, &s->searches, &s->d);
  if (code) return code;
  printf("%s %02d", s->name, number + 1);
  code = write_plan(s, &r, GOLDEN_N_ASPECTS, NULL, &refused);
  golden_request_describe(&r, words, sizeof words);
  printf("%s | %s: %s\n", refused ? " refused=yes" : "", words, r.text);
  return code;
}

static void write_front(const struct mafat_front *front, struct golden_text *text)
{
  static char words[GOLDEN_PLAN_ROOM];
  for (int i = 0; i < front->n; i++) {
    const struct mafat_candidate *c = &front->list[i];
    mafat_spec_write(c->spec, words, sizeof words);
    golden_say(text, "%zu bytes, resident %zu, %.9g ms, threads %d: ", c->charge_bytes,
               c->resident_bytes, c->ms, c->threads);
    golden_say(text, "%s\n", words);
  }
}

static void print_searches(const struct session *s)
{
  printf("%s search", s->name);
  for (int packed = 0; packed < 2; packed++) {
    struct golden_text text = {GOLDEN_HASH_START, NULL};
    write_front(s->searches.fronts[packed], &text);
    printf(" %s=%016" PRIx64, packed ? "packed" : "darknet", text.hash);
  }
  printf("\n");
}

static int print_bits(struct session *s)
{
  static const char *const names[GOLDEN_N_CLASSES] = {"plain", "fused"};
  struct golden_outputs o;
  bool ran;
  int code = golden_outputs_run(&o, &ran, s->cfg, &s->d);
  if (code || !ran) return code;
  printf("%s bits", s->name);
  for (int class = 0; class < GOLDEN_N_CLASSES; class++)
    if (o.there[class]) printf(" %s=%016" PRIx64, names[class], o.hashes[class]);
  if (o.differs >= 0) printf(" other-bits-of-plan=%02d", o.differs + 1);
  printf(" | %d runs\n", o.runs);
  return code;
}

static int print_all(struct session *s)
{
  int code = print_cfg(s);
  for (int i = 0; i < GOLDEN_N_PLANS && code == MAFAT_OK; i++) code = print_plan(s, i);
  if (code) return code;
  print_searches(s);
  return print_bits(s);
}

/* ---- texts ---- */

static int show(struct session *s, const char *plan, enum golden_aspect only)
{
  static struct golden_request r;
  struct golden_text text = {GOLDEN_HASH_START, stdout};
  bool refused = false;
  if (strcmp(plan, "search") == 0) {
    for (int packed = 0; packed < 2; packed++) write_front(s->searches.fronts[packed], &text);
    return MAFAT_OK;
  }
  int code = golden_request_make(&r, atoi(plan) - 1, &s->searches, &s->d);
  if (code == MAFAT_OK) code = write_plan(s, &r, only, stdout, &refused);
  if (refused) printf("%s\n", s->d.text);
  return code;
}

/* ---- the command line ---- */

static int misused(void)
{
  fputs(usage, stderr);
  return 2;
}

static enum golden_aspect find_aspect(const char *name)
{
  int aspect = 0;
  while (aspect < GOLDEN_N_ASPECTS &&
         strcmp(name, golden_aspect_name((enum golden_aspect)aspect)) != 0)
    aspect++;
  return (enum golden_aspect)aspect;
}

static bool is_plan(const char *word)
{
  return strcmp(word, "search") == 0 || (atoi(word) >= 1 && atoi(word) <= GOLDEN_N_PLANS);
}

static void name_session(struct session *s, const char *cfg)
{
  const char *slash = strrchr(cfg, '/');
  s->cfg = cfg;
  snprintf(s->name, sizeof s->name, "%s", slash ? slash + 1 : cfg);
  char *dot = strrchr(s->name, '.');
  if (dot) *dot = '\0';
}

/* If a cfg is not supported, prints that it is refused, as for plans. */
static int work(struct session *s, const char *plan, enum golden_aspect only)
{
  int code = mafat_darknet_read(&s->network, s->cfg, NULL, NULL, &s->d);
  if (code == MAFAT_EUNSUPPORTED && !plan) {
    printf("%s cfg refused=yes\n", s->name);
    return MAFAT_OK;
  }
  if (code == MAFAT_OK) code = golden_search(&s->searches, s->network, &s->d);
  if (code == MAFAT_OK) code = plan ? show(s, plan, only) : print_all(s);
  golden_searches_close(&s->searches);
  mafat_network_close(&s->network);
  return code;
}

int main(int argc, char **argv)
{
  static struct session s;
  bool shows = argc > 1 && strcmp(argv[1], "--show") == 0;
  enum golden_aspect only = GOLDEN_N_ASPECTS;
  if (shows ? argc < 4 || argc > 5 || !is_plan(argv[3]) : argc != 2 || argv[1][0] == '-')
    return misused();
  if (shows && argc == 5 && (only = find_aspect(argv[4])) == GOLDEN_N_ASPECTS) return misused();
  name_session(&s, argv[shows ? 2 : 1]);
  int code = work(&s, shows ? argv[3] : NULL, only);
  if (code) fprintf(stderr, "golden: %s\n", s.d.text);
  return code ? 1 : 0;
}
