#include "programs/mafat_serve/serve_options.h"

#include "programs/shared/decimal.h"
#include "programs/shared/own_options.h"

#include <stdlib.h>
#include <string.h>

const char mafat_serve_help[] =
    "Usage: mafat_serve [options] MODEL.cfg MODEL.weights\n"
    "       mafat_serve [options] MODEL\n"
    "       mafat_serve --predict [options] MODEL [MODEL.weights]\n"
    "Answers pictures over HTTP with what is found in them, as JSON, inside a memory\n"
    "budget that holds the requests, too. MODEL as of run_inference.\n"
    "\n"
    "  curl --data-binary @dog.jpg http://127.0.0.1:8080/detect\n"
    "\n"
    "Who may call\n"
    "  --listen ADDRESS:PORT  default 127.0.0.1:8080; up to four times. Addresses are\n"
    "                       numbers, such as 0.0.0.0:80 (all) or [::1]:8080, or localhost;\n"
    "                       port 0: any that is free, which is told; or unix:PATH, a\n"
    "                       socket of this machine (curl --unix-socket PATH)\n"
    "  --token-file FILE    its first line is asked for, as \"Authorization: Bearer TOKEN\",\n"
    "                       of all but the page itself and /healthz. Without it the\n"
    "                       environment's MAFAT_SERVE_TOKEN, if that is set\n"
    "  --timeout SECONDS    that a request, or an answer, may take to come through\n"
    "                       (default 10; a second more for each 16 KB)\n"
    "  --wait SECONDS       that a picture may have to wait for others; where it would be\n"
    "                       longer, 429 is answered at once (default 10)\n"
    "\n"
    "How to run it\n"
    "  --memory SIZE        budget for all: program, model, requests, sockets. Default: as\n"
    "                       run_inference has it\n"
    "  --room SIZE          of it, for the requests that are being read or wait, and for\n"
    "                       answers: the longest picture that is taken. Default: an\n"
    "                       eighth of the budget, from 256K to 8M\n"
    "  --predict            says what it would take, and ends (--json: as an object)\n"
    "  --names FILE, --thresh X, --nms X, --max-boxes N, --threads N, --plan PLAN,\n"
    "  --algorithm NAME, --search NAME, --plan-time SECONDS, --reserve SIZE, --lock WHEN,\n"
    "  --sandbox WHEN, --cpu LEVEL, --fork NAME, --layers N, --decode HEAD, --mean X,\n"
    "  --scale X, --channels ORDER, --resize HOW, --pad X, --image-scaling HOW,\n"
    "  --constant NAME=FILE, --best-effort, --quiet, --version, --help:\n"
    "                       as of run_inference (run_inference --help)\n"
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

static bool read_seconds(double *ms, const char *text)
{
  char *end;
  double seconds = strtod(text, &end);
  if (!mafat_decimal_begins(text) || *end || !(seconds >= 0.1 && seconds <= 86400)) return false;
  *ms = seconds * 1e3;
  return true;
}

static bool read_listen(void *options, const char *text)
{
  struct mafat_serve_options *o = options;
  if (o->n_listen == MAFAT_SANDBOX_DOORS) return false;
  o->listen[o->n_listen++] = text;
  return true;
}

static bool read_token_file(void *options, const char *text)
{
  struct mafat_serve_options *o = options;
  o->token_file = text;
  return *text != '\0';
}

static bool read_room(void *options, const char *text)
{
  struct mafat_serve_options *o = options;
  return mafat_words_size(text, &o->room_bytes) && o->room_bytes >= 64 << 10 && o->room_bytes <= 1u << 30;
}

static bool read_timeout(void *options, const char *text)
{
  struct mafat_serve_options *o = options;
  return read_seconds(&o->timeout_ms, text);
}

static bool read_wait(void *options, const char *text)
{
  struct mafat_serve_options *o = options;
  return read_seconds(&o->wait_ms, text);
}

static const struct mafat_own_option rows[] = {{"--listen", "ADDRESS:PORT or unix:PATH, four times at most", read_listen},
            {"--token-file", "a file", read_token_file},
            {"--room", "a size from 64K to 1G", read_room},
            {"--timeout", "seconds from 0.1 to 86400", read_timeout},
            {"--wait", "seconds from 0.1 to 86400", read_wait}};

int mafat_serve_options_take(struct mafat_serve_options *o, int *argc, char **argv, struct mafat_diagnostic *d)
{
  *o = (struct mafat_serve_options){.timeout_ms = 10e3, .wait_ms = 10e3};
  return mafat_own_options_take(o, rows, (int)(sizeof rows / sizeof *rows), argc, argv, d);
}

int mafat_serve_options_check(const struct mafat_options *o, struct mafat_diagnostic *d)
{
  const struct {
    const char *name;
    bool given;
  } others[] = {{"input", o->n_inputs > 0}, {"dump-output", o->n_dumps > 0}, {"marks", o->marks != NULL}, {"repeat", o->repeat != 1},
                {"report", o->report}, {"sweep", o->sweep}, {"pareto", o->pareto}, {"calibrate", o->calibrate}, {"map", o->map != NULL},
                {"ranks", o->ranks > 0}, {"fast-memory", o->fast_bytes > 0}, {"video", o->video != NULL}, {"camera", o->camera != NULL}, {"json", o->json && !o->predict}, {"predictor", o->paper}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (others[i].given) return mafat_fail(d, MAFAT_EINVAL, "--%s makes no sense with mafat_serve: see --help", others[i].name);
  return MAFAT_OK;
}
