/* libmafat-darknet.so: replaces functions of Debian's libdarknet.so, in programs that are linked
 * with it (LD_PRELOAD, LD_LIBRARY_PATH) and in those that open it at run time (Python's ctypes).
 *
 * The dynamic linker finds the functions below first, for calls from the program and for calls
 * between files of Darknet's sources, such as that of load_network() (network.c) to the parser.
 * Calls within one file are direct, so each function has to be replaced itself. Functions that are
 * not here are Debian's.
 *
 * A program that opens the library by name searches that library alone, whatever is preloaded.
 * Therefore dlopen() is replaced, too. For Debian's library it opens the facade beside this file
 * (libdarknet.so), an empty library that depends on this one, then on Debian's. All other calls end
 * in a jump to the C library's dlopen(). It searches the caller's RUNPATH, and finds the caller by
 * the return address, which a jump does not change. */
#include "bridge.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
#include <sys/stat.h>

#define VISIBLE __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)
/* The function of that name that the caller would have called without this library. */
#define REAL(function) ((__typeof__(&(function)))find_real(#function, CALLER))

/* Darknet's functions that are not in its public header. */
network *make_network(int n);
void print_network(network *net);
layer make_convolutional_layer(int batch, int h, int w, int c, int n, int groups, int size,
                               int stride, int padding, ACTIVATION activation, int batch_normalize,
                               int binary, int xnor, int adam);
layer make_connected_layer(int batch, int inputs, int outputs, ACTIVATION activation,
                           int batch_normalize, int adam);
layer make_local_layer(int batch, int h, int w, int c, int n, int size, int stride, int pad,
                       ACTIVATION activation);
layer make_maxpool_layer(int batch, int h, int w, int c, int size, int stride, int padding);
layer make_route_layer(int batch, int n, int *input_layers, int *input_sizes);
layer make_shortcut_layer(int batch, int index, int w, int h, int c, int w2, int h2, int c2);

/* ---- libraries ---- */

static bool is_debian(const char *path)
{
  struct stat a, b;
  return stat(MAFAT_DARKNET_LIBRARY, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

typedef void *open_library(const char *, int);

static open_library *next_dlopen(void)
{
  static _Atomic(open_library *) found;
  open_library *f = atomic_load(&found);
  if (!f) {
    *(void **)&f = dlsym(RTLD_NEXT, "dlopen");
    /* the C library precedes this one in the search order */
    if (!f) *(void **)&f = dlsym(RTLD_DEFAULT, "dlopen");
    atomic_store(&found, f);
  }
  return f;
}

/* Handle of a library if it is loaded already, else NULL. The caller closes it. */
static void *loaded(const char *path)
{
  return next_dlopen()(path, RTLD_LAZY | RTLD_NOLOAD);
}

static void *symbol_in(const char *path, const char *name)
{
  void *handle = loaded(path);
  if (!handle) return NULL;
  void *found = dlsym(handle, name);
  dlclose(handle); /* the library stays: it was loaded before */
  return found;
}

/* If the caller is itself a Darknet library, the function of that same library; else NULL. */
static void *find_beside(const char *name, void *caller)
{
  Dl_info from, to, here;
  if (!dladdr(caller, &from) || !from.dli_fname) return NULL;
  if (!dladdr((void *)find_beside, &here) || from.dli_fbase == here.dli_fbase) return NULL;
  if (dladdr((void *)find_beside, &to) && to.dli_fbase == from.dli_fbase)
    return NULL; /* the caller is this library */
  void *found = symbol_in(from.dli_fname, name);
  return found && dladdr(found, &to) && to.dli_fbase == from.dli_fbase ? found : NULL;
}

static void *find_or_null(const char *name, void *caller)
{
  void *found = find_beside(name, caller);
  if (!found) found = dlsym(RTLD_NEXT, name);
  return found ? found
               : symbol_in(MAFAT_DARKNET_LIBRARY,
                           name); /* opened while the program runs: RTLD_NEXT does not find it */
}

static void *find_real(const char *name, void *caller)
{
  void *found = find_or_null(name, caller);
  if (!found) {
    fprintf(stderr, "mafat: expected a Darknet with %s(), found none\n", name);
    exit(2);
  }
  return found;
}

/* ---- which Darknet ---- */

/* True if `p` was allocated with about n bytes. malloc may leave a block slightly larger. */
static bool has_bytes(void *p, size_t n)
{
  void *ours = malloc(n);
  size_t theirs = malloc_usable_size(p), expected = malloc_usable_size(ours);
  free(ours);
  return theirs >= n && theirs <= expected + 2 * sizeof(void *);
}

/* True if the library's structs have the sizes of the header that this file was compiled with. A
 * build for GPUs has larger ones. */
static bool has_our_structs(network *(*make)(int))
{
  enum { N = 16 };
  network *net = make(N);
  if (!net || !has_bytes(net, sizeof *net)) return false;
  bool same = net->n == N && has_bytes(net->layers, N * sizeof(layer));
  if (!same) return false;
  free(net->layers);
  free(net->seen);
  free(net->t);
  free(net->cost);
  free(net);
  return true;
}

static void start_bridge(void)
{
  struct mafat_bridge_settings s = {.memory = getenv("MAFAT_MEMORY"),
                                    .memory_name = "MAFAT_MEMORY",
                                    .threads = getenv("MAFAT_THREADS"),
                                    .threads_name = "MAFAT_THREADS",
                                    .outputs = getenv("MAFAT_OUTPUTS"),
                                    .outputs_name = "MAFAT_OUTPUTS",
                                    .plan = getenv("MAFAT_PLAN")};
  const char *keep = getenv("MAFAT_KEEP");
  s.keeps_arena = keep && strcmp(keep, "1") == 0;
  mafat_bridge_start(&s);
}

/* True if the function belongs to Debian's library, which is checked once. Another Darknet, with
 * other structs, is left alone. */
static bool is_replaced(void *real)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static void *ours;
  static bool checked;
  Dl_info info;
  if (!dladdr(real, &info) || !info.dli_fname) return false;
  pthread_mutex_lock(&lock);
  if (!checked && is_debian(info.dli_fname)) {
    checked = true;
    network *(*make)(int);
    *(void **)&make = symbol_in(info.dli_fname, "make_network");
    if (make && has_our_structs(make)) ours = info.dli_fbase;
    else
      fprintf(stderr, "mafat: %s: its structs differ from Debian's; Darknet runs all networks\n",
              info.dli_fname);
    if (ours) start_bridge();
  }
  bool same = ours && ours == info.dli_fbase;
  pthread_mutex_unlock(&lock);
  return same;
}

/* Darknet's functions for the bridge; NULL if this Darknet lacks one. */
static struct mafat_bridge_darknet darknet_functions(void *caller)
{
  struct mafat_bridge_darknet d = {.frees_all = false};
  *(void **)&d.parse_network_cfg = find_or_null("parse_network_cfg", caller);
  *(void **)&d.resize_network = find_or_null("resize_network", caller);
  *(void **)&d.free_network = find_or_null("free_network", caller);
  return d;
}

/* ---- networks ---- */

static network *parse(char *cfg, void *caller)
{
  __typeof__(&parse_network_cfg) real;
  *(void **)&real = find_real("parse_network_cfg", caller);
  struct mafat_bridge_darknet d = darknet_functions(caller);
  network *net;
  return is_replaced((void *)real) && mafat_bridge_parse(&d, cfg, &net) ? net : real(cfg);
}

VISIBLE network *parse_network_cfg(char *cfg)
{
  return parse(cfg, CALLER);
}

VISIBLE network *load_network(char *cfg, char *weights, int clear)
{
  __typeof__(&load_network) real = REAL(load_network);
  if (!is_replaced((void *)real)) return real(cfg, weights, clear);
  mafat_bridge_expect(weights);
  network *net = parse(cfg, (void *)real);
  if (weights && *weights && !mafat_bridge_load(net, weights, 0, net->n))
    ((__typeof__(&load_weights))find_real("load_weights", (void *)real))(net, weights);
  if (clear) *net->seen = 0;
  mafat_bridge_expect("any");
  return net;
}

VISIBLE void load_weights_upto(network *net, char *path, int start, int cutoff)
{
  if (!mafat_bridge_load(net, path, start, cutoff))
    REAL(load_weights_upto)(net, path, start, cutoff);
}

VISIBLE void load_weights(network *net, char *path)
{
  if (!mafat_bridge_load(net, path, 0, net->n)) REAL(load_weights)(net, path);
}

VISIBLE void save_weights_upto(network *net, char *path, int cutoff)
{
  mafat_bridge_refuse(net, "saving");
  REAL(save_weights_upto)(net, path, cutoff);
}

VISIBLE void save_weights(network *net, char *path)
{
  mafat_bridge_refuse(net, "saving");
  REAL(save_weights)(net, path);
}

VISIBLE void free_network(network *net)
{
  struct mafat_bridge_darknet d = darknet_functions(CALLER);
  if (!mafat_bridge_free(&d, net)) REAL(free_network)(net);
}

VISIBLE int resize_network(network *net, int w, int h)
{
  struct mafat_bridge_darknet d = darknet_functions(CALLER);
  return mafat_bridge_resize(&d, net, w, h) ? 0 : REAL(resize_network)(net, w, h);
}

/* An empty image for layers whose output is not kept: Darknet would read through NULL. */
VISIBLE image get_network_image_layer(network *net, int i)
{
  if (mafat_bridge_owns(net) && !net->layers[i].output) return (image){0};
  return REAL(get_network_image_layer)(net, i);
}

VISIBLE image get_network_image(network *net)
{
  __typeof__(&get_network_image_layer) real = REAL(get_network_image_layer);
  for (int i = net->n - 1; i >= 0; i--) {
    image m = mafat_bridge_owns(net) && !net->layers[i].output ? (image){0} : real(net, i);
    if (m.h != 0) return m;
  }
  return (image){0};
}

VISIBLE void visualize_network(network *net)
{
  mafat_bridge_refuse(net, "visualize_network()");
  REAL(visualize_network)(net);
}

VISIBLE void print_network(network *net)
{
  mafat_bridge_refuse(net, "print_network()");
  REAL(print_network)(net);
}

#define REFUSE_LAYER(function, parameters, arguments) \
  VISIBLE void function parameters \
  { \
    mafat_bridge_refuse_layer(&l, #function "()"); \
    REAL(function) arguments; \
  }
REFUSE_LAYER(rescale_weights, (layer l, float scale, float trans), (l, scale, trans))
REFUSE_LAYER(rgbgr_weights, (layer l), (l))
REFUSE_LAYER(denormalize_convolutional_layer, (layer l), (l))
REFUSE_LAYER(denormalize_connected_layer, (layer l), (l))
REFUSE_LAYER(statistics_connected_layer, (layer l), (l))

VISIBLE image *get_weights(layer l)
{
  mafat_bridge_refuse_layer(&l, "get_weights()");
  return REAL(get_weights)(l);
}

/* ---- layers ---- */

VISIBLE layer make_convolutional_layer(int batch, int h, int w, int c, int n, int groups, int size,
                                       int stride, int padding, ACTIVATION activation,
                                       int batch_normalize, int binary, int xnor, int adam)
{
  layer l;
  if (mafat_bridge_convolutional(&l, batch, h, w, c, n, groups, size, stride, padding, activation,
                                 batch_normalize))
    return l;
  return REAL(make_convolutional_layer)(batch, h, w, c, n, groups, size, stride, padding,
                                        activation, batch_normalize, binary, xnor, adam);
}

VISIBLE layer make_connected_layer(int batch, int inputs, int outputs, ACTIVATION activation,
                                   int batch_normalize, int adam)
{
  layer l;
  if (mafat_bridge_connected(&l, batch, inputs, outputs, activation, batch_normalize)) return l;
  return REAL(make_connected_layer)(batch, inputs, outputs, activation, batch_normalize, adam);
}

VISIBLE layer make_local_layer(int batch, int h, int w, int c, int n, int size, int stride, int pad,
                               ACTIVATION activation)
{
  layer l;
  if (mafat_bridge_local(&l, batch, h, w, c, n, size, stride, pad, activation)) return l;
  return REAL(make_local_layer)(batch, h, w, c, n, size, stride, pad, activation);
}

VISIBLE layer make_maxpool_layer(int batch, int h, int w, int c, int size, int stride, int padding)
{
  layer l;
  if (mafat_bridge_maxpool(&l, batch, h, w, c, size, stride, padding)) return l;
  return REAL(make_maxpool_layer)(batch, h, w, c, size, stride, padding);
}

VISIBLE layer make_route_layer(int batch, int n, int *input_layers, int *input_sizes)
{
  layer l;
  if (mafat_bridge_route(&l, batch, n, input_layers, input_sizes)) return l;
  return REAL(make_route_layer)(batch, n, input_layers, input_sizes);
}

VISIBLE layer make_shortcut_layer(int batch, int index, int w, int h, int c, int w2, int h2, int c2)
{
  layer l;
  if (mafat_bridge_shortcut(&l, batch, index, w, h, c, w2, h2, c2)) return l;
  return REAL(make_shortcut_layer)(batch, index, w, h, c, w2, h2, c2);
}

/* ---- dlopen ---- */

/* True if the first file of that name in the caller's search path is Debian's library. */
static bool found_by_caller(const char *name, void *caller)
{
  Dl_info info;
  struct link_map *map;
  Dl_serinfo size;
  bool same = false;
  if (!dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) ||
      dlinfo(map, RTLD_DI_SERINFOSIZE, &size))
    return false;
  Dl_serinfo *paths = malloc(size.dls_size);
  if (paths && dlinfo(map, RTLD_DI_SERINFOSIZE, paths) == 0 &&
      dlinfo(map, RTLD_DI_SERINFO, paths) == 0) {
    for (unsigned i = 0; i < paths->dls_cnt; i++) {
      char path[PATH_MAX];
      struct stat st;
      int n = snprintf(path, sizeof path, "%s/%s", paths->dls_serpath[i].dls_name, name);
      if (n < 0 || (size_t)n >= sizeof path || stat(path, &st) != 0) continue;
      same = is_debian(path);
      break;
    }
  }
  free(paths);
  return same;
}

static bool means_debian(const char *file, void *caller)
{
  const char *base = strrchr(file, '/');
  if (base) return is_debian(file);
  if (strcmp(file, strrchr(MAFAT_DARKNET_LIBRARY, '/') + 1) != 0) return false;
  struct link_map *map = loaded(file); /* loaded under that name by any library */
  if (!map) return found_by_caller(file, caller);
  bool same = is_debian(map->l_name);
  dlclose(map);
  return same;
}

static const char *facade(void)
{
  static char path[PATH_MAX];
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  Dl_info info;
  pthread_mutex_lock(&lock);
  const char *slash = !*path && dladdr((void *)facade, &info) && info.dli_fname
                          ? strrchr(info.dli_fname, '/')
                          : NULL;
  if (slash)
    snprintf(path, sizeof path, "%.*s/libdarknet.so", (int)(slash - info.dli_fname),
             info.dli_fname);
  pthread_mutex_unlock(&lock);
  return path;
}

/* The file to open instead of `file`: the facade for Debian's library, else `file` itself. With
 * RTLD_NOLOAD a library that is not loaded stays so. */
static const char *in_place_of(const char *file, int mode, void *caller)
{
  if (!file || !means_debian(file, caller) || !*facade()) return file;
  void *handle = mode & RTLD_NOLOAD ? loaded(MAFAT_DARKNET_LIBRARY) : NULL;
  if (mode & RTLD_NOLOAD && !handle) return file;
  if (handle) dlclose(handle);
  return facade();
}

VISIBLE void *dlopen(const char *file, int mode)
{
  open_library *next = next_dlopen();
  const char *other = in_place_of(file, mode, CALLER);
  if (other != file) mode &= ~RTLD_NOLOAD;
  return next(other, mode);
}
