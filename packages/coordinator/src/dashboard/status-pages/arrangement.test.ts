import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { arrangedItems, changedPlaces, type Item, type Placed } from './arrangement.ts';

const GROUPS = [{ id: '1' }, { id: '2' }, { id: '3' }];

const component = (
  id: number,
  order: number | null,
  group: string | null = null,
  groupOrder: number | null = null,
) => ({ id: String(id), order, group_id: group, group_order: groupOrder }) satisfies Placed;

/** A text for each item: `5` for a component, `1: 7 8` for a group. */
const shown = (items: readonly Item<Placed, { id: string }>[]) =>
  items.map((item) =>
    item.what === 'component'
      ? item.component.id
      : [`${item.group.id}:`, ...item.components.map(({ id }) => id)].join(' '),
  );

describe('the order of a page', () => {
  test('is by `order`, then by id; null comes last', () => {
    const components = [component(1, null), component(2, 2), component(3, 1), component(4, 2)];
    expect(shown(arrangedItems(components, []))).toEqual(['3', '2', '4', '1']);
  });

  test('has a group where its first component is, and its components by `group_order`', () => {
    const components = [component(1, 1), component(2, 3, '1', 2), component(3, 9, '1', 1), component(4, 5)];
    expect(shown(arrangedItems(components, GROUPS))).toEqual(['1', '1: 3 2', '4', '2:', '3:']);
  });

  test('shows a component of a removed group alone', () => {
    expect(shown(arrangedItems([component(1, 1, '9')], GROUPS.slice(0, 1)))).toEqual(['1', '1:']);
  });
});

const anyComponents = fc
  .array(
    fc.record({
      order: fc.option(fc.integer({ min: -3, max: 9 }), { nil: null }),
      group_id: fc.option(fc.constantFrom('1', '2', '3'), { nil: null }),
      group_order: fc.option(fc.integer({ min: -3, max: 9 }), { nil: null }),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((all) => all.map((each, index): Placed => ({ ...each, id: String(index + 1) })));

/** The components with their new places, as if these were stored. */
function written(components: readonly Placed[], places: ReturnType<typeof changedPlaces>): Placed[] {
  return components.map((each) => {
    const place = places.find(({ id }) => id === each.id);
    return place === undefined ? each : { ...each, order: place.order, group_order: place.group_order };
  });
}

describe('a move', () => {
  test('changes places with the neighbour, and nothing else', () => {
    fc.assert(
      fc.property(
        anyComponents,
        fc.nat(),
        fc.constantFrom(-1 as const, 1 as const),
        (components, pick, by) => {
          const before = arrangedItems(components, GROUPS);
          const items = before.filter((item) => item.what === 'component' || item.components.length > 0);
          const at = pick % items.length;
          const item = items[at];
          if (item === undefined) return;
          const move =
            item.what === 'component'
              ? ({ what: 'component', id: item.component.id, by } as const)
              : ({ what: 'group', id: item.group.id, by } as const);
          const after = shown(arrangedItems(written(components, changedPlaces(before, move)), GROUPS));
          const expected = shown(before);
          const to = at + by;
          if (to >= 0 && to < items.length) {
            const [one = '', other = ''] = [expected[at], expected[to]];
            expected[at] = other;
            expected[to] = one;
          }
          expect(after).toEqual(expected);
        },
      ),
    );
  });

  test('in a group changes places in the group', () => {
    const components = [component(1, 1, '1'), component(2, 1, '1'), component(3, 1, '1')];
    const places = changedPlaces(arrangedItems(components, GROUPS), { what: 'component', id: '3', by: -1 });
    expect(shown(arrangedItems(written(components, places), GROUPS))[0]).toBe('1: 1 3 2');
  });

  test('writes only the components whose places change', () => {
    const components = [component(1, 1), component(2, 2), component(3, 3)];
    const places = changedPlaces(arrangedItems(components, []), { what: 'component', id: '2', by: 1 });
    expect(places.map(({ id, order }) => [id, order])).toEqual([
      ['3', 2],
      ['2', 3],
    ]);
  });
});
