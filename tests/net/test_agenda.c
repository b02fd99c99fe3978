/* The agenda against a plain list that is searched from end to end. */
#include "base/random.h"
#include "sim/net/agenda.h"
#include "tests/check.h"

#define ENTRIES 300

typedef struct reference {
  bool present;
  double date_s;
  uint64_t order;
} reference;

static size_t first_of(const reference *r)
{
  size_t first = ENTRIES;
  for (size_t i = 0; i < ENTRIES; i++)
    if (r[i].present && (first == ENTRIES || r[i].date_s < r[first].date_s ||
                         (r[i].date_s == r[first].date_s && r[i].order < r[first].order)))
      first = i;
  return first;
}

static bool first_agrees(const lh_agenda *agenda, const lh_agenda_entry *entry, const reference *r)
{
  const size_t first = first_of(r);
  const lh_agenda_entry *got = lh_agenda_first(agenda);
  CHECK(got == (first == ENTRIES ? NULL : &entry[first]), "the first is entry %td, expected %zu",
        got ? got - entry : -1, first);
  CHECK(lh_agenda_next_s(agenda) == (first == ENTRIES ? INFINITY : r[first].date_s), "date");
  return check_failures == 0;
}

int main(void)
{
  static lh_agenda_entry entry[ENTRIES];
  static reference r[ENTRIES];
  lh_agenda agenda;
  lh_agenda_init(&agenda);
  uint64_t order = 0;
  for (uint64_t step = 0; step < 30000 && first_agrees(&agenda, entry, r); step++) {
    const size_t i = lh_draw(1, LH_PURPOSE_DATA, step, 0) % ENTRIES;
    /* Few different dates, so that many are equal. */
    const double date_s = (double)(lh_draw(1, LH_PURPOSE_DATA, step, 1) % 50);
    if (!r[i].present) {
      CHECK(lh_agenda_put(&agenda, &entry[i], date_s), "no memory");
      r[i] = (reference){true, date_s, order++};
    } else if (step % 3) {
      lh_agenda_move(&agenda, &entry[i], date_s);
      r[i].date_s = date_s;
    } else {
      lh_agenda_remove(&agenda, &entry[i]);
      r[i].present = false;
    }
    while (step % 1000 == 999 && agenda.size && first_agrees(&agenda, entry, r)) {
      r[first_of(r)].present = false;
      lh_agenda_remove(&agenda, lh_agenda_first(&agenda));
    }
  }
  lh_agenda_fini(&agenda);
  return check_report("agenda");
}
