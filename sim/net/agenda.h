/* agenda.h -- what happens next: a heap of dated entries that can be moved and taken out.
 *
 * Entries of equal date come out in the order in which they were first put in, so a run never
 * depends on how the heap happens to be laid out. An entry lives inside its owner's struct.
 */
#ifndef LH_SIM_AGENDA_H
#define LH_SIM_AGENDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lh_agenda_entry {
  size_t place;   /* in the heap; SIZE_MAX: not in it */
  uint64_t order; /* breaks ties; given by lh_agenda_put */
} lh_agenda_entry;

typedef struct lh_agenda_slot {
  double date_s;
  uint64_t order;
  lh_agenda_entry *entry;
} lh_agenda_slot;

typedef struct lh_agenda {
  size_t size, capacity;
  lh_agenda_slot *slot; /* (size), a binary heap by (date, order) */
  uint64_t next_order;
} lh_agenda;

void lh_agenda_init(lh_agenda *agenda);
void lh_agenda_fini(lh_agenda *agenda);

/* Puts a new entry in. false: no memory. */
bool lh_agenda_put(lh_agenda *agenda, lh_agenda_entry *entry, double date_s);
/* Gives an entry that is in the agenda another date; its order stays. */
void lh_agenda_move(lh_agenda *agenda, lh_agenda_entry *entry, double date_s);
void lh_agenda_remove(lh_agenda *agenda, lh_agenda_entry *entry);

/* INFINITY when empty. */
double lh_agenda_next_s(const lh_agenda *agenda);
/* The earliest entry; NULL when empty. */
lh_agenda_entry *lh_agenda_first(const lh_agenda *agenda);

#endif
