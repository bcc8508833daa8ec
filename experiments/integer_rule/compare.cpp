// Compares tests/kernels/integer_rule.c with tflite-micro's reference kernels, bit for bit, on
// random and extreme values. Prints a line for each operator: values compared, values that differ.
// run.sh builds it with a source tree of tflite-micro.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "tensorflow/lite/kernels/internal/quantization_util.h"
#include "tensorflow/lite/kernels/internal/reference/add.h"
#include "tensorflow/lite/kernels/internal/reference/concatenation.h"
#include "tensorflow/lite/kernels/internal/reference/conv.h"
#include "tensorflow/lite/kernels/internal/reference/depthwiseconv_uint8.h"
#include "tensorflow/lite/kernels/internal/reference/dequantize.h"
#include "tensorflow/lite/kernels/internal/reference/fully_connected.h"
#include "tensorflow/lite/kernels/internal/reference/hard_swish.h"
#include "tensorflow/lite/kernels/internal/reference/integer_ops/add.h"
#include "tensorflow/lite/kernels/internal/reference/integer_ops/conv.h"
#include "tensorflow/lite/kernels/internal/reference/integer_ops/depthwise_conv.h"
#include "tensorflow/lite/kernels/internal/reference/integer_ops/fully_connected.h"
#include "tensorflow/lite/kernels/internal/reference/integer_ops/logistic.h"
#include "tensorflow/lite/kernels/internal/reference/integer_ops/mul.h"
#include "tensorflow/lite/kernels/internal/reference/integer_ops/pooling.h"
#include "tensorflow/lite/kernels/internal/reference/integer_ops/tanh.h"
#include "tensorflow/lite/kernels/internal/reference/leaky_relu.h"
#include "tensorflow/lite/kernels/internal/reference/mul.h"
#include "tensorflow/lite/kernels/internal/reference/pooling.h"
#include "tensorflow/lite/kernels/internal/reference/prelu.h"
#include "tensorflow/lite/kernels/internal/reference/quantize.h"
#include "tensorflow/lite/kernels/internal/reference/reduce.h"
#include "tensorflow/lite/kernels/internal/reference/requantize.h"
#include "tensorflow/lite/kernels/internal/reference/resize_bilinear.h"
#include "tensorflow/lite/kernels/internal/reference/resize_nearest_neighbor.h"
#include "tensorflow/lite/kernels/internal/reference/softmax.h"
#include "tensorflow/lite/kernels/internal/reference/sub.h"
extern "C" {
#include "tests/kernels/integer_rule.h"
}

using tflite::RuntimeShape;

static RuntimeShape dims(std::vector<int32_t> d) { return RuntimeShape((int)d.size(), d.data()); }

// ---- random numbers ----

static uint64_t state;

static uint32_t bits()
{
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return (uint32_t)((state * 0x2545f4914f6cdd1du) >> 32);
}
static int in(int least, int most) { return least + (int)(bits() % (uint32_t)(most - least + 1)); }
static bool one_in(int n) { return in(1, n) == 1; }

template <typename T>
static int element()
{
  const int least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  return one_in(8) ? (one_in(2) ? least : most) : in(least, most);
}
static int32_t word()
{
  switch (in(0, 3)) {
  case 0: return (int32_t)bits();
  case 1: return in(-300, 300);
  case 2:
    return (one_in(2) ? INT32_MAX : INT32_MIN) +
           (one_in(2) ? in(0, 40) : -in(0, 40)) * (one_in(2) ? 0 : 1);
  default: return (int32_t)((bits() & 7) - 3) << in(0, 28);
  }
}
static mafat_rule_scale factor(int least, int most)
{
  if (one_in(16)) return {0, 0};
  int32_t m = one_in(6) ? 1 << 30 : one_in(5) ? INT32_MAX : in(1 << 30, INT32_MAX);
  return {m, in(least, most)};
}
static float real(float least, float most)
{
  return least * std::pow(most / least, (float)bits() / 4294967296.0f);
}

// ---- counting ----

struct count {
  long n = 0, differ = 0;
};
static count now;

static void same(double found, double wanted, const char *what)
{
  now.n++;
  if (found == wanted) return;
  if (now.differ++ < 3) std::printf("%s: the rule %.9g, tflite-micro %.9g\n", what, found, wanted);
}

template <typename T>
struct map {
  int h, w, c;
  std::vector<T> q;
  std::vector<int16_t> wide;
  map(int h_, int w_, int c_) : h(h_), w(w_), c(c_), q((size_t)(h_ * w_ * c_)), wide(q.size())
  {
    for (size_t i = 0; i < q.size(); i++) wide[i] = q[i] = (T)element<T>();
  }
  RuntimeShape shape() const { return dims({1, h, w, c}); }
  mafat_rule_map rule(int zero) const { return {wide.data(), h, w, c, zero}; }
};

template <typename T>
static mafat_rule_output output()
{
  int a = element<T>(), b = element<T>();
  mafat_rule_output out = {element<T>(), std::numeric_limits<T>::min(),
                           std::numeric_limits<T>::max()};
  if (one_in(3)) out.least = std::min(a, b), out.most = std::max(a, b);
  return out;
}
template <typename T>
static mafat_rule_output whole(int zero)
{
  return {zero, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
}

// ---- operators ----

static void requantisation()
{
  int32_t x = word(), m = one_in(2) ? word() : in(1 << 30, INT32_MAX);
  same(mafat_rule_double_high(x, m), gemmlowp::SaturatingRoundingDoublingHighMul(x, m),
       "double_high");
  int e = in(0, 31);
  same(mafat_rule_divide(x, e), gemmlowp::RoundingDivideByPOT(x, e), "divide");
  mafat_rule_scale s = factor(-31, 30);
  if (s.shift > 0) x >>= s.shift;
  same(mafat_rule_rescale(x, s), tflite::MultiplyByQuantizedMultiplier(x, s.multiplier, s.shift),
       "rescale");
  int16_t a = (int16_t)bits(), b = (int16_t)bits();
  same(mafat_rule_double_high_16(a, b), gemmlowp::SaturatingRoundingDoublingHighMul(a, b),
       "double_high_16");
  double r = std::ldexp((double)bits() / 4294967296.0, in(-40, 20));
  if (one_in(50)) r = std::ldexp(1, in(-33, 20)) * (1 - std::ldexp(1, -34));
  mafat_rule_scale of = mafat_rule_scale_of(r);
  int32_t multiplier;
  int shift;
  tflite::QuantizeMultiplier(r, &multiplier, &shift);
  same(of.multiplier, multiplier, "scale_of: multiplier");
  same(of.shift, shift, "scale_of: shift");
}

struct shape {
  mafat_rule_window w;
  int out_h, out_w;
};
static shape window(int h, int wd, bool pool)
{
  shape s;
  s.w = {in(1, 5), in(1, 5), in(1, 3), in(1, 3), 1, 1, 0, 0};
  if (!pool) s.w.dilation_y = in(1, 2), s.w.dilation_x = in(1, 2);
  s.w.pad_y = in(0, s.w.size_y - 1);
  s.w.pad_x = in(0, s.w.size_x - 1);
  s.out_h = (h - 1) / s.w.stride_y + 1;
  s.out_w = (wd - 1) / s.w.stride_x + 1;
  return s;
}
template <typename P>
static void window_of(P &p, const mafat_rule_window &w)
{
  p.stride_height = (decltype(p.stride_height))w.stride_y;
  p.stride_width = (decltype(p.stride_width))w.stride_x;
  p.padding_values.height = (int16_t)w.pad_y;
  p.padding_values.width = (int16_t)w.pad_x;
}
template <typename P>
static void finish_of(P &p, const mafat_rule_output &out)
{
  p.output_offset = out.zero;
  p.quantized_activation_min = out.least;
  p.quantized_activation_max = out.most;
}
static std::vector<int32_t> biases(int n)
{
  std::vector<int32_t> b((size_t)n);
  for (auto &x : b) x = one_in(4) ? (one_in(2) ? 2000000000 : -2000000000) : in(-100000, 100000);
  return b;
}
static std::vector<mafat_rule_scale> factors(int n)
{
  std::vector<mafat_rule_scale> s((size_t)n);
  for (auto &x : s) x = factor(-31, 0);
  return s;
}
template <typename P>
static void factor_of(P &p, const mafat_rule_scale &f)
{
  p.output_multiplier = f.multiplier;
  p.output_shift = f.shift;
}
template <typename P>
static P sums_of(const mafat_rule_window &w, int zero, int weights_zero,
                 const mafat_rule_output &out)
{
  P p = {};
  window_of(p, w);
  finish_of(p, out);
  p.dilation_height_factor = (int16_t)w.dilation_y;
  p.dilation_width_factor = (int16_t)w.dilation_x;
  p.input_offset = -zero;
  p.weights_offset = -weights_zero;
  return p;
}

// Factors of each filter, also in tflite-micro's form.
struct filter_factors {
  std::vector<mafat_rule_scale> all;
  std::vector<int32_t> multipliers, shifts;
  explicit filter_factors(int n) : all(factors(n))
  {
    for (auto &f : all) multipliers.push_back(f.multiplier), shifts.push_back(f.shift);
  }
};

// Compares the rule's outputs, each scaled by its filter's factor or a common one.
template <typename T, typename Call>
static void same_sums(const std::vector<T> &y, const shape &s, const Call &call,
                      int32_t (*sum)(const Call *, int, int, int), int filters,
                      const std::vector<mafat_rule_scale> &f, const mafat_rule_output &out,
                      const char *what)
{
  for (int i = 0; i < (int)y.size(); i++) {
    int k = i % filters;
    int32_t of = sum(&call, i / filters / s.out_w, i / filters % s.out_w, k);
    same(mafat_rule_finish(of, f[f.size() > 1 ? (size_t)k : 0], out), y[(size_t)i], what);
  }
}

static void conv()
{
  map<int8_t> m(in(1, 7), in(1, 7), in(1, 12));
  int groups = one_in(3) ? m.c : 1, filters = groups * in(1, 4);
  shape s = window(m.h, m.w, false);
  map<int8_t> w(s.w.size_y, s.w.size_x, filters * (m.c / groups));
  std::vector<int32_t> bias = biases(filters);
  filter_factors f(filters);
  mafat_rule_output out = output<int8_t>();
  int zero = element<int8_t>();
  auto p = sums_of<tflite::ConvParams>(s.w, zero, 0, out);
  std::vector<int8_t> y((size_t)(s.out_h * s.out_w * filters));
  tflite::reference_integer_ops::ConvPerChannel(
      p, f.multipliers.data(), f.shifts.data(), m.shape(), m.q.data(),
      dims({filters, s.w.size_y, s.w.size_x, m.c / groups}), w.q.data(), dims({filters}),
      bias.data(), dims({1, s.out_h, s.out_w, filters}), y.data());
  struct mafat_rule_conv c = {m.rule(zero), s.w, w.wide.data(), bias.data(), 0, filters, groups};
  same_sums(y, s, c, mafat_rule_conv, filters, f.all, out, "conv");
}

static void conv_uint8()
{
  map<uint8_t> m(in(1, 7), in(1, 7), in(1, 12));
  int filters = in(1, 6), zero = element<uint8_t>(), weights_zero = element<uint8_t>();
  shape s = window(m.h, m.w, false);
  map<uint8_t> w(s.w.size_y, s.w.size_x, filters * m.c);
  std::vector<int32_t> bias = biases(filters);
  mafat_rule_scale f = factor(-31, 0);
  mafat_rule_output out = output<uint8_t>();
  auto p = sums_of<tflite::ConvParams>(s.w, zero, weights_zero, out);
  factor_of(p, f);
  std::vector<uint8_t> y((size_t)(s.out_h * s.out_w * filters));
  tflite::reference_ops::Conv(p, m.shape(), m.q.data(),
                              dims({filters, s.w.size_y, s.w.size_x, m.c}), w.q.data(),
                              dims({filters}), bias.data(), dims({1, s.out_h, s.out_w, filters}),
                              y.data(), RuntimeShape(), nullptr, nullptr);
  struct mafat_rule_conv c = {m.rule(zero), s.w, w.wide.data(), bias.data(), weights_zero,
                              filters,      1};
  same_sums(y, s, c, mafat_rule_conv, filters, {f}, out, "conv uint8");
}

static void depthwise()
{
  map<int8_t> m(in(1, 7), in(1, 7), in(1, 9));
  int multiplier = in(1, 3), filters = m.c * multiplier, zero = element<int8_t>();
  shape s = window(m.h, m.w, false);
  map<int8_t> w(s.w.size_y, s.w.size_x, filters);
  std::vector<int32_t> bias = biases(filters);
  filter_factors f(filters);
  mafat_rule_output out = output<int8_t>();
  auto p = sums_of<tflite::DepthwiseParams>(s.w, zero, 0, out);
  p.depth_multiplier = (int16_t)multiplier;
  std::vector<int8_t> y((size_t)(s.out_h * s.out_w * filters));
  tflite::reference_integer_ops::DepthwiseConvPerChannel(
      p, f.multipliers.data(), f.shifts.data(), m.shape(), m.q.data(), w.shape(), w.q.data(),
      dims({filters}), bias.data(), dims({1, s.out_h, s.out_w, filters}), y.data());
  struct mafat_rule_depthwise c = {m.rule(zero), s.w, w.wide.data(), bias.data(), 0, multiplier};
  same_sums(y, s, c, mafat_rule_depthwise, filters, f.all, out, "depthwise");
}

static void depthwise_uint8()
{
  map<uint8_t> m(in(1, 7), in(1, 7), in(1, 9));
  int multiplier = in(1, 3), filters = m.c * multiplier, zero = element<uint8_t>(),
      weights_zero = element<uint8_t>();
  shape s = window(m.h, m.w, false);
  map<uint8_t> w(s.w.size_y, s.w.size_x, filters);
  std::vector<int32_t> bias = biases(filters);
  mafat_rule_scale f = factor(-31, 0);
  mafat_rule_output out = output<uint8_t>();
  auto p = sums_of<tflite::DepthwiseParams>(s.w, zero, weights_zero, out);
  p.depth_multiplier = (int16_t)multiplier;
  factor_of(p, f);
  std::vector<uint8_t> y((size_t)(s.out_h * s.out_w * filters));
  tflite::reference_ops::DepthwiseConv(p, m.shape(), m.q.data(), w.shape(), w.q.data(),
                                       dims({filters}), bias.data(),
                                       dims({1, s.out_h, s.out_w, filters}), y.data());
  struct mafat_rule_depthwise c = {m.rule(zero), s.w,          w.wide.data(),
                                   bias.data(),  weights_zero, multiplier};
  same_sums(y, s, c, mafat_rule_depthwise, filters, {f}, out, "depthwise uint8");
}

template <typename T>
static void dense()
{
  const int n = in(1, 80), filters = in(1, 8), zero = element<T>(),
            weights_zero = one_in(2) ? 0 : element<T>();
  map<T> x(1, 1, n), w(1, 1, n * filters);
  std::vector<int32_t> bias = biases(filters);
  mafat_rule_scale f = factor(-31, 0);
  mafat_rule_output out = output<T>();
  tflite::FullyConnectedParams p = {};
  finish_of(p, out);
  p.input_offset = -zero;
  p.weights_offset = -weights_zero;
  factor_of(p, f);
  std::vector<T> y((size_t)filters);
  if constexpr (std::is_same<T, uint8_t>::value)
    tflite::reference_ops::FullyConnected(p, dims({1, n}), x.q.data(), dims({filters, n}),
                                          w.q.data(), dims({filters}), bias.data(),
                                          dims({1, filters}), y.data());
  else
    tflite::reference_integer_ops::FullyConnected<int8_t, int8_t, int8_t, int32_t>(
        p, dims({1, n}), x.q.data(), dims({filters, n}), w.q.data(), dims({filters}), bias.data(),
        dims({1, filters}), y.data());
  struct mafat_rule_conv c = {
      x.rule(zero), {1, 1, 1, 1, 1, 1, 0, 0}, w.wide.data(), bias.data(), weights_zero, filters, 1};
  for (int i = 0; i < filters; i++)
    same(mafat_rule_finish(mafat_rule_conv(&c, 0, 0, i), f, out), y[(size_t)i], "dense");
}

template <typename T>
static void pools()
{
  map<T> m(in(1, 9), in(1, 9), in(1, 5));
  shape s = window(m.h, m.w, true);
  mafat_rule_output out = output<T>();
  tflite::PoolParams p = {};
  window_of(p, s.w);
  p.filter_height = s.w.size_y;
  p.filter_width = s.w.size_x;
  p.quantized_activation_min = out.least;
  p.quantized_activation_max = out.most;
  RuntimeShape to = dims({1, s.out_h, s.out_w, m.c});
  std::vector<T> most((size_t)to.FlatSize()), average(most.size());
  // Every window has a tap inside the map.
  if ((s.out_h - 1) * s.w.stride_y - s.w.pad_y >= m.h ||
      (s.out_w - 1) * s.w.stride_x - s.w.pad_x >= m.w)
    return;
  if constexpr (std::is_same<T, uint8_t>::value) {
    tflite::reference_ops::MaxPool(p, m.shape(), m.q.data(), to, most.data());
    tflite::reference_ops::AveragePool(p, m.shape(), m.q.data(), to, average.data());
  } else {
    tflite::reference_integer_ops::MaxPool(p, m.shape(), m.q.data(), to, most.data());
    tflite::reference_integer_ops::AveragePool(p, m.shape(), m.q.data(), to, average.data());
  }
  mafat_rule_map r = m.rule(0);
  for (int i = 0; i < (int)most.size(); i++) {
    int y = i / m.c / s.out_w, x = i / m.c % s.out_w;
    same(mafat_rule_maxpool(&r, &s.w, y, x, i % m.c, out), most[(size_t)i], "maxpool");
    same(mafat_rule_avgpool(&r, &s.w, y, x, i % m.c, out), average[(size_t)i], "avgpool");
  }
}

template <typename T>
static void mean()
{
  map<T> m(in(1, 9), in(1, 9), in(1, 5));
  int zero = element<T>(), axis[2] = {1, 2}, index[4], resolved[2], dims[4] = {1, m.h, m.w, m.c},
      out_dims[4] = {1, 1, 1, m.c};
  mafat_rule_scale f = mafat_rule_scale_of((double)real(1e-3f, 1e3f));
  mafat_rule_output out = whole<T>(element<T>());
  std::vector<T> y((size_t)m.c);
  std::vector<int32_t> sums((size_t)m.c);
  tflite::reference_ops::QuantizedMeanOrSum<T, int32_t>(m.q.data(), zero, dims, 4, y.data(),
                                                        f.multiplier, f.shift, out.zero, out_dims,
                                                        4, axis, 2, true, index, resolved,
                                                        sums.data(), false);
  for (int c = 0; c < m.c; c++) {
    int64_t sum = 0;
    for (int i = 0; i < m.h * m.w; i++) sum += m.q[(size_t)(i * m.c + c)];
    same(mafat_rule_mean(sum, m.h * m.w, zero, f, out), y[(size_t)c], "mean");
  }
}

template <typename T>
static void blends()
{
  const int n = 64;
  map<T> x(1, 1, n), z(1, 1, n);
  const float xs = real(1e-4f, 10), zs = real(1e-4f, 10), ys = real(2e-4f, 20);
  struct mafat_rule_add a = mafat_rule_add_of(xs, zs, ys);
  double twice = 2 * (double)std::max(xs, zs);
  tflite::ArithmeticParams p = {};
  int32_t m;
  tflite::QuantizeMultiplierSmallerThanOneExp((double)xs / twice, &p.input1_multiplier,
                                              &p.input1_shift);
  tflite::QuantizeMultiplierSmallerThanOneExp((double)zs / twice, &p.input2_multiplier,
                                              &p.input2_shift);
  double result = twice / ((1 << 20) * (double)ys);
  tflite::QuantizeMultiplierSmallerThanOneExp(result, &m, &p.output_shift);
  p.output_multiplier = m;
  p.left_shift = 20;
  a.x_zero = element<T>();
  a.z_zero = element<T>();
  // The limits of tflite-micro's own checks.
  if (a.x_zero == 255 || a.z_zero == 255) return;
  p.input1_offset = -a.x_zero;
  p.input2_offset = -a.z_zero;
  a.out = output<T>();
  finish_of(p, a.out);
  RuntimeShape s = dims({1, 1, 1, n});
  std::vector<T> y((size_t)n);
  if constexpr (std::is_same<T, uint8_t>::value)
    tflite::reference_ops::Add(p, s, x.q.data(), s, z.q.data(), s, y.data());
  else tflite::reference_integer_ops::Add(p, s, x.q.data(), s, z.q.data(), s, y.data());
  for (int i = 0; i < n; i++)
    same(mafat_rule_add(&a, x.q[(size_t)i], z.q[(size_t)i]), y[(size_t)i], "add");
  a.subtract = true;
  tflite::reference_ops::Sub(p, s, x.q.data(), s, z.q.data(), s, y.data());
  for (int i = 0; i < n; i++)
    same(mafat_rule_add(&a, x.q[(size_t)i], z.q[(size_t)i]), y[(size_t)i], "sub");
  mafat_rule_scale f = factor(-31, 10);
  factor_of(p, f);
  if constexpr (std::is_same<T, uint8_t>::value)
    tflite::reference_ops::Mul(p, s, x.q.data(), s, z.q.data(), s, y.data());
  else tflite::reference_integer_ops::Mul(p, s, x.q.data(), s, z.q.data(), s, y.data());
  for (int i = 0; i < n; i++)
    same(mafat_rule_multiply(x.q[(size_t)i], a.x_zero, z.q[(size_t)i], a.z_zero, f, a.out),
         y[(size_t)i], "mul");
}

template <typename T>
static void activations()
{
  const int n = 256, zero = element<T>(), out_zero = element<T>();
  const float scale = real(1e-4f, 4), out_scale = real(1e-4f, 4);
  map<T> x(1, 1, n);
  for (int i = 0; i < n; i++)
    x.wide[(size_t)i] = x.q[(size_t)i] = (T)(i + std::numeric_limits<T>::min());
  RuntimeShape s = dims({1, 1, 1, n});
  std::vector<T> y((size_t)n);
  mafat_rule_output all = whole<T>(out_zero);

  tflite::HardSwishParams h = {};
  float fine = (1.0f / 128.0f) * scale;
  int32_t fixed;
  h.input_zero_point = (int16_t)zero;
  h.output_zero_point = (int16_t)out_zero;
  tflite::QuantizeMultiplier((double)(fine / out_scale), &fixed, &h.output_multiplier_exponent);
  tflite::DownScaleInt32ToInt16Multiplier(fixed, &h.output_multiplier_fixedpoint_int16);
  tflite::QuantizeMultiplier((double)(fine / (3.0f / 32768.0f)), &fixed,
                             &h.reluish_multiplier_exponent);
  tflite::DownScaleInt32ToInt16Multiplier(fixed, &h.reluish_multiplier_fixedpoint_int16);
  // Divisions of 16 bits: by 2^16 and more they are not defined.
  if (h.output_multiplier_exponent <= 0 && h.output_multiplier_exponent > -16 &&
      h.reluish_multiplier_exponent > -16) {
    tflite::reference_ops::HardSwish<T>(h, s, x.q.data(), s, y.data());
    struct mafat_rule_hard_swish r = mafat_rule_hard_swish_of(scale, out_scale);
    r.zero = zero;
    r.out = all;
    for (int i = 0; i < n; i++)
      same(mafat_rule_hard_swish(&r, x.q[(size_t)i]), y[(size_t)i], "hard_swish");
  }

  tflite::LeakyReluParams l = {};
  double slope = (double)real(1e-3f, 2) * (one_in(4) ? -1 : 1);
  mafat_rule_scale positive = mafat_rule_scale_of((double)(scale / out_scale));
  mafat_rule_scale negative = mafat_rule_scale_of(std::fabs(slope) * (double)(scale / out_scale));
  if (slope < 0) negative.multiplier = -negative.multiplier;
  l.input_offset = zero;
  l.output_offset = out_zero;
  l.output_multiplier_alpha = negative.multiplier;
  l.output_shift_alpha = negative.shift;
  l.output_multiplier_identity = positive.multiplier;
  l.output_shift_identity = positive.shift;
  tflite::reference_ops::QuantizeLeakyRelu<T>(l, s, x.q.data(), s, y.data());
  for (int i = 0; i < n; i++)
    same(mafat_rule_leaky(x.q[(size_t)i], zero, positive, negative, all), y[(size_t)i], "leaky");

  map<T> alpha(1, 1, n);
  tflite::PreluParams q = {};
  q.input_offset = -zero;
  q.alpha_offset = -element<T>();
  q.output_offset = out_zero;
  negative = factor(-20, 0);
  q.output_multiplier_1 = positive.multiplier;
  q.output_shift_1 = positive.shift;
  q.output_multiplier_2 = negative.multiplier;
  q.output_shift_2 = negative.shift;
  tflite::reference_ops::Prelu<T>(q, s, x.q.data(), s, alpha.q.data(), s, y.data());
  for (int i = 0; i < n; i++)
    same(mafat_rule_prelu(x.q[(size_t)i], zero, alpha.q[(size_t)i], -q.alpha_offset, positive,
                          negative, all),
         y[(size_t)i], "prelu");

  tflite::reference_ops::Requantize(x.q.data(), n, positive.multiplier, positive.shift, zero,
                                    out_zero, y.data());
  for (int i = 0; i < n; i++)
    same(mafat_rule_requantise(x.q[(size_t)i], zero, positive, all), y[(size_t)i], "requantise");

  tflite::DequantizationParams d = {(double)scale, zero};
  std::vector<float> reals((size_t)n);
  tflite::reference_ops::Dequantize(d, s, x.q.data(), s, reals.data());
  for (int i = 0; i < n; i++)
    same(mafat_rule_dequantise(x.q[(size_t)i], scale, zero), reals[(size_t)i], "dequantise");

  tflite::QuantizationParams o = {};
  o.scale = (double)out_scale;
  o.zero_point = out_zero;
  for (int i = 0; i < n; i++)
    reals[(size_t)i] = one_in(4) ? ((float)in(-300, 300) + .5f) * out_scale
                                 : (float)(in(-20000, 20000)) * out_scale / 64;
  tflite::reference_ops::AffineQuantize(o, s, reals.data(), s, y.data());
  for (int i = 0; i < n; i++)
    same(mafat_rule_quantise(reals[(size_t)i], out_scale, all), y[(size_t)i], "quantise");
}

static void functions()
{
  const int n = 256, zero = element<int8_t>();
  const float scale = real(1e-5f, 8);
  map<int8_t> x(1, 1, n);
  for (int i = 0; i < n; i++) x.wide[(size_t)i] = x.q[(size_t)i] = (int8_t)(i - 128);
  RuntimeShape s = dims({1, 1, 1, n});
  std::vector<int8_t> y((size_t)n);
  int shift;
  double q = std::frexp((double)scale * (1 << 27), &shift);
  int32_t multiplier = (int32_t)tflite::TfLiteRound(q * (1ll << 31));
  int radius = tflite::CalculateInputRadius(4, shift, 31);
  tflite::reference_integer_ops::Logistic(zero, radius, multiplier, shift, n, x.q.data(), y.data());
  for (int i = 0; i < n; i++)
    same(mafat_rule_logistic(i - 128, zero, scale), y[(size_t)i], "logistic");
  tflite::reference_integer_ops::Tanh(zero, radius, multiplier, shift, s, x.q.data(), s, y.data());
  for (int i = 0; i < n; i++) same(mafat_rule_tanh(i - 128, zero, scale), y[(size_t)i], "tanh");
}

static void softmax()
{
  const int n = one_in(4) ? in(1, 511) : in(1, 100); // it refuses sums of 512 and more
  map<int8_t> x(1, 1, n);
  if (one_in(3))
    for (auto &q : x.q) q = (int8_t)in(100, 127);
  for (int i = 0; i < n; i++) x.wide[(size_t)i] = x.q[(size_t)i];
  const float scale = real(1e-4f, 4), beta = one_in(2) ? 1 : real(0.1f, 10);
  tflite::SoftmaxParams p = {};
  int left;
  tflite::PreprocessSoftmaxScaling((double)beta, (double)scale, 5, &p.input_multiplier, &left);
  if (left < 0) return; // below its own bounds
  p.input_left_shift = left;
  p.diff_min = (int)(-1.0 * tflite::CalculateInputRadius(5, left, 31));
  std::vector<int8_t> y((size_t)n);
  std::vector<int16_t> found((size_t)n);
  tflite::reference_ops::Softmax(p, x.shape(), x.q.data(), x.shape(), y.data());
  mafat_rule_softmax(x.wide.data(), found.data(), n, scale, beta);
  for (int i = 0; i < n; i++) same(found[(size_t)i], y[(size_t)i], "softmax");
}

static void joins()
{
  map<uint8_t> a(1, 1, 64), b(1, 1, 64);
  float scales[2] = {real(1e-3f, 4), real(1e-3f, 4)},
        out_scale = one_in(4) ? scales[0] : real(1e-3f, 4);
  int zeros[2] = {element<uint8_t>(), element<uint8_t>()},
      out_zero = one_in(2) ? zeros[0] : element<uint8_t>();
  tflite::ConcatenationParams p = {};
  int32_t z[2] = {zeros[0], zeros[1]};
  p.axis = 3;
  p.inputs_count = 2;
  p.input_zeropoint = z;
  p.input_scale = scales;
  p.output_zeropoint = out_zero;
  p.output_scale = out_scale;
  RuntimeShape s = dims({1, 1, 1, 64}), to = dims({1, 1, 1, 128});
  const RuntimeShape *shapes[2] = {&s, &s};
  const uint8_t *data[2] = {a.q.data(), b.q.data()};
  std::vector<uint8_t> y(128);
  tflite::reference_ops::ConcatenationWithScaling(p, shapes, data, to, y.data());
  for (int i = 0; i < 128; i++)
    same(mafat_rule_join(data[i / 64][i % 64], zeros[i / 64], scales[i / 64], out_zero, out_scale),
         y[(size_t)i], "join");
}

template <typename T>
static void resizes()
{
  map<T> m(in(1, 9), in(1, 9), in(1, 4));
  int grid = in(0, 2);
  int32_t size[2] = {in(1, 20), in(1, 20)};
  RuntimeShape of = dims({1, 1, 1, 2}), to = dims({1, size[0], size[1], m.c});
  std::vector<T> linear((size_t)to.FlatSize()), nearest(linear.size());
  tflite::ResizeBilinearParams p = {};
  p.align_corners = grid == MAFAT_RULE_CORNERS;
  p.half_pixel_centers = grid == MAFAT_RULE_CENTRES;
  const bool single = std::is_same<T, uint8_t>::value; // which TFLite resizes by floats
  if (single)
    tflite::reference_ops::ResizeBilinear(p, m.shape(), m.q.data(), of, size, to, linear.data());
  else
    tflite::reference_ops::ResizeBilinearInteger(p, m.shape(), m.q.data(), of, size, to,
                                                 linear.data());
  tflite::ResizeNearestNeighborParams q = {};
  q.align_corners = p.align_corners;
  q.half_pixel_centers = p.half_pixel_centers;
  tflite::reference_ops::ResizeNearestNeighbor(q, m.shape(), m.q.data(), dims({2}), size, to,
                                               nearest.data());
  mafat_rule_map r = m.rule(0);
  for (int i = 0; i < (int)linear.size(); i++) {
    int y = i / m.c / size[1], x = i / m.c % size[1], c = i % m.c;
    auto bilinear = single ? mafat_rule_bilinear_single : mafat_rule_bilinear;
    same(bilinear(&r, (mafat_rule_grid)grid, size[0], size[1], y, x, c), linear[(size_t)i],
         "bilinear");
    int ny = mafat_rule_nearest((mafat_rule_grid)grid, m.h, size[0], y);
    int nx = mafat_rule_nearest((mafat_rule_grid)grid, m.w, size[1], x);
    same(m.q[(size_t)((ny * m.w + nx) * m.c + c)], nearest[(size_t)i], "nearest");
  }
}

int main(int argc, char **argv)
{
  const struct {
    const char *name;
    void (*run)();
    int per_round;
  } operators[] = {
      {"requantisation", requantisation, 1000},
      {"conv int8", conv, 4},
      {"conv uint8", conv_uint8, 4},
      {"depthwise int8", depthwise, 4},
      {"depthwise uint8", depthwise_uint8, 4},
      {"dense int8", dense<int8_t>, 20},
      {"dense uint8", dense<uint8_t>, 20},
      {"pools int8", pools<int8_t>, 8},
      {"pools uint8", pools<uint8_t>, 8},
      {"mean int8", mean<int8_t>, 40},
      {"mean uint8", mean<uint8_t>, 40},
      {"add sub mul int8", blends<int8_t>, 10},
      {"add sub mul uint8", blends<uint8_t>, 10},
      {"activations int8", activations<int8_t>, 2},
      {"activations uint8", activations<uint8_t>, 2},
      {"logistic tanh int8", functions, 4},
      {"softmax int8", softmax, 4},
      {"join uint8", joins, 20},
      {"resize int8", resizes<int8_t>, 4},
      {"resize uint8", resizes<uint8_t>, 4},
  };
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
  long all = 0, differ = 0;
  for (const auto &o : operators) {
    now = {};
    state = 88172645463325252u;
    for (int i = 0; i < rounds * o.per_round; i++) o.run();
    std::printf("%-20s %10ld values, %ld differ\n", o.name, now.n, now.differ);
    all += now.n;
    differ += now.differ;
  }
  std::printf("%-20s %10ld values, %ld differ\n", "all", all, differ);
  return differ != 0;
}
