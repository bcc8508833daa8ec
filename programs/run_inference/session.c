/* Parts of a session that several programs share: messages, opening the model and names, checks of
 * output paths, the sandbox. Called by most files of programs/run_inference, programs/mafat_serve
 * and programs/mafat_ranks. Prints on standard error, opens the model's files, and restricts the
 * process. */
#include "programs/run_inference/session.h"

#include "base/part.h"
#include "base/utf8.h"
#include "programs/shared/progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

double mafat_session_now_ms(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

int mafat_session_exit_status(int code)
{
  switch (code) {
  case MAFAT_OK: return 0;
  case MAFAT_ELIMIT: return EXIT_DOES_NOT_FIT;
  case MAFAT_ENOMEM: return EXIT_RUNNING;
  default: return EXIT_INPUT;
  }
}

static const char *program = "run_inference";

void mafat_session_name_program(const char *name)
{
  program = name;
}

MAFAT_PART(opening) const char *mafat_session_program(void)
{
  return program;
}

/* Prints a message with control characters replaced, since paths may contain any byte. Writes
 * directly: no other message needs the code of stdio. */
void mafat_session_complain(const char *text)
{
  char line[1200];
  mafat_progress_erase();
  int n = snprintf(line, sizeof line, "%s: %s", program, text);
  size_t length = n < 0 ? 0 : (size_t)n < sizeof line - 1 ? (size_t)n : sizeof line - 2;
  line[length] = 0;
  mafat_utf8_keep_to_one_line(line);
  line[length++] = '\n';
  for (size_t done = 0; done < length;) {
    ssize_t got = write(STDERR_FILENO, line + done, length - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    done += (size_t)got;
  }
}

enum { DECODE_TEXT = 1000 }; /* longest message about heads and preprocessing */

void mafat_session_warn(void *context, const char *text)
{
  const struct mafat_session *s = context;
  char line[DECODE_TEXT + 16];
  snprintf(line, sizeof line, "warning: %s", text);
  if (!s->options.quiet) mafat_session_complain(line);
}

void mafat_session_note_renamed(struct mafat_session *s)
{
  if (*s->options.note && !s->options.quiet) mafat_session_complain(s->options.note);
}

void mafat_session_report_fork(struct mafat_session *s, const char *fork_sign)
{
  char text[400];
  if (!fork_sign || s->fork_reported) return;
  s->fork_reported = true;
  snprintf(text, sizeof text, "%.200s: run as by AlexeyAB's Darknet (%s), see --fork",
           s->options.cfg, fork_sign);
  mafat_session_warn(s, text);
}

/* Compares texts. libc's strcmp is in a part of the program that is dropped before runs. */
static bool is_word(const char *text, const char *word)
{
  for (; *text && *text == *word; text++) word++;
  return *text == *word;
}

/* Formats "1", or "0.5,0.4,0.3" if a channel differs. */
static void format_numbers(char text[64], const float numbers[3], bool gray)
{
  bool same = gray || (!(numbers[0] < numbers[1]) && !(numbers[0] > numbers[1]) &&
                       !(numbers[0] < numbers[2]) && !(numbers[0] > numbers[2]));
  if (same) snprintf(text, 64, "%.6g", (double)numbers[0]);
  else
    snprintf(text, 64, "%.6g,%.6g,%.6g", (double)numbers[0], (double)numbers[1],
             (double)numbers[2]);
}

/* Formats assumed preprocessing as the options that would ask for it. */
static void format_assumed(char *text, size_t capacity, const struct mafat_picture_facts *p)
{
  char mean[64], scale[64];
  bool gray = is_word(p->channels, "gray");
  format_numbers(mean, p->mean, gray);
  format_numbers(scale, p->scale, gray);
  snprintf(text, capacity,
           "; pictures as usual for %s: --channels %s --mean %s --scale %s --resize %s --pad %.4g "
           "(options override)",
           p->assumed, p->channels, mean, scale, p->resize, (double)p->pad);
}

void mafat_session_report_decode(struct mafat_session *s, const char *decode, const char *sign,
                                 const struct mafat_picture_facts *picture)
{
  char text[DECODE_TEXT], assumed[400] = "";
  bool named = !sign || (s->options.decode && !is_word(s->options.decode, "auto")),
       pictures = picture->channels && !mafat_options_floats_only(&s->options);
  if (!decode || s->decode_reported) return;
  s->decode_reported = true;
  if (pictures && picture->assumed) format_assumed(assumed, sizeof assumed, picture);
  if (named)
    snprintf(text, sizeof text, "%.200s: decoded as %s%s", s->options.cfg, decode, assumed);
  else
    snprintf(text, sizeof text, "%.200s: decoded as %s, by its dimensions: %s%s", s->options.cfg,
             decode, sign, *assumed ? assumed : "; see --decode");
  if (!s->options.quiet && (!named || *assumed)) mafat_session_complain(text);
  if (!pictures || !is_word(decode, "classes") || !is_word(picture->source, "default"))
    return;
  snprintf(text, sizeof text,
           "%.200s: the file declares no preprocessing, so pictures are %s, byte / 255, %s; if the "
           "network was trained otherwise, give --mean, --scale, --channels and --resize",
           s->options.cfg, picture->channels, picture->resize);
  mafat_session_warn(s, text);
}

/* Path of the first picture. NULL: unknown, as in a list; an ordinary JPEG is then assumed. */
const char *mafat_session_picture(const struct mafat_session *s)
{
  const struct mafat_options *o = &s->options;
  return !o->n_images || strcmp(o->images[0], "-") == 0 ? NULL : o->images[0];
}

enum { FRAMES = 10000 }; /* assumed for video */

MAFAT_PART(opening) struct mafat_model_options mafat_session_model_options(struct mafat_session *s)
{
  const struct mafat_options *o = &s->options;
  struct mafat_model_options m = {.size = sizeof m};
  mafat_options_set(o, &m);
  m.memory_name = "--memory";
  m.search = s->link ? o->share : o->search;
  m.picture = mafat_session_picture(s);
  m.picture_may_fail = o->n_images > 1;
  m.floats_only = mafat_options_floats_only(o);
  m.frames = s->frames;
  m.frames_stay = o->overlay;
  m.frames_outside = o->camera;
  m.beside_bytes = s->frames_beside;
  m.plan_seconds = o->plan_seconds < 0 ? 0 : o->plan_seconds > 0 ? o->plan_seconds : -1;
  double n_images = o->n_images > 1 ? o->n_images : 1;
  m.runs = mafat_options_video(o) ? FRAMES : o->repeat * n_images;
  m.link = s->link;
  m.warnings = (struct mafat_warning_sink){mafat_session_warn, s};
  return m;
}

/* ---- input files ---- */

void mafat_session_check_names(struct mafat_session *s)
{
  struct mafat_model_facts facts = {.size = sizeof facts};
  char text[400];
  int labels = mafat_names_count(s->names);
  if (!s->names || mafat_model_describe(s->model, &facts) || !facts.n_classes ||
      labels == facts.n_classes)
    return;
  snprintf(text, sizeof text,
           "%.200s: has %d labels, but %.100s has %d classes; are these its labels?",
           s->options.names, labels, s->options.cfg, facts.n_classes);
  mafat_session_warn(s, text);
}

/* Names stay in memory while the model runs, so they may take half of the budget's free bytes, but
 * always 256 KB, enough for the names of a usual network. */
MAFAT_PART(opening)
int mafat_session_read_names(struct mafat_session *s)
{
  enum { USUAL = 256 << 10 };
  struct mafat_process_facts now = {.size = sizeof now};
  const struct mafat_options *o = &s->options;
  if (!o->names) return MAFAT_OK;
  mafat_process_measure(&now);
  size_t budget = mafat_process_budget();
  if (o->memory.n && o->memory.list[0] < budget) budget = o->memory.list[0];
  size_t left = budget > now.resident_bytes ? budget - now.resident_bytes : 0;
  return mafat_names_read_within(&s->names, o->names, left / 2 > USUAL ? left / 2 : USUAL, &s->d);
}

int mafat_session_open_model(struct mafat_session *s, const struct mafat_model_options *m)
{
  const struct mafat_options *o = &s->options;
  const struct mafat_file weights = {.size = sizeof weights, .path = o->weights};
  return mafat_model_open_files(&s->model, &o->model, o->weights ? &weights : NULL, m, &s->d);
}

int mafat_session_open_dry_run(const struct mafat_session *s, struct mafat_dry_run **dry_run,
                               const struct mafat_model_options *m, struct mafat_diagnostic *d)
{
  const struct mafat_options *o = &s->options;
  const struct mafat_file weights = {.size = sizeof weights, .path = o->weights};
  return mafat_dry_run_open_files(dry_run, &o->model, o->weights ? &weights : NULL, m, d);
}

/* ---- output files ---- */

static bool is_same_file(const char *path, const struct stat *st)
{
  struct stat other;
  return path && stat(path, &other) == 0 && other.st_dev == st->st_dev &&
         other.st_ino == st->st_ino;
}

static int refuse_read(struct mafat_session *s, const char *option, const char *path)
{
  return mafat_fail(&s->d, MAFAT_EINVAL,
                    "--%s expects a file of its own, found %.200s, which is read", option, path);
}

/* True if pictures, their paths or frames are read from standard input. */
static bool reads_stdin(const struct mafat_options *o)
{
  for (int i = 0; i < o->n_images; i++)
    if (strcmp(o->images[i], "-") == 0) return true;
  return o->video && !o->camera;
}

int mafat_session_check_output(struct mafat_session *s, const char *option, const char *path)
{
  const struct mafat_options *o = &s->options;
  struct stat st, in;
  if (!path || stat(path, &st) != 0) return MAFAT_OK;
  if (S_ISDIR(st.st_mode))
    return mafat_fail(&s->d, MAFAT_EINVAL, "--%s expects a file, found the folder %.200s", option,
                      path);
  if (!S_ISREG(st.st_mode)) return MAFAT_OK;
  if (reads_stdin(o) && fstat(STDIN_FILENO, &in) == 0 && in.st_dev == st.st_dev &&
      in.st_ino == st.st_ino)
    return refuse_read(s, option, path);
  const char *inputs[] = {o->cfg, o->weights, o->names};
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
    if (is_same_file(inputs[i], &st))
      return refuse_read(s, option, inputs[i]);
  for (int i = 0; i < o->n_images; i++)
    if (is_same_file(o->images[i], &st)) return refuse_read(s, option, o->images[i]);
  for (int i = 0; i < o->inputs.n + o->constants.n; i++) {
    const char *text = i < o->inputs.n ? o->inputs.list[i] : o->constants.list[i - o->inputs.n],
               *file = strchr(text, '=');
    if (is_same_file(text, &st)) return refuse_read(s, option, text);
    for (; file; file = strchr(file + 1, '='))
      if (is_same_file(file + 1, &st)) return refuse_read(s, option, file + 1);
  }
  return MAFAT_OK;
}

/* True if two paths name the same regular file. Devices do not count: writing loses nothing. */
static bool is_one_file(const char *a, const char *b)
{
  struct stat st;
  return a && (stat(a, &st) == 0 ? S_ISREG(st.st_mode) && is_same_file(b, &st) : strcmp(a, b) == 0);
}

int mafat_session_check_dumps_apart(struct mafat_session *s)
{
  for (int i = 0; i < s->options.dumps.n; i++) {
    const char *path = s->dumps[i].path;
    bool twice = is_one_file(s->options.marks, path);
    for (int k = 0; k < i; k++) twice = twice || is_one_file(s->dumps[k].path, path);
    if (twice)
      return mafat_fail(&s->d, MAFAT_EINVAL,
                        "--dump-output expects a file of its own, found %.200s twice", path);
  }
  return MAFAT_OK;
}

/* ---- the sandbox ---- */

enum { OUTPUTS = 3 + 2 * MAFAT_OPTION_LIST_ROOM };

/* Lists the paths of outputs. The model's names are not known yet, so both readings of
 * --dump-output NAME=FILE count. */
static int list_outputs(const struct mafat_options *o, const char *outputs[OUTPUTS])
{
  int n = 0;
  if (o->marks) outputs[n++] = o->marks;
  if (o->map) outputs[n++] = o->map;
  if (o->overlay && strcmp(o->overlay, "-") != 0) outputs[n++] = o->overlay;
  for (int i = 0; i < o->dumps.n; i++) {
    const char *equals = strchr(o->dumps.list[i], '=');
    outputs[n++] = o->dumps.list[i];
    if (equals && equals[1]) outputs[n++] = equals + 1;
  }
  return n;
}

/* Folder for the copy of a model that is a pipe, as base/model_file.c chooses it; NULL: no pipe. */
static const char *copies_folder(const struct mafat_options *o)
{
  struct stat st;
  const char *folder = getenv("TMPDIR");
  if (!o->cfg || stat(o->cfg, &st) != 0 || !S_ISFIFO(st.st_mode)) return NULL;
  return folder && *folder ? folder : "/tmp";
}

/* Fails with MAFAT_EIO if a required sandbox is not in force. */
static int check_confined(struct mafat_session *s, bool confined)
{
  const char *when = s->options.sandbox;
  if (confined || !when || strcmp(when, "on") != 0) return MAFAT_OK;
  return mafat_fail(&s->d, MAFAT_EIO, "--sandbox on: %s", s->sandbox.lacks);
}

int mafat_session_confine(struct mafat_session *s)
{
  const char *outputs[OUTPUTS];
  const struct mafat_sandbox_permissions permissions = {
      .outputs = outputs,
      .n_outputs = list_outputs(&s->options, outputs),
      .copies = copies_folder(&s->options),
      .serving = (s->options.program == MAFAT_SERVE) && !s->options.predict,
      .camera = s->options.camera != NULL};
  if (s->options.sandbox && strcmp(s->options.sandbox, "off") == 0) {
    s->sandbox.lacks = "off";
    return MAFAT_OK;
  }
  if (s->link) {
    s->sandbox.lacks = "off where ranks pass messages";
    return check_confined(s, false);
  }
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
  if (!s->options.sandbox) { /* sanitizers fork and make memory executable */
    s->sandbox.lacks = "off under a sanitizer";
    return MAFAT_OK;
  }
#endif
  return check_confined(s, mafat_sandbox_begin(&s->sandbox, &permissions));
}

int mafat_session_confine_run(struct mafat_session *s)
{
  if (!s->sandbox.filter || s->options.inputs.n > 0)
    return MAFAT_OK; /* inputs are read by rings and threads of their own, as runs ask for them */
  return check_confined(s, mafat_sandbox_close(&s->sandbox));
}

const char *mafat_session_sandbox(struct mafat_session *s)
{
  const struct mafat_sandbox *b = &s->sandbox;
  if (b->landlock)
    snprintf(s->sandbox_text, sizeof s->sandbox_text, "%sLandlock %d", b->filter ? "seccomp, " : "",
             b->landlock);
  return b->landlock ? s->sandbox_text : b->filter ? "seccomp" : b->lacks;
}
