/* Prints --help and --help=all of run_inference, mafat_serve and mafat_ranks. Called by
 * run_inference.c, programs/mafat_serve and programs/mafat_ranks. Its code is in the section of
 * rare code, since no inference executes it. */
#include "programs/run_inference/options.h"

#include "include/mafat_plan.h"
#include "programs/shared/streams.h"

#define RUN MAFAT_RUN_INFERENCE
#define SERVE MAFAT_SERVE
#define RANKS MAFAT_RANKS
#include "programs/shared/option_help.h"

enum { COLUMN = 23, BRIEF_COLUMN = 25 };

/* Texts around the options. A % stands for the program's name, as it was called. */
static const char run_usage[] =
    "usage: % [options] MODEL.cfg MODEL.weights IMAGE...\n"
    "       % [options] MODEL IMAGE...\n"
    "       % --predict [options] MODEL.cfg [MODEL.weights [IMAGE]]\n"
    "Runs a neural network on pictures within a memory budget and prints what it finds.\n"
    "MODEL: an .onnx, .tflite or .packed file. IMAGE: JPEG, PNG, BMP or PPM; - reads paths\n"
    "from standard input.\n"
    "\n";

static const char run_end[] =
    "\n"
    "Examples\n"
    "  % --names coco.names yolov3-tiny.cfg yolov3-tiny.weights dog.jpg\n"
    "  % --memory 64M yolox_nano.onnx dog.jpg\n"
    "  % --predict --memory 16M yolov3-tiny.cfg\n"
    "\n"
    "Exit status: 0 done, 1 failed while running, 2 bad options or input,\n"
    "3 does not fit (the message names the budget that would do).\n";

static const char run_usage_all[] =
    "usage: % [options] MODEL.cfg MODEL.weights IMAGE...\n"
    "       % [options] MODEL IMAGE...\n"
    "       % --video FRAMES [options] MODEL.cfg MODEL.weights < FRAMES\n"
    "       % --predict [options] MODEL.cfg [MODEL.weights [IMAGE]]\n"
    "       % --predict [options] MODEL [IMAGE]\n"
    "       % --calibrate\n"
    "Runs a neural network on pictures within a memory budget and prints what it finds.\n"
    "MODEL: an .onnx, .tflite or .packed file. MODEL.weights: Darknet's file, or one\n"
    "packed from it by pack_weights; plans with streamed weights need less memory for\n"
    "that, and it is a MODEL, too, as it contains the cfg. IMAGE: JPEG, PNG, BMP or PPM; -\n"
    "reads paths from standard input.\n";

static const char run_end_all[] =
    "\n"
    "Exit status: 0 done, 1 failed while running, 2 bad options or input,\n"
    "3 does not fit (the message names the budget that would do; with --predict the\n"
    "plan is printed all the same).\n"
    "\n"
    "Examples\n"
    "  % --names coco.names yolov3-tiny.cfg yolov3-tiny.weights dog.jpg\n"
    "  % --memory 64M --json yolov2.cfg yolov2.weights dog.jpg | jq .plan\n"
    "  % --layers 16 --plan 5x5/8/2x2 yolov2.cfg yolov2.weights dog.jpg\n"
    "  % --memory 10M yolov2.packed dog.jpg\n"
    "  ffmpeg -i a.mp4 -f yuv4mpegpipe -pix_fmt yuv420p - |\n"
    "    % --video y4m --overlay - yolov3-tiny.cfg yolov3-tiny.weights | mpv -\n"
    "  % --predict --memory 16M yolov2.cfg\n"
    "  % --predict --sweep yolov2.packed dog.jpg\n"
    "  % --predict --memory 16M --map arena.svg yolov2.cfg\n";

static const char serve_usage[] =
    "usage: % [options] MODEL.cfg MODEL.weights\n"
    "       % [options] MODEL\n"
    "       % --predict [options] MODEL [MODEL.weights]\n"
    "Finds objects in pictures that are sent over HTTP, within a memory budget that\n"
    "includes the requests. MODEL: an .onnx, .tflite or .packed file.\n"
    "\n"
    "  curl --data-binary @dog.jpg http://127.0.0.1:8080/detect\n";

static const char serve_end[] =
    "\n"
    "A browser shows a page at http://127.0.0.1:8080/. INT or TERM: finishes and answers\n"
    "the requests that were accepted, then exits with status 0.\n";

static const char serve_end_all[] =
    "\n"
    "Requests\n"
    "  POST / or /detect    a JPEG, PNG, BMP or PPM as the body: the objects in it. With\n"
    "                       ?size=WIDTHxHEIGHT&format=nv12 (yuv420p, yuyv, rgb24, gray,\n"
    "                       rgb0) a raw frame; or by its type, video/x-raw; width=640;\n"
    "                       height=480; format=NV12; ?thresh=X and ?nms=X for this one\n"
    "  GET /                a page: drop a picture, see boxes; plans by budget\n"
    "  GET /plan            the plan that runs, and those of other budgets; with\n"
    "                       ?memory=8M the output of run_inference --predict --json\n"
    "  GET /map             its memory as SVG, as --predict --map draws it; ?memory=8M\n"
    "  GET /metrics         for Prometheus\n"
    "  GET /healthz         200 while pictures are answered\n"
    "\n"
    "INT or TERM: finishes and answers the requests that were accepted. Exit status: 0;\n"
    "1, 2 or 3 as for run_inference where it cannot start.\n";

static const char ranks_usage[] =
    "usage: mpirun -n N % [options] MODEL.cfg MODEL.weights IMAGE...\n"
    "Runs a network on N devices that pass messages by MPI, with the output and the bits\n"
    "of run_inference. All ranks get the same arguments: these options and those of\n"
    "run_inference that run something (--help=all names them).\n"
    "\n";

static void print_searches(void)
{
  struct mafat_search_facts f = {.size = sizeof f};
  for (int i = 0; mafat_search_describe(i, &f) == MAFAT_OK; i++) {
    printf("%*s%s%s\n", COLUMN, "", f.name, i == 0 ? " (default)" : "");
    option_help_wrap(f.help, COLUMN + 2);
    for (int k = 0; k < f.n_words; k++) {
      const struct mafat_search_word *w = &f.words[k];
      printf("%*s:%s%s%s", COLUMN + 2, "", w->name, w->value ? "=" : "", w->value ? w->value : "");
      if (w->type == MAFAT_WORD_COUNT) printf(", %.0f to %.0f", w->least, w->most);
      printf("%s%s\n", w->usual ? ", default " : "", w->usual ? w->usual : "");
      option_help_wrap(w->help, COLUMN + 4);
    }
  }
}

/* ---- names of the options shared by run_inference, mafat_serve and mafat_ranks ---- */

static int column; /* column of the next name; 0: start of a line */

static bool is_shared(const struct option_walk *w)
{
  return w->program != MAFAT_RUN_INFERENCE && w->entry.programs & MAFAT_RUN_INFERENCE &&
         !w->entry.own;
}

/* True for --predict in the help of mafat_ranks, which refuses it: it plans for one process. */
static bool is_refused(const struct option_walk *w)
{
  return w->program == MAFAT_RANKS && strcmp(w->entry.name, "predict") == 0;
}

static void print_name(struct option_walk *w)
{
  const struct option_entry *e = &w->entry;
  int n = (int)(strlen(e->name) + strlen(e->argument)) + (*e->argument ? 3 : 2);
  if (!is_shared(w) || is_refused(w) || e->letter) return;
  if (column && column + 2 + n >= OPTION_HELP_WIDTH) {
    printf(",\n");
    column = 0;
  }
  column +=
      printf("%s--%s%s%s", column ? ", " : "  ", e->name, *e->argument ? " " : "", e->argument);
}

/* ---- all ---- */

static void print_entry(struct option_walk *w)
{
  if (is_shared(w) && w->entry.letter == 0) return;
  if (w->title && w->program != MAFAT_RANKS) printf("\n%s\n", w->title);
  w->title = NULL;
  option_help_print(&w->entry, COLUMN);
  if (w->program == MAFAT_RUN_INFERENCE && strcmp(w->entry.name, "search") == 0) print_searches();
}

static void print_brief(struct option_walk *w)
{
  if (w->entry.brief && !w->entry.letter)
    option_help_print_text(&w->entry, w->entry.brief, BRIEF_COLUMN);
}

/* -h and -V, after the others. */
static void print_brief_letter(struct option_walk *w)
{
  if (w->entry.brief && w->entry.letter)
    option_help_print_text(&w->entry, w->entry.brief, BRIEF_COLUMN);
}

static void print_options(enum mafat_program program, bool all)
{
  struct option_walk w = {.program = program,
                          .emit = all || program == MAFAT_RANKS ? print_entry : print_brief};
  option_walk(&w);
  if (!all && program != MAFAT_RANKS) {
    w.emit = print_brief_letter;
    option_walk(&w);
  }
  if (!all || program == MAFAT_RUN_INFERENCE) return;
  putchar('\n');
  w.emit = print_name;
  option_walk(&w);
  printf(":\n%*sas for run_inference (run_inference --help=all)\n", COLUMN, "");
}

/* True for "mafat predict" and "mafat bench": mafat has printed their usage. */
static bool is_headed(const char *name)
{
  enum { PREFIX = sizeof "mafat " - 1 };
  return strncmp(name, "mafat ", PREFIX) == 0 && strcmp(name + PREFIX, "run") != 0;
}

static void print_run_end(bool all, const char *name)
{
  const char *end = is_headed(name) ? strstr(run_end, "\nExit") : all ? run_end_all : run_end;
  mafat_streams_put_named(end, name);
}

void mafat_options_print_help(enum mafat_program program, const char *name, bool all)
{
  /* holds the whole text, to write it at once: the reader of a pipe may close it after a line */
  static char text[1 << 15];
  setvbuf(stdout, text, _IOFBF, sizeof text);
  if (program != MAFAT_RUN_INFERENCE)
    mafat_streams_put_named(program == MAFAT_SERVE ? serve_usage : ranks_usage, name);
  else if (!is_headed(name)) mafat_streams_put_named(all ? run_usage_all : run_usage, name);
  if (program == MAFAT_SERVE && !all) putchar('\n');
  print_options(program, all);
  if (program == MAFAT_RUN_INFERENCE) print_run_end(all, name);
  else if (program == MAFAT_SERVE)
    mafat_streams_put_named(all ? serve_end_all : serve_end, name);
}

int mafat_options_answer(const struct mafat_options *o, const char *name, const char *version)
{
  enum { UNWRITTEN = 1 }; /* exit status */
  if (o->show_help) mafat_options_print_help(o->program, name, *o->show_help);
  return mafat_streams_say(name, o->show_help ? "" : version) == 0 ? 0 : UNWRITTEN;
}
