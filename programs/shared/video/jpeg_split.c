/* Finds the end of a JPEG in a stream. Called by frames.c. Touches only its arguments. */
#include "programs/shared/video/jpeg_split.h"

#include <string.h>

enum { RST0 = 0xd0, RST7 = 0xd7, SOI = 0xd8, EOI = 0xd9, SOS = 0xda, TEM = 0x01 };

static void damage(struct mafat_jpeg_split *s, unsigned char found)
{
  s->damaged = true;
  s->found = found;
}

/* Handles the second byte of a marker. */
static void take_code(struct mafat_jpeg_split *s, unsigned char c)
{
  if (c == 0xff) return; /* FF may be repeated before a marker's code */
  if (c == EOI) s->ended = true;
  else if (c == TEM || (c >= RST0 && c <= RST7)) s->at = MAFAT_JPEG_AT_MARKER;
  else if (c == 0 || c == SOI) damage(s, c);
  else s->at = MAFAT_JPEG_AT_LENGTH;
  s->scans = c == SOS;
}

static void take_byte(struct mafat_jpeg_split *s, unsigned char c)
{
  switch (s->at) {
  case MAFAT_JPEG_AT_START:
    if (c == 0xff) s->at = MAFAT_JPEG_AT_SOI;
    else damage(s, c);
    return;
  case MAFAT_JPEG_AT_SOI:
    if (c == SOI) s->at = MAFAT_JPEG_AT_MARKER;
    else damage(s, c);
    return;
  case MAFAT_JPEG_AT_MARKER:
    if (c == 0xff) s->at = MAFAT_JPEG_AT_CODE;
    else damage(s, c);
    return;
  case MAFAT_JPEG_AT_CODE: take_code(s, c); return;
  case MAFAT_JPEG_AT_LENGTH:
    s->left = (size_t)c << 8;
    s->at = MAFAT_JPEG_AT_LENGTH_LOW;
    return;
  case MAFAT_JPEG_AT_LENGTH_LOW:
    s->left += c;
    if (s->left < 2) damage(s, c); /* the length includes its own two bytes */
    s->left -= 2;
    s->at = s->left ? MAFAT_JPEG_IN_SEGMENT : s->scans ? MAFAT_JPEG_IN_SCAN : MAFAT_JPEG_AT_MARKER;
    return;
  /* The scan goes on after FF 00, which stands for a byte FF, and after a restart marker. */
  case MAFAT_JPEG_IN_SCAN_CODE:
    if (c == 0xff) return;
    s->at = MAFAT_JPEG_AT_CODE;
    if (c == 0 || (c >= RST0 && c <= RST7)) s->at = MAFAT_JPEG_IN_SCAN;
    else take_code(s, c);
    return;
  default: return;
  }
}

/* Skips bytes that need not be parsed one by one, and returns their number. */
static size_t skip(struct mafat_jpeg_split *s, const unsigned char *bytes, size_t n)
{
  if (s->at == MAFAT_JPEG_IN_SEGMENT) {
    size_t some = n < s->left ? n : s->left;
    s->left -= some;
    if (s->left == 0) s->at = s->scans ? MAFAT_JPEG_IN_SCAN : MAFAT_JPEG_AT_MARKER;
    return some;
  }
  const unsigned char *ff = memchr(bytes, 0xff, n);
  if (!ff) return n;
  s->at = MAFAT_JPEG_IN_SCAN_CODE;
  return (size_t)(ff - bytes) + 1;
}

size_t mafat_jpeg_split(struct mafat_jpeg_split *s, const unsigned char *bytes, size_t n)
{
  size_t taken = 0;
  if (s->ended) *s = (struct mafat_jpeg_split){.at = MAFAT_JPEG_AT_START};
  while (taken < n && !s->ended && !s->damaged) {
    if (s->at == MAFAT_JPEG_IN_SEGMENT || s->at == MAFAT_JPEG_IN_SCAN)
      taken += skip(s, bytes + taken, n - taken);
    else take_byte(s, bytes[taken++]);
  }
  return taken;
}
