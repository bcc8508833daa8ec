/* mafat for C++11 and later: objects close themselves, errors are exceptions. Header only, over the
 * C functions.
 *
 * Each object's get() returns the C library's object, for functions without a method here. Objects
 * are movable and not copyable. mafat.h describes thread safety. */
#ifndef MAFAT_HPP
#define MAFAT_HPP

#include "mafat.h"
#include "mafat_file.h"
#include "mafat_pack.h"
#include "mafat_plan.h"
#include "mafat_video.h"

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace mafat {

/* what() is the library's message, code() an error of mafat.h. */
class error : public std::runtime_error {
public:
  error(int code, const char *text) : std::runtime_error(text), code_(code) {}
  int code() const noexcept { return code_; }
  const char *name() const noexcept { return mafat_error_name(code_); }

private:
  int code_;
};

/* A diagnostic; check() throws it as an error. */
class diagnostic {
public:
  diagnostic() { d_.text[0] = '\0'; }
  operator mafat_diagnostic *() noexcept { return &d_; }
  void check(int code) const
  {
    if (code != MAFAT_OK) throw error(code, d_.text[0] ? d_.text : mafat_error_name(code));
  }

private:
  mafat_diagnostic d_;
};

template <class T, void (*close)(T **)> struct closer {
  void operator()(T *opened) const noexcept { close(&opened); }
};

template <class T, void (*close)(T **)> using handle = std::unique_ptr<T, closer<T, close>>;

/* A struct of the C library with its size set, otherwise all zeros. */
template <class T> T sized()
{
  T made = T();
  made.size = sizeof made;
  return made;
}

/* Options, initialized with defaults. */
struct options : mafat_model_options {
  options() : mafat_model_options(sized<mafat_model_options>()) {}
};

/* Describes video frames by the value of options.frames. */
inline mafat_frame_facts frame_facts(const char *frames)
{
  diagnostic d;
  mafat_frame_facts f = sized<mafat_frame_facts>();
  d.check(mafat_frame_describe(frames, &f, d));
  return f;
}

/* Memory shared by models that run one after the other: options.arena = arena.get(). */
class arena {
public:
  arena()
  {
    diagnostic d;
    mafat_arena *opened;
    d.check(mafat_arena_open(&opened, d));
    handle_.reset(opened);
  }
  mafat_arena *get() const noexcept { return handle_.get(); }

private:
  handle<mafat_arena, mafat_arena_close> handle_;
};

/* Boxes, most confident first: for (const mafat_detection &box : boxes). */
class detections {
public:
  explicit detections(mafat_detections *found) noexcept : handle_(found) {}
  const mafat_detection *begin() const noexcept { return handle_->list; }
  const mafat_detection *end() const noexcept { return handle_->list + handle_->n; }
  std::size_t size() const noexcept { return handle_->n; }
  bool empty() const noexcept { return handle_->n == 0; }
  const mafat_detection &operator[](std::size_t index) const noexcept
  {
    return handle_->list[index];
  }
  mafat_detections *get() const noexcept { return handle_.get(); }

private:
  handle<mafat_detections, mafat_detections_close> handle_;
};

/* An open model file, or one in memory (mafat_file.h). The caller keeps both. */
inline mafat_file open_file(int fd, const char *name = nullptr) noexcept
{
  mafat_file f = sized<mafat_file>();
  f.path = name;
  f.has_fd = true;
  f.fd = fd;
  return f;
}
inline mafat_file memory_file(const void *data, std::size_t bytes) noexcept
{
  mafat_file f = sized<mafat_file>();
  f.data = data;
  f.bytes = bytes;
  return f;
}

class model {
public:
  /* Without weights: for files that hold their own (ONNX, TFLite, packed). */
  explicit model(const std::string &path, const options &with = options())
  {
    open(path.c_str(), nullptr, with);
  }
  model(const std::string &cfg, const std::string &weights, const options &with = options())
  {
    open(cfg.c_str(), weights.c_str(), with);
  }
  explicit model(const mafat_file &file, const options &with = options())
  {
    open(file, nullptr, with);
  }
  model(const mafat_file &cfg, const mafat_file &weights, const options &with = options())
  {
    open(cfg, &weights, with);
  }

  void run_picture(const std::string &path) { call(mafat_model_run_picture, path.c_str()); }
  /* stride 0: rows are contiguous. */
  void run_pixels(const unsigned char *pixels, int w, int h, int channels, std::size_t stride = 0)
  {
    if (!stride) stride = static_cast<std::size_t>(w) * static_cast<std::size_t>(channels);
    call(mafat_model_run_pixels, pixels, w, h, channels, stride);
  }
  /* Video frames: see mafat_video.h. */
  unsigned char *frame_room() { return mafat_model_frame_room(get()); }
  void run_frame(const unsigned char *frame, std::size_t bytes)
  {
    call(mafat_model_run_frame, frame, bytes);
  }
  void run_frame_of(const std::string &frames, const unsigned char *frame, std::size_t bytes)
  {
    call(mafat_model_run_frame_of, frames.c_str(), frame, bytes);
  }
  void frame_rows(const unsigned char *frame, std::size_t bytes,
                  int (*row)(void *, unsigned char *, int, mafat_diagnostic *), void *context)
  {
    call(mafat_model_frame_rows, frame, bytes, row, context);
  }
  void run(const std::vector<float> &input)
  {
    call(mafat_model_run_floats, input.data(), input.size());
  }
  /* The vector must stay valid until the run. */
  void set_input(const std::string &name, const std::vector<float> &floats)
  {
    call(mafat_model_set_input, name.c_str(), floats.data(), floats.size());
  }
  void set_input(const std::string &, std::vector<float> &&) = delete;
  void run() { call(mafat_model_run_inputs); }
  void rest() noexcept { mafat_model_rest(get()); }
  /* May be called from another thread: the current run throws an error of MAFAT_ECANCELED. */
  void cancel() noexcept { mafat_model_cancel(get()); }

  detections detect(float thresh = 0.5f, float nms = 0.45f) const
  {
    diagnostic d;
    mafat_detections *found;
    d.check(mafat_model_detect(get(), thresh, nms, &found, d));
    return detections(found);
  }
  std::vector<mafat_class_score> classify(int k = 5) const
  {
    diagnostic d;
    std::vector<mafat_class_score> top(static_cast<std::size_t>(k > 0 ? k : 0));
    int n;
    d.check(mafat_model_classify(get(), top.data(), k, &n, d));
    top.resize(static_cast<std::size_t>(n));
    return top;
  }
  /* Row-major by the port's dimensions. */
  std::vector<float> output(const mafat_port_facts &port) const
  {
    diagnostic d;
    std::vector<float> floats(port.n);
    d.check(mafat_model_read_output(get(), port.name, floats.data(), floats.size(), d));
    return floats;
  }

  std::vector<mafat_port_facts> inputs() const
  {
    return list(facts().n_inputs, mafat_model_describe_input);
  }
  std::vector<mafat_port_facts> outputs() const
  {
    return list(facts().n_outputs, mafat_model_describe_output);
  }
  mafat_model_facts facts() const
  {
    mafat_model_facts f = sized<mafat_model_facts>();
    mafat_model_describe(get(), &f);
    return f;
  }
  mafat_plan_facts plan_facts() const
  {
    mafat_plan_facts f = sized<mafat_plan_facts>();
    mafat_model_describe_plan(get(), &f);
    return f;
  }
  mafat_run_facts last_run() const
  {
    mafat_run_facts f = sized<mafat_run_facts>();
    mafat_model_last_run(get(), &f);
    return f;
  }
  const char *plan() const noexcept { return mafat_model_plan(get()); }
  std::size_t charge_bytes() const noexcept { return mafat_model_charge_bytes(get()); }

  mafat_model *get() const noexcept { return handle_.get(); }

private:
  handle<mafat_model, mafat_model_close> handle_;

  void open(const char *cfg, const char *weights, const options &with)
  {
    diagnostic d;
    mafat_model *opened;
    d.check(mafat_model_open(&opened, cfg, weights, &with, d));
    handle_.reset(opened);
  }
  void open(const mafat_file &file, const mafat_file *weights, const options &with)
  {
    diagnostic d;
    mafat_model *opened;
    d.check(mafat_model_open_files(&opened, &file, weights, &with, d));
    handle_.reset(opened);
  }
  template <class Function, class... Arguments>
  void call(Function *function, Arguments... arguments)
  {
    diagnostic d;
    d.check(function(get(), arguments..., d));
  }
  template <class Function> std::vector<mafat_port_facts> list(int n, Function *describe) const
  {
    std::vector<mafat_port_facts> ports(static_cast<std::size_t>(n), sized<mafat_port_facts>());
    for (int i = 0; i < n; i++) describe(get(), i, &ports[static_cast<std::size_t>(i)]);
    return ports;
  }
};

/* Dry run: plans and their cost, without running. */
class dry_run {
public:
  /* Without weights: Darknet's are assumed. */
  explicit dry_run(const std::string &path, const options &with = options())
  {
    open(path.c_str(), nullptr, with);
  }
  dry_run(const std::string &cfg, const std::string &weights, const options &with = options())
  {
    open(cfg.c_str(), weights.c_str(), with);
  }
  explicit dry_run(const mafat_file &file, const options &with = options())
  {
    open(file, nullptr, with);
  }
  dry_run(const mafat_file &cfg, const mafat_file &weights, const options &with = options())
  {
    open(cfg, &weights, with);
  }

  /* Calls use(plan facts) for a budget; 0: the options'. Its texts are valid until it returns. */
  template <class Use> void report(std::size_t budget_bytes, Use use) const
  {
    diagnostic d;
    mafat_plan_report *found;
    d.check(mafat_dry_run_report(&found, get(), budget_bytes, d));
    const handle<mafat_plan_report, mafat_plan_report_close> closed(found);
    mafat_plan_facts f = sized<mafat_plan_facts>();
    mafat_plan_report_describe(found, &f);
    use(f);
  }
  mafat_dry_run_facts facts() const
  {
    mafat_dry_run_facts f = sized<mafat_dry_run_facts>();
    mafat_dry_run_describe(get(), &f);
    return f;
  }
  /* By rising bytes and falling milliseconds. */
  std::vector<mafat_front_facts> front() const
  {
    std::vector<mafat_front_facts> plans(static_cast<std::size_t>(facts().n_front),
                                         sized<mafat_front_facts>());
    for (std::size_t i = 0; i < plans.size(); i++)
      mafat_dry_run_front(get(), static_cast<int>(i), &plans[i]);
    return plans;
  }

  mafat_dry_run *get() const noexcept { return handle_.get(); }

private:
  handle<mafat_dry_run, mafat_dry_run_close> handle_;

  void open(const char *cfg, const char *weights, const options &with)
  {
    diagnostic d;
    mafat_dry_run *opened;
    d.check(mafat_dry_run_open(&opened, cfg, weights, &with, d));
    handle_.reset(opened);
  }
  void open(const mafat_file &file, const mafat_file *weights, const options &with)
  {
    diagnostic d;
    mafat_dry_run *opened;
    d.check(mafat_dry_run_open_files(&opened, &file, weights, &with, d));
    handle_.reset(opened);
  }
};

struct pack_options : mafat_pack_options {
  pack_options() : mafat_pack_options(sized<mafat_pack_options>()) {}
};

/* A packed file being written. If destroyed before step() returns true, it removes the file. Paths
 * and options must outlive it. */
class pack {
public:
  /* weights NULL: model is an ONNX or TFLite file. */
  pack(const char *model, const char *weights, const char *out, const pack_options &with)
  {
    diagnostic d;
    mafat_pack *opened;
    d.check(mafat_pack_open(&opened, model, weights, out, &with, d));
    handle_.reset(opened);
  }
  /* True: done. */
  bool step()
  {
    diagnostic d;
    bool done;
    d.check(mafat_pack_step(get(), &done, d));
    return done;
  }
  mafat_pack_facts facts() const
  {
    mafat_pack_facts f = sized<mafat_pack_facts>();
    mafat_pack_describe(get(), &f);
    return f;
  }

  mafat_pack *get() const noexcept { return handle_.get(); }

private:
  handle<mafat_pack, mafat_pack_close> handle_;
};

} // namespace mafat

#endif
