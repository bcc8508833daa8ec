/* Implements --video and --camera: frame by frame, one line of JSON for each. Called by
 * run_inference.c. programs/shared/video reads and writes the frames. A frame is stored only in the
 * arena or in the camera's buffer. Reads standard input or a camera, writes the output of
 * --overlay, prints results, and handles SIGINT and SIGTERM. */
#include "base/part.h"
#include "include/mafat_video.h"
#include "programs/run_inference/output.h"
#include "programs/run_inference/report.h"
#include "programs/run_inference/session.h"
#include "programs/shared/streams.h"
#include "programs/shared/video/camera.h"
#include "programs/shared/video/frames.h"
#include "programs/shared/video/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* State of a run of video. It is separate from the session, so that runs of pictures do not touch
 * its pages. Runs of video touch the pages that they will use before the process is measured. */
static struct video {
  bool prepared;   /* the session runs video, and the fields below are set */
  struct mafat_frames frames;
  struct mafat_camera camera;
  struct mafat_overlay overlay;
  int overlay_fd;  /* output of --overlay; -1: none */
  struct mafat_video_report all;
  double busy_ms;  /* total time from the arrival of a frame to its results */
  double first_ms; /* time at which the first frame had arrived */
  double ready_ms; /* time at which the current frame had arrived */
  long long at;    /* number of the current frame */
} video;

/* ---- signals: the current frame is finished ---- */

static volatile int stop;

static void on_signal(int number)
{
  stop = number;
}

/* Sets the handlers without SA_RESTART, so that a signal interrupts waiting calls. */
static void catch_signals(void)
{
  struct sigaction action = {.sa_handler = on_signal};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

/* Ends by the signal, as its sender expects. */
static void end_by_signal(void)
{
  if (!stop) return;
  signal(stop, SIG_DFL);
  raise(stop);
}

/* ---- beginning ---- */

/* Opens the camera. Its buffers may or may not count as resident memory, depending on the driver;
 * frames_beside is the part that does not. */
static int open_camera(struct mafat_session *s)
{
  const struct mafat_options *o = &s->options;
  struct mafat_process_facts before = {.size = sizeof before}, now = {.size = sizeof now};
  mafat_process_measure(&before);
  int code = mafat_camera_open(&video.camera, o->camera, o->video, !o->predict, &s->d);
  mafat_process_measure(&now);
  size_t mapped = video.camera.mapped_bytes, seen = now.resident_bytes > before.resident_bytes
                                                        ? now.resident_bytes - before.resident_bytes
                                                        : 0;
  s->frames = video.camera.text;
  s->frames_beside = mapped > seen ? mapped - seen : 0;
  return code;
}

int mafat_session_prepare_video(struct mafat_session *s)
{
  const struct mafat_options *o = &s->options;
  video.prepared = true;
  video.camera = (struct mafat_camera){.fd = -1, .held = -1};
  video.overlay = (struct mafat_overlay){.fd = -1};
  video.overlay_fd = -1;
  video.all = (struct mafat_video_report){.frames = NULL};
  /* A frame arrives in few reads. The pipe's bytes are charged to the writer. */
  enum { PIPE_BYTES = 256 << 10 };
  if (o->overlay && strcmp(o->overlay, "-") == 0) mafat_writer_open(&s->out, STDERR_FILENO);
  if (o->camera) return open_camera(s);
  if (fcntl(STDIN_FILENO, F_GETPIPE_SZ) < PIPE_BYTES)
    (void)fcntl(STDIN_FILENO, F_SETPIPE_SZ, PIPE_BYTES);
  return MAFAT_OK;
}

int mafat_session_begin_video(struct mafat_session *s)
{
  const struct mafat_options *o = &s->options;
  if (o->camera) return MAFAT_OK;
  if (o->predict && strcmp(o->video, "y4m") != 0) {
    s->frames = o->video;
    return MAFAT_OK;
  }
  int code = mafat_frames_open(&video.frames, STDIN_FILENO, o->video, &s->d);
  s->frames = video.frames.text;
  if (video.frames.kind == MAFAT_FRAMES_JPEG)
    memset(video.frames.ahead, 0, sizeof video.frames.ahead);
  if (code == MAFAT_OK && o->live && video.frames.is_file)
    code = mafat_fail(&s->d, MAFAT_EINVAL,
                      "--live expects a pipe or a camera: no frame of a file comes too late");
  return code;
}

static int open_overlay(struct mafat_session *s)
{
  const char *path = s->options.overlay;
  if (!path) return MAFAT_OK;
  bool out = strcmp(path, "-") == 0;
  video.overlay_fd = out ? STDOUT_FILENO : mafat_streams_open(path);
  if (video.overlay_fd < 0)
    return mafat_fail(&s->d, MAFAT_EIO, "%s: cannot create: %s", path, strerror(errno));
  return mafat_overlay_open(&video.overlay, video.overlay_fd, out ? "standard output" : path,
                            s->frames, s->options.camera ? video.camera.rate : video.frames.rate,
                            &s->d);
}

MAFAT_PART(run) void mafat_session_close_video(void)
{
  if (!video.prepared) return;
  mafat_camera_close(&video.camera);
  if (video.overlay_fd > STDERR_FILENO) close(video.overlay_fd);
}

/* ---- a frame ---- */

/* True if the next frame began to arrive while the current one was read. was_there: the current
 * frame was waiting in the pipe, so its writer was blocked; it gets MOMENT_MS to begin the next. */
static bool is_late(bool was_there)
{
  enum { MOMENT_MS = 2 };
  return mafat_frames_waiting(&video.frames, was_there ? MOMENT_MS : 0);
}

static int read_frame(struct mafat_session *s, unsigned char **frame, size_t *n, long long *dropped)
{
  const double most_ms = 1000; /* else a writer faster than this reader would starve the runs */
  double began = mafat_session_now_ms();
  *frame = mafat_model_frame_room(s->model);
  *dropped = 0;
  for (;;) {
    bool was_there = s->options.live && mafat_frames_waiting(&video.frames, 0);
    size_t more;
    int code = mafat_frames_next(&video.frames, *frame, &more, &stop, &s->d);
    if (more) *n = more; /* at the end the last frame is still in the buffer */
    if (code || !more || !s->options.live || mafat_session_now_ms() - began > most_ms ||
        !is_late(was_there)) {
      if (!more && *n) --*dropped;
      return code;
    }
    ++*dropped;
  }
}

static int next_frame(struct mafat_session *s, unsigned char **frame, size_t *n,
                      struct mafat_frame_report *f)
{
  double before = mafat_session_now_ms();
  *n = 0;
  int code = s->options.camera ? mafat_camera_next(&video.camera, frame, n, s->options.live,
                                                   &f->dropped, &stop, &s->d)
                               : read_frame(s, frame, n, &f->dropped);
  video.ready_ms = mafat_session_now_ms();
  f->wait_ms = video.ready_ms - before;
  return code;
}

/* Prints the results of a frame and writes the overlaid frame. Returns an exit status. */
static int report_frame(struct mafat_session *s, const struct mafat_overlay_frame *frame,
                        struct mafat_frame_report *f, const struct mafat_run_facts *run)
{
  struct mafat_detections *detections = NULL;
  struct mafat_class_score top[MAFAT_SESSION_CLASSES];
  struct mafat_model_facts model = {.size = sizeof model};
  struct mafat_run_report r;
  mafat_model_describe(s->model, &model);
  mafat_run_report_defaults(&r);
  r.kind = model.kind;
  r.names = s->names;
  r.image_ms = run->image_ms;
  r.layers_ms = run->layers_ms;
  int code = mafat_session_find_answers(s, &r, &detections, top),
      status = code == MAFAT_ELIMIT ? EXIT_DOES_NOT_FIT : EXIT_RUNNING;
  f->latency_ms = mafat_session_now_ms() - video.ready_ms;
  if (code == MAFAT_OK && (code = mafat_output_frame_json(&r, f, &s->out)))
    mafat_fail(&s->d, code, "cannot write to standard %s: %s",
               s->out.fd == STDERR_FILENO ? "error" : "output", strerror(s->out.error));
  if (code == MAFAT_OK && s->options.overlay)
    code = mafat_overlay_write(&video.overlay, s->model, frame, detections, &s->d);
  char name[40];
  snprintf(name, sizeof name, "frame %lld", f->frame);
  r.image = name;
  if (code == MAFAT_OK) mafat_report_left_out(s, &r);
  mafat_detections_close(&detections);
  return code ? status : 0;
}

/* Capacity of the buffer of the current frame, in bytes. */
static size_t frame_room(const struct mafat_session *s)
{
  if (!s->options.camera) return video.frames.frame_bytes;
  return video.camera.held < 0 ? 0 : video.camera.buffers[video.camera.held].bytes;
}

/* Reads and runs one frame. *over: no more frames, or none can be run. Returns an exit status. */
static int run_frame(struct mafat_session *s, bool *over)
{
  struct mafat_frame_report f = {.frame = video.all.n};
  struct mafat_run_facts run = {.size = sizeof run};
  unsigned char *frame;
  size_t n;
  video.at = video.all.n;
  int code = next_frame(s, &frame, &n, &f);
  video.all.dropped += f.dropped;
  *over = code || n == 0;
  if (code) return EXIT_INPUT;
  if (n == 0) return 0;
  if (video.all.n == 0) video.first_ms = video.ready_ms;
  code = mafat_model_run_frame(s->model, frame, n, &s->d);
  mafat_model_last_run(s->model, &run);
  video.all.n++;
  s->latencies_ms[0] = run.image_ms + run.layers_ms;
  int status =
      code && !run.input_failed ? EXIT_RUNNING
      : code                    ? mafat_session_exit_status(code)
             : report_frame(s, &(struct mafat_overlay_frame){frame, n, frame_room(s)}, &f, &run);
  video.busy_ms += mafat_session_now_ms() - video.ready_ms;
  *over = status && (code == MAFAT_OK ||
                     !run.input_failed); /* after a damaged JPEG the next frame may be good */
  return status;
}

/* ---- all frames ---- */

static int complain(struct mafat_session *s, int status)
{
  bool reported = !s->out.error;
  if (reported) mafat_output_frame_error_json(video.at, s->d.text, status, &s->out);
  mafat_session_complain(s->d.text);
  return status;
}

static int run_frames(struct mafat_session *s)
{
  int all = 0;
  for (bool over = false; !over && !stop;) {
    int status = run_frame(s, &over);
    if (status == 0) continue;
    video.all.failed += !over;
    all = status == EXIT_RUNNING || !all ? status : all;
    complain(s, status);
  }
  if (all || video.all.n || stop) return all;
  mafat_fail(&s->d, MAFAT_EFORMAT, "standard input: expected frames of %s, found none", s->frames);
  mafat_session_complain(s->d.text);
  return EXIT_INPUT;
}

static void note(const struct mafat_session *s, const struct mafat_run_report *r)
{
  char text[256], resident[MAFAT_OUTPUT_RESIDENT];
  const struct mafat_video_report *v = &video.all;
  snprintf(
      text, sizeof text,
      "%lld frames in %.1f s, %lld dropped; %.2f ms each; resident %s, predicted %.1f MiB",
      v->n, v->seconds, v->dropped, v->frame_ms, mafat_output_resident(r, resident),
      (double)r->predicted_resident_bytes / 1048576);
  if (!s->options.quiet) mafat_session_complain(text);
}

/* Reports on all frames. Returns an exit status. */
static int report(struct mafat_session *s, const struct mafat_process_facts *before)
{
  struct mafat_session_times times = {0};
  struct mafat_run_report r;
  if (video.all.n == 0) return 0;
  mafat_session_trim_heap();
  mafat_session_fill_report(s, NULL, &times, before, &r);
  video.all.frames = s->frames;
  video.all.seconds = (mafat_session_now_ms() - video.first_ms) / 1e3;
  video.all.frame_ms = video.busy_ms / (double)video.all.n;
  if (s->options.report && mafat_output_video_json(&r, &video.all, &s->out)) return EXIT_RUNNING;
  note(s, &r);
  mafat_report_check(s, &r);
  mafat_session_report_fork(s, r.fork_sign);
  mafat_session_report_decode(s, r.decode, r.decode_sign, &r.picture);
  return 0;
}

int mafat_session_run_video(struct mafat_session *s)
{
  struct mafat_process_facts before = {.size = sizeof before};
  int code = open_overlay(s);
  if (code == MAFAT_OK && s->options.camera) code = mafat_camera_start(&video.camera, &s->d);
  if (code) {
    mafat_session_complain(s->d.text);
    return code == MAFAT_EINVAL ? EXIT_INPUT : EXIT_RUNNING;
  }
  catch_signals();
  mafat_session_make_room(s);
  mafat_process_measure(&before);
  int status = run_frames(s), said = report(s, &before);
  end_by_signal();
  return status ? status : said;
}
