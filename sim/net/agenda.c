#include "sim/net/agenda.h"

#include <math.h>
#include <stdlib.h>

void lh_agenda_init(lh_agenda *agenda)
{
  *agenda = (lh_agenda){0};
}

void lh_agenda_fini(lh_agenda *agenda)
{
  free(agenda->slot);
  *agenda = (lh_agenda){0};
}

static bool earlier(const lh_agenda_slot *a, const lh_agenda_slot *b)
{
  return a->date_s < b->date_s || (a->date_s == b->date_s && a->order < b->order);
}

static void set_slot(lh_agenda *agenda, size_t place, lh_agenda_slot slot)
{
  agenda->slot[place] = slot;
  slot.entry->place = place;
}

static void rise(lh_agenda *agenda, size_t place, lh_agenda_slot slot)
{
  while (place > 0) {
    const size_t parent = (place - 1) / 2;
    if (!earlier(&slot, &agenda->slot[parent]))
      break;
    set_slot(agenda, place, agenda->slot[parent]);
    place = parent;
  }
  set_slot(agenda, place, slot);
}

static void sink(lh_agenda *agenda, size_t place, lh_agenda_slot slot)
{
  for (;;) {
    size_t child = 2 * place + 1;
    if (child >= agenda->size)
      break;
    if (child + 1 < agenda->size && earlier(&agenda->slot[child + 1], &agenda->slot[child]))
      child++;
    if (!earlier(&agenda->slot[child], &slot))
      break;
    set_slot(agenda, place, agenda->slot[child]);
    place = child;
  }
  set_slot(agenda, place, slot);
}

/* Puts a slot where it belongs, starting from a free place. */
static void settle(lh_agenda *agenda, size_t place, lh_agenda_slot slot)
{
  if (place > 0 && earlier(&slot, &agenda->slot[(place - 1) / 2]))
    rise(agenda, place, slot);
  else
    sink(agenda, place, slot);
}

bool lh_agenda_put(lh_agenda *agenda, lh_agenda_entry *entry, double date_s)
{
  if (agenda->size == agenda->capacity) {
    const size_t capacity = agenda->capacity ? 2 * agenda->capacity : 256;
    lh_agenda_slot *slot = realloc(agenda->slot, capacity * sizeof *slot);
    if (!slot)
      return false;
    agenda->slot = slot;
    agenda->capacity = capacity;
  }
  entry->order = agenda->next_order++;
  const lh_agenda_slot slot = {.date_s = date_s, .order = entry->order, .entry = entry};
  rise(agenda, agenda->size++, slot);
  return true;
}

void lh_agenda_move(lh_agenda *agenda, lh_agenda_entry *entry, double date_s)
{
  const lh_agenda_slot slot = {.date_s = date_s, .order = entry->order, .entry = entry};
  settle(agenda, entry->place, slot);
}

void lh_agenda_remove(lh_agenda *agenda, lh_agenda_entry *entry)
{
  const size_t place = entry->place;
  const lh_agenda_slot last = agenda->slot[--agenda->size];
  entry->place = SIZE_MAX;
  if (last.entry != entry)
    settle(agenda, place, last);
}

double lh_agenda_next_s(const lh_agenda *agenda)
{
  return agenda->size ? agenda->slot[0].date_s : INFINITY;
}

lh_agenda_entry *lh_agenda_first(const lh_agenda *agenda)
{
  return agenda->size ? agenda->slot[0].entry : NULL;
}
