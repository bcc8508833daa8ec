/* Reads a picture's size and number of scans from its file. Called by connection.c when a body is
 * complete. Reads the body's file with pread. */
#include "programs/mafat_serve/picture_cost.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 4096, OVERLAP = 16 }; /* bytes; at most OVERLAP bytes of a marker are read */

static double product_of_16(const unsigned char *p)
{
  return (double)(p[0] << 8 | p[1]) * (p[2] << 8 | p[3]);
}

static double number_of_32(const unsigned char *p)
{
  return (double)p[0] * 0x1000000 + (p[1] << 16 | p[2] << 8 | p[3]);
}

/* Start of frame: C0 to CF, except the codes of tables and extensions. */
static bool is_frame(unsigned char marker)
{
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

struct jpeg_cost {
  double pixels; /* of the largest frame: embedded thumbnails are smaller frames */
  double scans;
};

/* Counts the markers that begin in the first n bytes of p; OVERLAP more bytes are readable. */
static void add_markers(struct jpeg_cost *cost, const unsigned char *p, size_t n)
{
  const unsigned char *end = p + n;
  while (p < end && (p = memchr(p, 0xff, (size_t)(end - p)))) {
    if (p[1] == 0xda) cost->scans++;
    if (is_frame(p[1]) && product_of_16(p + 5) > cost->pixels)
      cost->pixels = product_of_16(p + 5);
    p++;
  }
}

/* runner/image refuses pictures that cost more than this limit. Without it, a header of a few bytes
 * could make the sums of costs so large that ordinary costs vanish in rounding. */
static double limited(double cost)
{
  static const double most = 32.0 * (1 << 30);
  return cost < most ? cost : most;
}

static double cost_of_jpeg(int fd, size_t bytes)
{
  unsigned char piece[PIECE + OVERLAP];
  struct jpeg_cost cost = {0, 0};
  for (size_t at = 0; at < bytes; at += PIECE) {
    memset(piece, 0, sizeof piece);
    ssize_t got = pread(fd, piece, sizeof piece, (off_t)at);
    if (got <= 0) break;
    add_markers(&cost, piece, got < PIECE ? (size_t)got : PIECE);
  }
  return limited(cost.pixels * (cost.scans > 1 ? cost.scans : 1));
}

double mafat_picture_cost(int fd, size_t bytes)
{
  unsigned char head[24] = {0};
  enum { WIDTH = 16, HEIGHT = 20 }; /* offsets in a PNG */
  if (pread(fd, head, sizeof head, 0) < 4) return (double)bytes;
  if (memcmp(head, "\xff\xd8\xff", 3) == 0) return cost_of_jpeg(fd, bytes);
  if (memcmp(head, "\x89PNG", 4) == 0)
    return limited(number_of_32(head + WIDTH) * number_of_32(head + HEIGHT));
  return (double)bytes;
}
