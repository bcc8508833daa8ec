/* Covers programs/mafat_serve/room.c, programs/mafat_serve/picture_cost.c,
 * programs/mafat_serve/job_queue.c: which request gets memory, that no request waits forever, and
 * which picture runs next. */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "programs/mafat_serve/job_queue.h"
#include "programs/mafat_serve/picture_cost.h"
#include "programs/mafat_serve/room.h"
#include "tests/support/random.h"
#include "tests/support/support.h"

Suite *room_suite(void);

enum { PAGE = 4096 };

/* ---- memory ---- */

START_TEST(announced_bytes_keep_nobody_waiting)
{
  struct mafat_room room = {.capacity = 300 * PAGE};
  struct mafat_room_claim large[20], small;
  for (int i = 0; i < 20; i++) mafat_room_open(&room, &large[i], 1 << 30);
  ck_assert_uint_eq(large[0].need, room.capacity);
  ck_assert(mafat_room_take(&room, &large[7], PAGE));
  for (int i = 0; i < 20; i++) /* no other claim gets a page that the first may need */
    ck_assert_int_eq(mafat_room_take(&room, &large[i], PAGE), i == 7);
  mafat_room_open(&room, &small, 8 * PAGE);
  ck_assert(mafat_room_take(&room, &small, PAGE));
  ck_assert(mafat_room_take(&room, &small, 8 * PAGE));
  ck_assert_uint_eq(room.used, 9 * PAGE);
  mafat_room_close(&room, &large[7]);
  ck_assert(mafat_room_take(&room, &large[3], PAGE));
}
END_TEST

START_TEST(parts_are_given_back)
{
  struct mafat_room room = {.capacity = 10 * PAGE};
  struct mafat_room_claim one, other;
  mafat_room_open(&room, &one, 9 * PAGE);
  ck_assert(!mafat_room_take(&room, &one, 10 * PAGE));
  ck_assert(mafat_room_take(&room, &one, 9 * PAGE));
  ck_assert(mafat_room_take(&room, &one, PAGE)); /* the claim has more already */
  mafat_room_open(&room, &other, 2 * PAGE);
  ck_assert(!mafat_room_take(&room, &other, 2 * PAGE));
  mafat_room_shrink(&room, &one, 3 * PAGE);
  ck_assert_uint_eq(room.used, 3 * PAGE);
  ck_assert(mafat_room_take(&room, &other, 2 * PAGE));
  mafat_room_close(&room, &one);
  mafat_room_close(&room, &one);
  mafat_room_close(&room, &other);
  ck_assert(room.used == 0 && room.n_claims == 0);
}
END_TEST

/* Bodies of random sizes take memory in random steps. Then each takes the rest of its memory as
 * soon as that is free, and ends. All must end. */
START_TEST(all_bodies_can_end)
{
  struct test_rng rng = test_rng((uint64_t)_i);
  struct mafat_room_claim claims[MAFAT_ROOM_CLAIMS];
  struct mafat_room room = {.capacity = (size_t)test_random_int(&rng, 1, 500) * PAGE};
  const int n = test_random_int(&rng, 1, MAFAT_ROOM_CLAIMS);
  for (int i = 0; i < n; i++)
    mafat_room_open(&room, &claims[i], (size_t)test_random_int(&rng, 1, 600) * PAGE);
  for (int i = 0; i < 1000; i++) {
    struct mafat_room_claim *c = &claims[test_random_int(&rng, 0, n - 1)];
    size_t more = c->held + (size_t)test_random_int(&rng, 1, 20) * PAGE;
    mafat_room_take(&room, c, more < c->need ? more : c->need);
    ck_assert_uint_le(room.used, room.capacity);
  }
  for (int left = n; left > 0;) {
    int ended = 0;
    for (int i = 0; i < n; i++) {
      if (!claims[i].open || !mafat_room_take(&room, &claims[i], claims[i].need)) continue;
      mafat_room_close(&room, &claims[i]);
      ended++;
    }
    ck_assert_int_gt(ended, 0);
    left -= ended;
  }
  ck_assert_uint_eq(room.used, 0);
}
END_TEST

/* ---- the work of pictures ---- */

static double cost_of(const void *bytes, size_t n)
{
  int fd = memfd_create("picture", MFD_CLOEXEC);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, bytes, n), (ssize_t)n);
  double cost = mafat_picture_cost(fd, n);
  close(fd);
  return cost;
}

/* Returns the cost of a JPEG whose markers have `gap` bytes between them. The reader gets the file
 * in chunks, and some markers cross the end of a chunk. */
static double cost_of_scans(int scans, size_t gap)
{
  static const uint8_t begin[] = {0xff, 0xd8, 0xff}, scan[] = {0xff, 0xda},
                       frame[] = {0xff, 0xc2, 0, 11, 8, 0x02, 0x00, 0x03, 0x00};
  static uint8_t bytes[1 << 20];
  size_t n = sizeof begin;
  memset(bytes, 0, sizeof bytes);
  memcpy(bytes, begin, n);
  memcpy(bytes + (n += gap), frame, sizeof frame);
  n += sizeof frame;
  for (int i = 0; i < scans; i++) {
    memcpy(bytes + (n += gap), scan, sizeof scan);
    n += sizeof scan;
  }
  ck_assert_uint_le(n, sizeof bytes);
  return cost_of(bytes, n);
}

START_TEST(costs_are_pixels_of_all_scans)
{
  static const uint8_t png[24] = {0x89, 'P', 'N', 'G', 13, 10, 26, 10, 0, 0, 0, 13, 'I',
                                  'H',  'D', 'R', 0,   0,  2,  0,  0, 0, 1, 0};
  for (size_t gap = 0; gap < 30; gap++) {
    ck_assert(cost_of_scans(1, gap) == 512 * 768);
    ck_assert(cost_of_scans(300, gap) == 300. * 512 * 768);
    ck_assert(cost_of_scans(200, 4090 + gap) == 200. * 512 * 768);
  }
  ck_assert(cost_of(png, sizeof png) == 512 * 256);
  ck_assert(cost_of("P6 1 1 255\nabc", 14) == 14);
  ck_assert(cost_of("\xff\xd8\xff", 3) == 3);
  ck_assert(cost_of("", 0) == 0);
}
END_TEST

/* Costs are limited, so that sums of them stay far below 2^53 and a false header alone does not
 * make a picture cost more than all others together. */
START_TEST(costs_are_limited)
{
  uint8_t png[24] = {0x89, 'P', 'N', 'G'}, jpeg[20] = {0xff, 0xd8, 0xff, 0xc0};
  memset(png + 16, 0xff, 8);
  memset(jpeg + 7, 0xff, 4);
  ck_assert(cost_of(png, sizeof png) == 0x1p35);
  ck_assert(cost_of(jpeg, sizeof jpeg) == 65535. * 65535);
  jpeg[12] = 0xff, jpeg[13] = 0xda;
  for (size_t i = 14; i < sizeof jpeg; i++) jpeg[i] = jpeg[i - 2];
  ck_assert(cost_of(jpeg, sizeof jpeg) == 4 * 65535. * 65535);
  static uint8_t scans[4096];
  memcpy(scans, jpeg, sizeof jpeg);
  for (size_t i = sizeof jpeg; i < sizeof scans; i++) scans[i] = scans[i - 2];
  ck_assert(cost_of(scans, sizeof scans) == 0x1p35);
}
END_TEST

/* ---- the next picture ---- */

static void take(struct mafat_job_queue *q, const struct mafat_job *expected)
{
  ck_assert_ptr_eq(mafat_job_queue_take(q), expected);
  mafat_job_queue_done(q, NULL);
}

START_TEST(quick_pictures_pass_slow_ones)
{
  struct mafat_job_queue q;
  struct mafat_job slow[2], quick[60];
  ck_assert(mafat_job_queue_open(&q));
  memset(slow, 0, sizeof slow);
  memset(quick, 0, sizeof quick);
  slow[0].cost = 30e6;
  slow[1].cost = 60e6;
  for (int i = 0; i < 60; i++) quick[i].cost = 1e6;
  mafat_job_queue_add(&q, &slow[0]);
  mafat_job_queue_add(&q, &slow[1]);
  ck_assert_int_eq(mafat_job_queue_counts(&q).n_ahead, 0);
  mafat_job_queue_add(&q, &quick[0]);
  mafat_job_queue_add(&q, &quick[1]);
  ck_assert_int_eq(mafat_job_queue_counts(&q).n_ahead, 2);
  take(&q, &quick[0]);
  take(&q, &quick[1]);
  take(&q, &slow[0]);
  int taken = 0; /* quick pictures overtake the waiting slow one, but not forever */
  for (int i = 2; i < 60 && slow[1].state == MAFAT_JOB_WAITS; i++) {
    mafat_job_queue_add(&q, &quick[i]);
    mafat_job_queue_take(&q);
    mafat_job_queue_done(&q, NULL);
    taken++;
  }
  ck_assert_int_ge(taken, 5);
  ck_assert_int_le(taken, 20);
  mafat_job_queue_end(&q);
  mafat_job_queue_close(&q);
}
END_TEST

Suite *room_suite(void)
{
  Suite *suite = suite_create("room");
  TCase *tests = tcase_create("room");
  tcase_add_test(tests, announced_bytes_keep_nobody_waiting);
  tcase_add_test(tests, parts_are_given_back);
  tcase_add_loop_test(tests, all_bodies_can_end, 0, test_seeds(200));
  tcase_add_test(tests, costs_are_pixels_of_all_scans);
  tcase_add_test(tests, costs_are_limited);
  tcase_add_test(tests, quick_pictures_pass_slow_ones);
  suite_add_tcase(suite, tests);
  return suite;
}
