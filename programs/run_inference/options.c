/* Parses the command line by the rows of options.def, and rejects contradictory options. Called by
 * session.c and by run_inference.c, programs/mafat_serve and programs/mafat_ranks. Opens the
 * model's file, and reads environment variables. */
#include "programs/run_inference/options.h"

#include "include/mafat_ranks.h"
#include "include/mafat_video.h"
#include "programs/run_inference/arguments.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPTIONS_STRUCT struct mafat_options
#include "programs/shared/option_rows.h"

#define ENVIRONMENT(id, variable) const char mafat_variable_##id[] = variable;
#include "programs/shared/options.def"

void mafat_options_defaults(struct mafat_options *o, enum mafat_program program)
{
  *o = (struct mafat_options){
      .program = program,
#define OPTION(id, name, letter, type, usual, ...) .id = usual,
#include "programs/shared/options.def"
  };
}

/* Converts a member to the type of the library, by the type of the option. */
#define SET_FLAG(v) v
#define SET_TEXT(v) v
#define SET_NAME(v) v
#define SET_WORD(v) v
#define SET_OPTIONAL_WORD(v) v
#define SET_SIZE(v) v
#define SET_COUNT(v) v
#define SET_COUNT_OR_AUTO(v) v
#define SET_NUMBER(v) v
#define SET_FRACTION(v) v
#define SET_FLOAT(v) ((v).n ? (v).x : NULL)
#define SET_FLOATS(v) ((v).n ? (v).x : NULL)
#define SET_LIST(v) (v).list
#define SET_PAIRS(v) (v).list
#define SET_SIZES(v) (v).list[0]
#define SET_OPTIONAL_SIZES(v) (v).n
#define SET_SPEEDS(v) (v).list
#define SET_LINK(v) (v).bits
#define GIVES_SETS(field) m->field =
#define GIVES_SETS_AT(field) m->field = &
#define GIVES_NOTHING (void)

void mafat_options_set(const struct mafat_options *o, struct mafat_model_options *m)
{
#define OPTION(id, name, letter, type, usual, argument, values, expects, sets, ...) \
  GIVES_##sets SET_##type(o->id);
#include "programs/shared/options.def"
  m->n_constants = o->constants.n;
}

/* ---- searches ---- */

static const char *option_name(int row)
{
  return mafat_option_name(&options_table, row);
}

static int refuse(int row, const char *found, struct mafat_diagnostic *d)
{
  char text[MAFAT_OPTION_TEXT_ROOM];
  return mafat_fail(d, MAFAT_EINVAL, "--%s expects %s, found %.100s", option_name(row),
                    mafat_option_expects(&options_table, row, text), found);
}

static bool begins_with(const char *text, const char *name)
{
  size_t n = strlen(name);
  return strncmp(text, name, n) == 0 && (!text[n] || text[n] == ':');
}

/* Finds the search of "NAME" or "NAME:WORDS"; NULL: the default one. False: unknown. */
static bool find_search(const char *text, struct mafat_search_facts *f)
{
  for (int i = 0; mafat_search_describe(i, f) == MAFAT_OK; i++)
    if (!text || begins_with(text, f->name)) return true;
  return false;
}

/* Finds the search that has this word. */
static bool find_owner(const char *word, struct mafat_search_facts *f)
{
  for (int i = 0; mafat_search_describe(i, f) == MAFAT_OK; i++)
    for (int k = 0; k < f->n_words; k++)
      if (strcmp(f->words[k].name, word) == 0) return true;
  return false;
}

/* Reports the names of all searches: "best, least or greedy; on several devices ...". */
static int refuse_search(const char *found, struct mafat_diagnostic *d)
{
  char text[MAFAT_OPTION_TEXT_ROOM] = "";
  struct mafat_search_facts f = {.size = sizeof f}, next = {.size = sizeof next};
  size_t n = 0;
  const char *name;
  for (int i = 0; mafat_search_describe(i, &f) == MAFAT_OK && n < sizeof text; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "%s%s",
                          i == 0                                            ? ""
                          : mafat_search_describe(i + 1, &next) == MAFAT_OK ? ", "
                                                                            : " or ",
                          f.name);
  for (int i = 0; (name = mafat_ranks_search(i)) && n < sizeof text; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "%s%s",
                          i == 0                      ? "; on several devices "
                          : mafat_ranks_search(i + 1) ? ", "
                                                      : " or ",
                          name);
  return mafat_fail(d, MAFAT_EINVAL, "--search expects %s, found %.100s", text, found);
}

const char *mafat_options_search_word(const struct mafat_options *o, const char *word,
                                      char text[MAFAT_SEARCH_ROOM])
{
  const char *at = o->search ? strchr(o->search, ':') : NULL;
  size_t length = strlen(word);
  while (at) {
    size_t n = strcspn(++at, ",");
    if (strncmp(at, word, length) == 0 && (n == length || at[length] == '=')) {
      snprintf(text, MAFAT_SEARCH_ROOM, "%.*s", n > length ? (int)(n - length - 1) : 0,
               at + (n > length ? length + 1 : n));
      return text;
    }
    at = at[n] ? at + n : NULL;
  }
  return NULL;
}

static int add_word(struct mafat_options *o, const char *search, const char *word,
                    const char *value, struct mafat_diagnostic *d)
{
  if (!o->search) snprintf(o->search_text, sizeof o->search_text, "%s", search);
  o->search = o->search_text;
  size_t n = strlen(o->search_text);
  int more =
      snprintf(o->search_text + n, sizeof o->search_text - n, "%s%s%s%s",
               strchr(o->search_text, ':') ? "," : ":", word, value ? "=" : "", value ? value : "");
  return (size_t)more < sizeof o->search_text - n
             ? MAFAT_OK
             : mafat_fail(d, MAFAT_EINVAL, "--search: its words are too long");
}

/* Checks a former option and its value as a word of the search. The message names the option. */
static int check_renamed(const char *search, const char *word, const char *value,
                         struct mafat_diagnostic *d)
{
  char text[MAFAT_SEARCH_ROOM];
  struct mafat_diagnostic why;
  snprintf(text, sizeof text, "%s:%s%s%s", search, word, value ? "=" : "", value ? value : "");
  if (mafat_search_check(text, &why) == MAFAT_OK) return MAFAT_OK;
  const char *said = strstr(why.text, word);
  return mafat_fail(d, MAFAT_EINVAL, "--%s", said ? said : why.text);
}

/* Turns older options, which are now words of a search, into these words. */
static int take_renamed(struct mafat_options *o, struct mafat_diagnostic *d)
{
  int code = MAFAT_OK;
  for (int i = 0; i < o->n_renamed && code == MAFAT_OK; i++) {
    const char *word = option_name(o->renamed[i].row), *value = o->renamed[i].value;
    struct mafat_search_facts owner = {.size = sizeof owner}, f = {.size = sizeof f};
    if (!find_owner(word, &owner))
      return mafat_fail(d, MAFAT_EINVAL, "unknown option --%s; see --help", word);
    if ((code = check_renamed(owner.name, word, value, d))) return code;
    find_search(o->search, &f);
    if (o->paper && owner.by_paper) find_search(owner.name, &f); /* the predictor's search */
    if (strcmp(f.name, owner.name) != 0)
      return owner.by_paper
                 ? mafat_fail(d, MAFAT_EINVAL, "--%s expects --predictor paper or --search %s",
                              word, owner.name)
                 : mafat_fail(d, MAFAT_EINVAL,
                              "--%s makes no sense with --search %s: it expects --search %s", word,
                              f.name, owner.name);
    code = add_word(o, owner.name, word, value, d);
  }
  return code;
}

/* Reads --search: a search for one device, one that divides layers among several, or both if they
 * have the same name. */
static int take_search(struct mafat_options *o, struct mafat_diagnostic *d)
{
  struct mafat_search_facts f = {.size = sizeof f};
  const char *text = o->search;
  bool known = find_search(text, &f);
  for (int i = 0; text && (o->share = mafat_ranks_search(i)) && strcmp(o->share, text) != 0;) i++;
  if (text && !known && !o->share) return refuse_search(text, d);
  o->search = NULL;
  if (text && known) {
    o->search = o->search_text;
    if (snprintf(o->search_text, sizeof o->search_text, "%s", text) >= (int)sizeof o->search_text)
      return mafat_fail(d, MAFAT_EINVAL, "--search: its words are too long");
  }
  return o->search ? mafat_search_check(o->search, d) : MAFAT_OK;
}

/* Reads --predictor: "exact", "paper", or "paper:bias=31M", with words of the search that uses the
 * paper's predictor. */
static int take_predictor(struct mafat_options *o, struct mafat_diagnostic *d)
{
  if (!o->predictor || strcmp(o->predictor, "exact") == 0) return MAFAT_OK;
  if (!begins_with(o->predictor, "paper")) return refuse(OPTION_predictor, o->predictor, d);
  o->paper = true;
  const char *words = strchr(o->predictor, ':');
  if (!words) return MAFAT_OK;
  struct mafat_search_facts f = {.size = sizeof f};
  for (int i = 0; mafat_search_describe(i, &f) == MAFAT_OK && !f.by_paper; i++) continue;
  if (o->search)
    return mafat_fail(d, MAFAT_EINVAL, "--predictor paper expects its words in --search %s",
                      o->search);
  if (snprintf(o->search_text, sizeof o->search_text, "%s%s", f.name, words) >=
      (int)sizeof o->search_text)
    return mafat_fail(d, MAFAT_EINVAL, "--predictor: its words are too long");
  o->search = o->search_text;
  return mafat_search_check(o->search, d);
}

/* Passes the size of --fast-memory on to a search that has the word `fast`, unless --search gives
 * it. */
static int take_fast_memory(struct mafat_options *o, struct mafat_diagnostic *d)
{
  char text[MAFAT_SEARCH_ROOM];
  struct mafat_search_facts f = {.size = sizeof f};
  if (!o->fast_memory || o->plan || !find_owner("fast", &f) || !o->search ||
      !begins_with(o->search, f.name))
    return MAFAT_OK;
  if (mafat_options_search_word(o, "fast", text)) return MAFAT_OK;
  snprintf(text, sizeof text, "%zu", o->fast_memory);
  return add_word(o, f.name, "fast", text, d);
}

static void note_renamed(struct mafat_options *o)
{
  size_t n = 0;
  if (!o->n_renamed) return;
  for (int i = 0; i < o->n_renamed && n < sizeof o->note; i++)
    n += (size_t)snprintf(o->note + n, sizeof o->note - n, "%s--%s",
                          i ? ", " : "note: ", option_name(o->renamed[i].row));
  if (n < sizeof o->note && o->plan && o->paper)
    snprintf(o->note + n, sizeof o->note - n, ": now --predictor paper%s", strchr(o->search, ':'));
  else if (n < sizeof o->note)
    snprintf(o->note + n, sizeof o->note - n, ": now --search %s", o->search);
}

/* ---- combinations of options ---- */

static const struct {
  uint8_t one, other;
  char why[48];
} exclusions[] = {
#define EXCLUDES(one, other, why) {OPTION_##one, OPTION_##other, why},
#include "programs/shared/options.def"
};

static const uint8_t of_pictures[] = {
#define OF_PICTURES(id) OPTION_##id,
#include "programs/shared/options.def"
};

static const uint8_t of_machine[] = {
#define OF_MACHINE(id) OPTION_##id,
#include "programs/shared/options.def"
};

static int check_ranks(const struct mafat_options *o, struct mafat_diagnostic *d)
{
  bool linked = o->link.bits > 0;
  if ((o->ranks || linked) && !o->predict)
    return mafat_fail(d, MAFAT_EINVAL,
                      "--%s expects --predict: build/mafat_ranks runs on several devices",
                      o->ranks ? "ranks" : "link");
  if ((linked || o->speed.n) && !o->ranks)
    return mafat_fail(d, MAFAT_EINVAL, "--%s expects --ranks", o->speed.n ? "speed" : "link");
  if (o->speed.n && o->speed.n != o->ranks)
    return mafat_fail(d, MAFAT_EINVAL, "--speed expects one number for each of %d ranks, found %d",
                      o->ranks, o->speed.n);
  if (o->memory.n > 1 && !o->ranks)
    return mafat_fail(d, MAFAT_EINVAL,
                      "--memory with %d sizes expects --ranks: one size for each device",
                      o->memory.n);
  if (o->memory.n > 1 && o->memory.n != o->ranks)
    return mafat_fail(d, MAFAT_EINVAL,
                      "--memory expects one size, or one for each of %d ranks, found %d", o->ranks,
                      o->memory.n);
  if (o->ranks && o->plan_seconds >= 0 && (!o->share || strcmp(o->share, "best") != 0 || o->plan))
    return mafat_fail(d, MAFAT_EINVAL,
                      "--plan-time with --ranks expects --search best: the others try a few plans, "
                      "whatever the time");
  if (o->ranks && (o->sweep.given || o->pareto || o->map))
    return mafat_fail(d, MAFAT_EINVAL, "--%s makes no sense with --ranks: it is about one device",
                      o->map ? "map" : o->sweep.given ? "sweep" : "pareto");
  return MAFAT_OK;
}

static int check_search(const struct mafat_options *o, struct mafat_diagnostic *d)
{
  struct mafat_search_facts f = {.size = sizeof f};
  find_search(o->plan ? NULL : o->search, &f);
  if (!f.timed && o->plan_seconds >= 0)
    return mafat_fail(d, MAFAT_EINVAL,
                      "--plan-time makes no sense with --search %s: it tries a few plans, whatever "
                      "the time",
                      f.name);
  if (o->pareto && (f.by_paper || f.one_plan))
    return mafat_fail(d, MAFAT_EINVAL,
                      "--pareto makes no sense with --search %s, which finds one plan", f.name);
  if (o->sweep.given && f.one_plan)
    return mafat_fail(d, MAFAT_EINVAL,
                      "--sweep makes no sense with --search %s: it is one plan for all budgets",
                      f.name);
  if (o->paper && !f.by_paper && !(o->predict && o->plan))
    return mafat_fail(d, MAFAT_EINVAL,
                      "--predictor paper knows tiles only: it expects --search greedy, or "
                      "--predict and --plan");
  return MAFAT_OK;
}

static int check_together(const struct mafat_options *o, const bool *given,
                          struct mafat_diagnostic *d)
{
  for (size_t i = 0; i < sizeof exclusions / sizeof *exclusions; i++)
    if (given[exclusions[i].one] && given[exclusions[i].other])
      return mafat_fail(d, MAFAT_EINVAL, "--%s makes no sense with --%s: %s",
                        option_name(exclusions[i].one), option_name(exclusions[i].other),
                        exclusions[i].why);
  if (o->camera && o->video && strcmp(o->video, "y4m") == 0)
    return mafat_fail(d, MAFAT_EINVAL,
                      "--camera expects frames like 640x480:yuyv, found --video y4m");
  if ((o->live || o->overlay) && !mafat_options_video(o))
    return mafat_fail(d, MAFAT_EINVAL, "--%s expects --video or --camera",
                      o->live ? "live" : "overlay");
  if (o->fast_memory && !o->predict && !o->report && !o->json && !o->objective)
    return mafat_fail(d, MAFAT_EINVAL,
                      "--fast-memory expects --predict, --report, --json or --objective");
  if (o->objective && o->plan && !(o->predict && o->fast_memory))
    return mafat_fail(d, MAFAT_EINVAL,
                      "--objective expects --predict and --fast-memory where the plan is given");
  if (o->map && !o->predict) return mafat_fail(d, MAFAT_EINVAL, "--map expects --predict");
  if ((o->sweep.given || o->pareto) && !o->predict)
    return mafat_fail(d, MAFAT_EINVAL, "--%s expects --predict",
                      o->sweep.given ? "sweep" : "pareto");
  return check_ranks(o, d);
}

/* Rejects options of pictures if all inputs are floats. */
static int check_floats(const bool *given, struct mafat_diagnostic *d)
{
  for (size_t i = 0; i < sizeof of_pictures; i++)
    if (given[of_pictures[i]])
      return mafat_fail(d, MAFAT_EINVAL,
                        "--%s makes no sense with --input alone: floats are taken as they are",
                        option_name(of_pictures[i]));
  return MAFAT_OK;
}

/* Rejects a model, and options other than those of the machine, with --calibrate. */
static int check_calibrate(const bool *given, int n, char **rest, struct mafat_diagnostic *d)
{
  for (int row = 0; row < N_OPTIONS; row++)
    if (given[row] && !memchr(of_machine, row, sizeof of_machine))
      return mafat_fail(d, MAFAT_EINVAL, "--%s makes no sense with --calibrate: there is no model",
                        option_name(row));
  return n ? mafat_fail(d, MAFAT_EINVAL, "--calibrate expects no model, found %.100s", rest[0])
           : MAFAT_OK;
}

/* Resolves --search, --predictor, --objective and options that are now words of a search. */
static int settle(struct mafat_options *o, const bool *given, struct mafat_diagnostic *d)
{
  int code;
  struct mafat_frame_facts frame = {.size = sizeof frame};
  if (o->video && strcmp(o->video, "y4m") != 0 &&
      mafat_frame_describe(o->video, &frame, NULL) != MAFAT_OK)
    return refuse(OPTION_video, o->video, d);
  if ((code = take_search(o, d)) || (code = take_predictor(o, d))) return code;
  if ((code = check_together(o, given, d))) return code;
  if (o->objective && !o->plan) {
    o->renamed[o->n_renamed].row = OPTION_objective;
    o->renamed[o->n_renamed++].value = o->objective;
    if (!o->search) o->search = strcpy(o->search_text, "separable");
  }
  if ((code = take_renamed(o, d)) || (code = check_search(o, d))) return code;
  note_renamed(o);
  if (!o->plan) o->objective = mafat_options_search_word(o, "objective", o->objective_text);
  return take_fast_memory(o, d);
}

/* ---- the command line ---- */

/* Opens the model once, if one is given: its first bytes decide the meaning of the arguments after
 * it. A pipe that is open already is not opened again. If the file cannot be opened, its reader
 * reports that later. */
static int take_model(struct mafat_options *o, int n, char **rest, struct mafat_diagnostic *d)
{
  struct stat st;
  o->cfg = n > 0 ? rest[0] : NULL;
  o->model = (struct mafat_file){.size = sizeof o->model, .path = o->cfg};
  if (!o->cfg || stat(o->cfg, &st) != 0 || !(S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode)))
    return MAFAT_OK;
  if (S_ISFIFO(st.st_mode) &&
      (strcmp(o->cfg, "/dev/stdin") == 0 || strncmp(o->cfg, "/dev/fd/", 8) == 0))
    return MAFAT_OK;
  o->model.fd = open(o->cfg, O_RDONLY | O_CLOEXEC); /* a named pipe: waits for its writer */
  o->model.has_fd = o->model.fd >= 0;
  if (o->model.has_fd || S_ISREG(st.st_mode)) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EIO, "%s: cannot open: %s", o->cfg, strerror(errno));
}

/* Reads the arguments after the options of --predict, which runs nothing. */
static int read_question(struct mafat_options *o, int n, char **rest, struct mafat_diagnostic *d)
{
  char word[MAFAT_SEARCH_ROOM];
  bool alone = n > 0 && mafat_file_holds_weights(&o->model); /* it is cfg and weights */
  if (alone && n > 2)
    return mafat_fail(
        d, MAFAT_EINVAL,
        "expected MODEL.packed [IMAGE] with --predict, found %d arguments; see --help", n);
  if (n < 1 || n > 3)
    return mafat_fail(d, MAFAT_EINVAL,
                      "expected MODEL.cfg [MODEL.weights [IMAGE]] with --predict, found %d "
                      "argument%s; see --help",
                      n, n == 1 ? "" : "s");
  if (mafat_options_search_word(o, "measure", word) && n == 1 && !alone)
    return mafat_fail(d, MAFAT_EINVAL,
                      "--measure expects MODEL.weights beside %.200s: it runs plans", o->cfg);
  o->weights = n > 1 && !alone ? rest[1] : NULL;
  o->images = rest + (n > 1 && !alone ? 2 : 1);
  o->n_images = alone ? n > 1 : n > 2;
  return MAFAT_OK;
}

/* Reports arguments that are missing for a run; or the first one, if it cannot be opened. */
static int refuse_few(int n, char **rest, bool alone, struct mafat_diagnostic *d)
{
  if (n > 0 && access(rest[0], R_OK) != 0)
    return mafat_fail(d, MAFAT_EIO, "%s: cannot open: %s", rest[0], strerror(errno));
  if (alone || n == 2)
    return mafat_fail(d, MAFAT_EINVAL, "expected an IMAGE or --input after %.200s; see --help",
                      rest[n - 1]);
  return mafat_fail(d, MAFAT_EINVAL,
                    "expected MODEL.cfg MODEL.weights IMAGE..., found %d argument%s; see --help", n,
                    n == 1 ? "" : "s");
}

/* Reads the arguments of mafat_serve: a model, but no pictures. */
static int read_served(struct mafat_options *o, int n, char **rest, bool alone,
                       struct mafat_diagnostic *d)
{
  int wanted = alone ? 1 : 2;
  if (n != wanted)
    return mafat_fail(d, MAFAT_EINVAL,
                      "expected MODEL.cfg MODEL.weights, or a MODEL that holds both, found %d "
                      "argument%s; see --help",
                      n, n == 1 ? "" : "s");
  o->weights = alone ? NULL : rest[1];
  o->images = rest + wanted;
  return MAFAT_OK;
}

static int read_run(struct mafat_options *o, int n, char **rest, struct mafat_diagnostic *d)
{
  bool alone = n > 0 && mafat_file_holds_weights(&o->model); /* it is cfg and weights */
  if (o->program == MAFAT_SERVE) return read_served(o, n, rest, alone, d);
  if (n < 2 && !alone) return refuse_few(n, rest, alone, d);
  o->weights = alone ? NULL : rest[1];
  o->images = rest + (alone ? 1 : 2);
  o->n_images = n - (alone ? 1 : 2);
  if (o->dumps.n && (o->n_images > 1 || (o->n_images == 1 && strcmp(o->images[0], "-") == 0)))
    return mafat_fail(d, MAFAT_EINVAL, "--dump-output expects one image, found %s",
                      o->n_images > 1 ? "several" : "a list");
  return o->inputs.n || o->n_images || mafat_options_video(o) ? MAFAT_OK
                                                              : refuse_few(n, rest, alone, d);
}

static int take_arguments(struct mafat_options *o, const bool *given, int n, char **rest,
                          struct mafat_diagnostic *d)
{
  int code = take_model(o, n, rest, d);
  if (code == MAFAT_OK)
    code = mafat_arguments_check(rest, n, n > 0 && mafat_file_holds_weights(&o->model), d);
  if (code) return code;
  if ((code = o->predict ? read_question(o, n, rest, d) : read_run(o, n, rest, d))) return code;
  if (o->inputs.n && o->n_images &&
      !mafat_file_holds_weights(&o->model)) /* Darknet models have one input */
    return mafat_fail(d, MAFAT_EINVAL, MAFAT_INPUT_AND_IMAGE, o->images[0]);
  if (mafat_options_video(o) && o->n_images)
    return mafat_fail(d, MAFAT_EINVAL, "--%s takes the place of images, found %.100s too",
                      o->camera ? "camera" : "video", o->images[0]);
  return mafat_options_floats_only(o) ? check_floats(given, d) : MAFAT_OK;
}

/* Accepts the options of run_inference that mafat_serve has, and rejects the others. */
static int note_option(struct mafat_options *o, const struct mafat_option_reader *r,
                       struct mafat_diagnostic *d)
{
  const struct mafat_option *row = &options_table.rows[r->row];
  if (!(row->programs & o->program))
    return mafat_fail(d, MAFAT_EINVAL, "--%s makes no sense with mafat_serve; see --help",
                      option_name(r->row));
  if (!row->renamed) return MAFAT_OK;
  if (o->n_renamed == MAFAT_RENAMED_MOST - 1)
    return mafat_fail(d, MAFAT_EINVAL, "--%s is given too often", option_name(r->row));
  o->renamed[o->n_renamed].row = r->row;
  o->renamed[o->n_renamed++].value = r->value;
  return MAFAT_OK;
}

int mafat_options_read(struct mafat_options *o, int argc, char **argv, struct mafat_diagnostic *d)
{
  struct mafat_option_reader r;
  enum mafat_option_answer report;
  mafat_option_begin(&r, &options_table, o->program, argc, argv);
  r.others = o->program == MAFAT_SERVE ? RUN : 0;
  while ((report = mafat_option_next(&r, o)) == MAFAT_OPTION_READ) {
    int code = note_option(o, &r, d);
    if (code || o->show_help || o->show_version) return code;
  }
  if (report != MAFAT_OPTION_END) return mafat_fail(d, MAFAT_EINVAL, "%s", r.refused);
  int n = argc - optind, code;
  if (o->calibrate) return check_calibrate(r.given, n, argv + optind, d);
  if ((code = settle(o, r.given, d))) return code;
  return take_arguments(o, r.given, n, argv + optind, d);
}

int mafat_options_take_own(struct mafat_options *o, int *argc, char **argv,
                           struct mafat_diagnostic *d)
{
  struct mafat_option_reader r;
  mafat_option_begin(&r, &options_table, o->program, *argc, argv);
  if (mafat_option_take(&r, o, argc) == MAFAT_OPTION_READ) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EINVAL, "%s", r.refused);
}
