import { compareInGroup, compareOnPage } from '@svc/shared/resources/component.ts';

/*
 * The order in which visitors see the components of a status page. Ungrouped components and groups
 * are ordered by `order`, null last. A group has the place of its first component. Components within
 * a group are ordered by `group_order`. If two components have the same order, their ids decide.
 */

export type Placed = {
  readonly id: string;
  readonly order: number | null;
  readonly group_id: string | null;
  readonly group_order: number | null;
};

export type PlacedGroup = { readonly id: string };

/** An item with its own place on the page: a component without a group, or a group with its components. */
export type Item<C extends Placed, G extends PlacedGroup> =
  | { readonly what: 'component'; readonly component: C }
  | { readonly what: 'group'; readonly group: G; readonly components: readonly C[] };

/** Returns the items of a page in their order. Empty groups, which visitors do not see, come last. */
export function arrangedItems<C extends Placed, G extends PlacedGroup>(
  components: readonly C[],
  groups: readonly G[],
): Item<C, G>[] {
  const items: Item<C, G>[] = [];
  const placed = new Set<string>();
  for (const component of components.toSorted(compareOnPage)) {
    const group = groups.find(({ id }) => id === component.group_id);
    if (group === undefined) items.push({ what: 'component', component });
    else if (!placed.has(group.id)) {
      placed.add(group.id);
      const members = components.filter(({ group_id: groupId }) => groupId === group.id);
      items.push({ what: 'group', group, components: members.toSorted(compareInGroup) });
    }
  }
  const empty = groups.filter(({ id }) => !placed.has(id));
  return [...items, ...empty.map((group) => ({ what: 'group' as const, group, components: [] }))];
}

/** The move of an item by one place. */
export type Move = { readonly what: 'component' | 'group'; readonly id: string; readonly by: -1 | 1 };

export type NewPlace = { readonly id: string; readonly order: number; readonly group_order: number | null };

/**
 * Returns the components whose place changes by a move, each with its new place. A move
 * numbers all components of the page. So the first move on a page may change more than two.
 */
export function changedPlaces<C extends Placed, G extends PlacedGroup>(
  items: readonly Item<C, G>[],
  { what, id, by }: Move,
): NewPlace[] {
  const own = (item: Item<C, G>) =>
    item.what === what && (item.what === 'component' ? item.component.id : item.group.id) === id;
  const ofPage = shifted(items, own, by);
  const all = ofPage.map((item): Item<C, G> => {
    if (item.what === 'component' || what === 'group') return item;
    return { ...item, components: shifted(item.components, (component) => component.id === id, by) };
  });
  return all
    .flatMap((item, index) => placesOf(item, index + 1))
    .filter(({ now, was }) => isElsewhere(now, was))
    .map(({ now }) => now);
}

function placesOf<C extends Placed, G extends PlacedGroup>(
  item: Item<C, G>,
  order: number,
): { now: NewPlace; was: C }[] {
  if (item.what === 'component') {
    const { id, group_order } = item.component;
    return [{ now: { id, order, group_order }, was: item.component }];
  }
  return item.components.map((component, index) => ({
    now: { id: component.id, order, group_order: index + 1 },
    was: component,
  }));
}

function isElsewhere(now: NewPlace, was: Placed): boolean {
  return now.order !== was.order || now.group_order !== was.group_order;
}

/** Returns the list with one member moved by one place. A move beyond an end of the list changes nothing. */
function shifted<T>(list: readonly T[], is: (member: T) => boolean, by: -1 | 1): T[] {
  const at = list.findIndex(is);
  const to = at + by;
  const member = list[at];
  if (member === undefined || to < 0 || to >= list.length) return [...list];
  const others = list.filter((_, index) => index !== at);
  return [...others.slice(0, to), member, ...others.slice(to)];
}
