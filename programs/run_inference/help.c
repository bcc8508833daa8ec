/* --help of run_inference, mafat_serve and mafat_ranks. In a file of its own: no run touches it. */
#include "programs/run_inference/options.h"

#include "include/mafat_plan.h"

#define RUN MAFAT_RUN_INFERENCE
#define SERVE MAFAT_SERVE
#define RANKS MAFAT_RANKS
#include "programs/shared/option_help.h"

enum { COLUMN = 23 };

/* What stands around the options. */
static const char run_usage[] =
    "Usage: run_inference [options] MODEL.cfg MODEL.weights IMAGE...\n"
    "       run_inference [options] MODEL IMAGE...\n"
    "       run_inference --video FRAMES [options] MODEL.cfg MODEL.weights < FRAMES\n"
    "       run_inference --predict [options] MODEL.cfg [MODEL.weights [IMAGE]]\n"
    "       run_inference --predict [options] MODEL [IMAGE]\n"
    "       run_inference --calibrate\n"
    "Runs a network inside a memory budget: Darknet's, or of an ONNX or TFLite file.\n"
    "MODEL: .onnx, .tflite or .packed, each by itself. MODEL.weights: Darknet's file, or\n"
    "one made of it by pack_weights, which plans with streamed weights need less\n"
    "memory for, and which is a MODEL, too, for it holds the cfg. IMAGE: JPEG, PNG or\n"
    "PPM; \"-\" reads a list of paths from standard input.\n";

static const char run_end[] =
    "\n"
    "Exit status: 0 done, 1 failed while running, 2 misuse or bad input,\n"
    "3 does not fit (the message names the bytes needed, and the plan that needs them;\n"
    "with --predict the answer is printed all the same).\n"
    "\n"
    "Examples\n"
    "  run_inference --names coco.names yolov3-tiny.cfg yolov3-tiny.weights dog.jpg\n"
    "  run_inference --memory 64M --json yolov2.cfg yolov2.weights dog.jpg | jq .plan\n"
    "  run_inference --layers 16 --plan 5x5/8/2x2 yolov2.cfg yolov2.weights dog.jpg\n"
    "  run_inference --memory 10M yolov2.packed dog.jpg\n"
    "  ffmpeg -i a.mp4 -f yuv4mpegpipe -pix_fmt yuv420p - |\n"
    "    run_inference --video y4m --overlay - yolov3-tiny.cfg yolov3-tiny.weights | mpv -\n"
    "  run_inference --predict --memory 16M yolov2.cfg\n"
    "  run_inference --predict --sweep yolov2.packed dog.jpg\n"
    "  run_inference --predict --memory 16M --map arena.svg yolov2.cfg\n";

static const char serve_usage[] =
    "Usage: mafat_serve [options] MODEL.cfg MODEL.weights\n"
    "       mafat_serve [options] MODEL\n"
    "       mafat_serve --predict [options] MODEL [MODEL.weights]\n"
    "Answers pictures over HTTP with what is found in them, as JSON, inside a memory\n"
    "budget that holds the requests, too. MODEL as of run_inference.\n"
    "\n"
    "  curl --data-binary @dog.jpg http://127.0.0.1:8080/detect\n";

static const char serve_end[] =
    "\n"
    "What is answered\n"
    "  POST / or /detect    a JPEG, PNG or PPM as the body: what is in it. With\n"
    "                       ?size=WIDTHxHEIGHT&format=nv12 (yuv420p, yuyv, rgb24, gray,\n"
    "                       rgb0) a frame as it is, or by its type, video/x-raw; width=640;\n"
    "                       height=480; format=NV12; ?thresh=X and ?nms=X for this one\n"
    "  GET /                a page: drop a picture, see boxes; plans by budget\n"
    "  GET /plan            what runs, and what other budgets would give; with ?memory=8M\n"
    "                       what run_inference --predict --json says of it\n"
    "  GET /map             its memory as SVG, as of --predict --map; ?memory=8M\n"
    "  GET /metrics         for Prometheus\n"
    "  GET /healthz         200 while pictures are answered\n"
    "\n"
    "INT or TERM: what runs is finished, and answered. Exit status: 0; as of\n"
    "run_inference 1, 2 or 3 where it does not come so far.\n";

static const char ranks_usage[] =
    "usage: mpirun -n N mafat_ranks [OPTIONS] MODEL.cfg MODEL.weights IMAGE...\n"
    "\n"
    "Runs a network on N devices that pass messages by MPI: what run_inference prints,\n"
    "and its bits. All ranks get the same arguments: the options of run_inference that\n"
    "run something (run_inference --help), and\n"
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

/* ---- options of mafat_serve that are as of run_inference: their names, in lines ---- */

static int column; /* where the next one stands; 0: at the beginning */

static bool is_shared(const struct option_walk *w)
{
  return w->program != MAFAT_RUN_INFERENCE && w->entry.programs & MAFAT_RUN_INFERENCE && !w->entry.own;
}

static void print_name(struct option_walk *w)
{
  const struct option_entry *e = &w->entry;
  int n = (int)(strlen(e->name) + strlen(e->argument)) + (*e->argument ? 3 : 2);
  if (!is_shared(w)) return;
  if (column && column + 2 + n >= OPTION_HELP_WIDTH) {
    printf(",\n");
    column = 0;
  }
  column += printf("%s--%s%s%s", column ? ", " : "  ", e->name, *e->argument ? " " : "", e->argument);
}

/* ---- all ---- */

static void print_entry(struct option_walk *w)
{
  if (is_shared(w)) return;
  if (w->title && w->program != MAFAT_RANKS) printf("\n%s\n", w->title);
  w->title = NULL;
  option_help_print(&w->entry, COLUMN);
  if (w->program == MAFAT_RUN_INFERENCE && strcmp(w->entry.name, "search") == 0) print_searches();
}

void mafat_options_print_help(enum mafat_program program)
{
  static char all[1 << 15]; /* written at once: who reads a pipe of it may stop at what it looked for */
  struct option_walk w = {.program = program, .emit = print_entry};
  setvbuf(stdout, all, _IOFBF, sizeof all);
  fputs(program == MAFAT_SERVE ? serve_usage : program == MAFAT_RANKS ? ranks_usage : run_usage, stdout);
  option_walk(&w);
  if (program == MAFAT_SERVE) {
    putchar('\n');
    w.emit = print_name;
    option_walk(&w);
    printf(":\n%*sas of run_inference (run_inference --help)\n", COLUMN, "");
  }
  if (program != MAFAT_RANKS) fputs(program == MAFAT_SERVE ? serve_end : run_end, stdout);
}
