/* annotate: draws the detections of `run_inference --json` on their pictures.
 *
 * A program of its own, so that run_inference needs no drawing library in its memory budget. Three
 * stages: every line of JSON is read and checked; then every output gets its name; then the
 * pictures are drawn and written one by one. A mistake in the JSON is therefore found before
 * anything is written. Run from the shell. Reads the JSON and the pictures; makes a folder and
 * writes pictures. */
#include "programs/annotate/draw.h"
#include "programs/annotate/json.h"
#include "programs/annotate/picture.h"
#include "programs/shared/option.h"
#include "programs/shared/streams.h"
#include "programs/shared/unfinished.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <json-c/json.h>

/* Exit codes; BAD_INPUT is also the answer to a misused command line. */
enum annotate_status { DONE = 0, FAILED = 1, BAD_INPUT = 2 };

#define OPTIONS_OF_ANNOTATE
#define OPTIONS_STRUCT struct annotate_options

struct annotate_options {
#include "programs/shared/option_members.h"
  const char *json; /* "-": standard input */
};

#include "programs/shared/option_rows.h"

#include "programs/shared/option_help.h"

static const char *program; /* name that messages begin with */

#define say(...) mafat_streams_complain(program, __VA_ARGS__)

/* ---- Command line ---- */

static const char usage[] =
    "usage: run_inference --json ... PICTURE... | % [options] [JSON-FILE|-]\n"
    "Draws detections on their pictures: a coloured box and a label for each.\n"
    "\n";

static const char usage_end[] =
    "\n"
    "The JSON (default: standard input) holds one object per line and picture:\n"
    "  {\"image\": \"dog.jpg\", \"detections\": [{\"label\": \"dog\", \"class\": 16, "
    "\"confidence\": 0.94,\n"
    "   \"box\": {\"x\": 131, \"y\": 221, \"width\": 183, \"height\": 319}}]}\n"
    "(on one line), boxes in pixels from the top left of the upright picture. An object with\n"
    "\"error\" is reported and skipped.\n"
    "\n"
    "Without -o, dog.jpg becomes dog-annotated.jpg in the current folder; with -o FOLDER, or with\n"
    "several objects, FOLDER/dog-annotated.jpg. FOLDER is made if missing. A second dog.jpg "
    "becomes\n"
    "dog-annotated-2.jpg; pictures other than PNG and JPEG become .png.\n"
    "\n"
    "Exit status: 0 all was drawn; 1 a picture could not be written, or run_inference had failed "
    "on\n"
    "all of them; 2 misuse, bad JSON (nothing is written then) or a picture that cannot be read.\n";

static void print_entry(struct option_walk *w)
{
  enum { COLUMN = 23 };
  option_help_print(&w->entry, COLUMN);
}

static enum annotate_status print_help(void)
{
  struct option_walk w = {.program = ANY, .emit = print_entry};
  mafat_streams_put_named(usage, program);
  option_walk(&w);
  return mafat_streams_say(program, usage_end) == 0 ? DONE : FAILED;
}

static void complain_misuse(const struct mafat_option_reader *r, enum mafat_option_answer answer)
{
  char expected[MAFAT_OPTION_TEXT_ROOM];
  if (answer == MAFAT_OPTION_REFUSED) {
    say("%s", r->refused);
    return;
  }
  say("option -%c, --%s expects %s, found %s", r->table->rows[r->row].letter,
      mafat_option_name(r->table, r->row), mafat_option_expects(r->table, r->row, expected),
      answer == MAFAT_OPTION_BAD_VALUE ? r->value : "nothing");
}

/* Reads the command line. False: the program ends, with exit code *status. */
static bool read_options(int argc, char **argv, struct annotate_options *options,
                         enum annotate_status *status)
{
  struct mafat_option_reader r;
  enum mafat_option_answer answer;
  *status = BAD_INPUT;
  mafat_option_begin(&r, &options_table, ANY, argc, argv);
  while ((answer = mafat_option_next(&r, options)) == MAFAT_OPTION_READ) {
    if (!options->show_help && !options->show_version) continue;
    if (options->show_help) *status = print_help();
    else *status = mafat_streams_say_version(program) == 0 ? DONE : FAILED;
    return false;
  }
  if (answer != MAFAT_OPTION_END) {
    complain_misuse(&r, answer);
    return false;
  }
  if ((options->output && !*options->output) || (options->picture && !*options->picture)) {
    say("option %s expects a file name, found an empty one",
        options->output && !*options->output ? "-o" : "-p");
    return false;
  }
  if (argc - optind > 1) {
    say("expected one JSON-FILE at most, found also %s", argv[optind + 1]);
    return false;
  }
  options->json = optind < argc ? argv[optind] : "-";
  return true;
}

/* ---- Naming the outputs ---- */

static bool is_folder(const char *path)
{
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Decides whether -o names a folder, which is created if it is missing, or a file. *folder: the
 * folder; NULL: it is a file. */
static enum annotate_status resolve_output(const struct annotate_options *options, size_t n_reports,
                                  const char **folder)
{
  const char *output = options->output ? options->output : ".";
  size_t length = strlen(output);
  *folder = output;
  if (is_folder(output)) return DONE;
  bool says_folder = output[length - 1] == '/';
  if (!says_folder && n_reports == 1) {
    *folder = NULL;
    if (mafat_annotate_picture_can_write(output)) return DONE;
    say("option -o expects a name ending in .png, .jpg or .jpeg, or a folder; found %s", output);
    return BAD_INPUT;
  }
  if (!says_folder && mafat_annotate_picture_can_write(output)) {
    say("option -o expects a folder, as there are %zu pictures; found %s", n_reports, output);
    return BAD_INPUT;
  }
  if (mkdir(output, 0777) == 0) return DONE;
  say("%s: cannot make the folder: %s", output, strerror(errno));
  return FAILED;
}

/* Returns the path of an output: FOLDER/dog-annotated.jpg for a/dog.jpg,
 * FOLDER/dog-annotated-2.jpg for the second of that name. `taken` counts the names. NULL: no
 * memory. */
static char *output_name(const char *folder, const char *picture, struct json_object *taken)
{
  const char *slash = strrchr(picture, '/'), *base = slash ? slash + 1 : picture;
  const char *end = mafat_annotate_picture_suffix(picture);
  int stem = (int)(strlen(base) - strlen(end));
  char *name = NULL, *key = NULL, number[24] = "";
  if (!mafat_annotate_picture_can_write(picture)) end = ".png";
  if (asprintf(&key, "%.*s%s", stem, base, end) < 0) return NULL;
  struct json_object *count;
  if (json_object_object_get_ex(taken, key, &count)) {
    json_object_int_inc(count, 1);
    snprintf(number, sizeof number, "-%d", json_object_get_int(count));
  } else {
    count = json_object_new_int(1);
    if (!count || json_object_object_add(taken, key, count) < 0) goto fail;
  }
  const char *joint = folder[strlen(folder) - 1] == '/' ? "" : "/";
  if (strcmp(folder, ".") == 0) folder = joint = "";
  if (asprintf(&name, "%s%s%.*s-annotated%s%s", folder, joint, stem, base, number, end) < 0)
    name = NULL;
fail:
  free(key);
  return name;
}

/* ---- Drawing ---- */

/* Writes device and inode of a regular file as text. False: no such file. */
static bool identify(const char *path, char text[48])
{
  struct stat info;
  if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return false;
  snprintf(text, 48, "%llx:%llx", (unsigned long long)info.st_dev, (unsigned long long)info.st_ino);
  return true;
}

static const char *picture_of(const struct annotate_options *options,
                              const struct mafat_annotate_report *report)
{
  return options->picture ? options->picture : report->image;
}

/* Lists the identities of all input pictures, so that no output replaces one. NULL: no memory. */
static struct json_object *list_pictures(const struct annotate_options *options,
                                         const struct mafat_annotate_json *json)
{
  struct json_object *pictures = json_object_new_object();
  char text[48];
  for (size_t i = 0; pictures && i < json->n; i++) {
    if (!identify(picture_of(options, &json->reports[i]), text)) continue;
    if (json_object_object_add(pictures, text, NULL) == 0) continue;
    json_object_put(pictures);
    pictures = NULL;
  }
  return pictures;
}

/* True for pipes and devices. Paths in JSON may not name them, since reading could block for ever;
 * the command line may. */
static bool is_no_file(const char *path)
{
  struct stat info;
  return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

/* Draws one report's picture and writes it to `output`. */
static enum annotate_status annotate(const struct annotate_options *options,
                            const struct mafat_annotate_report *report, const char *output,
                            struct json_object *pictures)
{
  const char *picture = picture_of(options, report);
  char text[48];
  struct mafat_diagnostic d;
  gdImagePtr im;
  size_t n;
  if (!options->picture && is_no_file(picture)) {
    say("%s: expected a regular file; --picture takes any", picture);
    return BAD_INPUT;
  }
  if (identify(output, text) && json_object_object_get_ex(pictures, text, NULL)) {
    say("%s: expected an output other than the picture itself, or another that is drawn on",
        output);
    return BAD_INPUT;
  }
  if (mafat_annotate_picture_read(&im, picture, &d)) {
    say("%s: %s", picture, d.text);
    return BAD_INPUT;
  }
  if (*d.text) say("%s: warning: %s", picture, d.text);

  enum annotate_status status = FAILED;
  if (mafat_annotate_draw(im, report, options->thresh, &n)) {
    say("out of memory");
  } else if (mafat_annotate_picture_write(im, output, &d)) {
    say("%s: %s", output, d.text);
  } else {
    status = DONE;
    if (!options->quiet)
      say("%s: %zu of %zu boxes drawn, written to %s", picture, n, report->n_detections, output);
  }
  gdImageDestroy(im);
  return status;
}

/* Draws all pictures, also after a failure. Returns the worst status. */
static enum annotate_status annotate_all(const struct annotate_options *options,
                                const struct mafat_annotate_json *json)
{
  const char *folder;
  enum annotate_status status = resolve_output(options, json->n, &folder);
  if (status != DONE) return status;
  struct json_object *taken = json_object_new_object(), *pictures = list_pictures(options, json);
  size_t n_errors = 0;
  if (!taken || !pictures) {
    say("out of memory");
    json_object_put(taken);
    json_object_put(pictures);
    return FAILED;
  }
  for (size_t i = 0; i < json->n; i++) {
    const struct mafat_annotate_report *report = &json->reports[i];
    if (report->error) {
      say("%s: skipped, run_inference reported: %s", *report->image ? report->image : "a picture",
          report->error);
      n_errors++;
      continue;
    }
    char *output =
        folder ? output_name(folder, picture_of(options, report), taken) : strdup(options->output);
    enum annotate_status one = FAILED;
    if (output)
      one = annotate(options, report, output, pictures);
    else
      say("out of memory");
    status = one > status ? one : status;
    free(output);
  }
  json_object_put(taken);
  json_object_put(pictures);
  return n_errors == json->n ? FAILED : status;
}

/* Reads the JSON and prints its mistakes. *json may be NULL after a failure. */
static enum annotate_status read_json(const struct annotate_options *options,
                                      struct mafat_annotate_json **json)
{
  struct mafat_annotate_mistake mistake;
  int code = mafat_annotate_json_read(json, options->json, options->picture == NULL, &mistake);
  if (code && mistake.line > 0)
    say("%s:%zu: %s", mistake.file, mistake.line, mistake.text);
  else if (code)
    say("%s: %s", mistake.file, mistake.text);
  if (code) return code == MAFAT_ENOMEM ? FAILED : BAD_INPUT;
  if (options->picture && (*json)->n > 1) {
    say("option -p, --picture expects JSON for one picture, found %zu objects", (*json)->n);
    return BAD_INPUT;
  }
  return DONE;
}

int main(int argc, char **argv)
{
  struct annotate_options options = {0};
  struct mafat_annotate_json *json = NULL;
  enum annotate_status status;
  program = mafat_streams_installed(argv[0], "mafat-annotate", "annotate");
  mafat_streams_hold();
  if (!read_options(argc, argv, &options, &status)) return status;
  mafat_unfinished_mind_signals();

  status = read_json(&options, &json);
  if (status == DONE) status = annotate_all(&options, json);
  mafat_annotate_json_close(&json);
  mafat_annotate_draw_close();
  return status;
}
