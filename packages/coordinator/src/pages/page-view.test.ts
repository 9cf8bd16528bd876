import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  daysWith,
  MINUTE_MS,
  NO_NOTES,
  NOW,
  pageSource,
  shownIncident,
  shownMonitor,
  storedComponent,
  storedGroup,
  storedPage,
  storedWindow,
  writtenIncident,
} from '../../../../test/support/status-page-source.ts';
import type { MonitorStatus } from '../verdict/monitor.ts';
import { DAY_MS } from '../verdict/summary-range.ts';
import { type PageSource, pageView } from './page-view.ts';

/** Returns the names of the components in the order of the page, with the names of groups in brackets. */
function outline(source: PageSource): string {
  return pageView(source)
    .sections.map(({ group, components }) => {
      const names = components.map(({ name }) => name).join(' ');
      return group === null ? names : `${group.name}[${names}]`;
    })
    .join(' ');
}

const named = (id: number, name: string, more: Parameters<typeof storedComponent>[1] = {}) =>
  storedComponent(id, { name, ...more });

describe('the order of a page', () => {
  test('is by `order`, then by id; null comes last', () => {
    const components = [
      named(1, 'd'),
      named(2, 'c', { order: 5 }),
      named(3, 'a', { order: -1 }),
      named(4, 'b', { order: 5 }),
    ];
    expect(outline(pageSource({ components }))).toBe('a c b d');
  });

  test('puts a group in place of its first component, and orders its members by `group_order`', () => {
    const source = pageSource({
      groups: [storedGroup(8, 'G'), storedGroup(9, 'Empty')],
      components: [
        named(1, 'a', { order: 1 }),
        named(2, 'z', { order: 2, group_id: '8', group_order: 9 }),
        named(3, 'b', { order: 3 }),
        named(4, 'y', { order: 4, group_id: '8', group_order: 1 }),
      ],
    });
    expect(outline(source)).toBe('a G[y z] b');
  });

  test('shows each component once, with any orders and groups', () => {
    const order = fc.option(fc.integer({ min: -3, max: 3 }));
    const component = fc.record({
      order,
      group_order: order,
      group_id: fc.option(fc.constantFrom('1', '2', '99')),
    });
    fc.assert(
      fc.property(fc.array(component, { maxLength: 12 }), (given) => {
        const components = given.map((one, index) => storedComponent(index + 1, one));
        const { sections } = pageView(
          pageSource({ components, groups: [storedGroup(1, 'A'), storedGroup(2, 'B')] }),
        );
        const ids = sections.flatMap((section) => section.components.map(({ id }) => Number(id)));
        expect(ids.toSorted((a, b) => a - b)).toEqual(components.map(({ id }) => id));
        const groups = sections.flatMap(({ group }) => group?.id ?? []);
        expect(new Set(groups).size).toBe(groups.length);
      }),
    );
  });
});

describe('a page does not show', () => {
  const hidden = { ...shownMonitor(1), isPublic: false };
  const components = [named(1, 'a'), named(2, 'b')];

  test('on a public page: private monitors and their incidents', () => {
    const source = pageSource({
      components,
      monitors: new Map([
        [1, hidden],
        [2, shownMonitor(2)],
      ]),
      incidents: [shownIncident({ closedAt: null })],
    });
    expect(outline(source)).toBe('b');
    expect(pageView(source).activeIncidents).toEqual([]);
    expect(pageView(source).overall).toBe('operational');
  });

  test.each(['password', 'email-domain'] as const)('%s: it shows them', (access) => {
    const page = storedPage({ access_type: access });
    expect(outline(pageSource({ page, components, monitors: new Map([[1, hidden]]) }))).toBe('a');
  });

  test('components whose monitor was removed', () => {
    expect(outline(pageSource({ components: [named(1, 'a', { monitor_id: null }), named(2, 'b')] }))).toBe(
      'b',
    );
  });
});

describe('the state of the page', () => {
  const withStatuses = (...statuses: MonitorStatus[]) =>
    pageView(
      pageSource({
        components: statuses.map((_, index) => storedComponent(index + 1)),
        monitors: new Map(statuses.map((status, index) => [index + 1, shownMonitor(index + 1, status)])),
      }),
    ).overall;

  test.each<[readonly MonitorStatus[], string]>([
    [[], 'empty'],
    [['active', 'active'], 'operational'],
    [['active', 'unknown'], 'some-unknown'],
    [['unknown', 'unknown'], 'unknown'],
    [['active', 'degraded', 'unknown'], 'some-degraded'],
    [['degraded', 'degraded'], 'degraded'],
    [['active', 'error'], 'partial-outage'],
    [['degraded', 'error'], 'partial-outage'],
    [['error', 'unknown'], 'partial-outage'],
    [['error', 'error'], 'major-outage'],
  ])('of %j is %s', (statuses, overall) => {
    expect(withStatuses(...statuses)).toBe(overall);
  });

  test('a static component has no state until an operator writes about it', () => {
    const components = [storedComponent(1, { type: 'static', name: 'Office' })];
    const view = pageView(pageSource({ components }));
    expect(view.sections[0]?.components[0]).toMatchObject({
      name: 'Office',
      state: null,
      days: [],
      uptime: null,
    });
    const written = writtenIncident({ componentIds: [1] });
    const noted = pageView(pageSource({ components, notes: { ...NO_NOTES, incidents: [written] } }));
    expect(noted.sections[0]?.components[0]?.state).toBe('partial_outage');
    expect(noted.overall).toBe('partial-outage');
    expect(noted.activeIncidents[0]).toMatchObject({
      title: 'Power cut',
      components: [{ id: '1', name: 'Office' }],
    });
    const resolved = writtenIncident({ componentIds: [1], state: 'resolved', closedAt: NOW });
    const after = pageView(pageSource({ components, notes: { ...NO_NOTES, incidents: [resolved] } }));
    expect(after.sections[0]?.components[0]?.state).toBeNull();
    expect(after.pastIncidents[0]?.updates[0]?.note?.text).toBe('No light.');
  });

  test('current maintenance replaces the measured state', () => {
    const stateAt = (now: number) =>
      pageView(
        pageSource({
          monitors: new Map([[1, shownMonitor(1, 'error')]]),
          notes: { ...NO_NOTES, windows: [storedWindow({ monitorIds: [1] })] },
          now,
        }),
      );
    expect(stateAt(NOW).sections[0]?.components[0]?.state).toBe('maintenance');
    expect(stateAt(NOW).overall).toBe('maintenance');
    expect(stateAt(NOW).maintenance).toMatchObject([{ state: 'in_progress', componentIds: ['1'] }]);
    expect(stateAt(NOW - 2 * MINUTE_MS).overall).toBe('major-outage');
    expect(stateAt(NOW - 2 * MINUTE_MS).maintenance).toMatchObject([{ state: 'scheduled' }]);
    expect(stateAt(NOW + MINUTE_MS).maintenance).toMatchObject([{ state: 'completed' }]);
  });

  test('maintenance of monitors that the page does not show is left out', () => {
    const hidden = new Map([[1, { ...shownMonitor(1), isPublic: false }]]);
    const notes = { ...NO_NOTES, windows: [storedWindow({ monitorIds: [1] })] };
    expect(pageView(pageSource({ monitors: hidden, notes })).maintenance).toEqual([]);
    const named = { ...NO_NOTES, windows: [storedWindow({ monitorIds: [1], pageIds: [1] })] };
    expect(pageView(pageSource({ monitors: hidden, notes: named })).maintenance).toHaveLength(1);
  });
});

test("operators' updates on a monitor's incident stand among its measured changes", () => {
  const incident = shownIncident({ id: 9, openedAt: NOW - 10 * MINUTE_MS, closedAt: null });
  const written = {
    ...writtenIncident({ componentIds: [2], at: NOW - 5 * MINUTE_MS }),
    id: 9,
    monitor_id: 1,
    title: null,
    opened_at: incident.openedAt,
  };
  const components = [named(1, 'API'), named(2, 'Web')];
  const { activeIncidents } = pageView(
    pageSource({ components, incidents: [incident], notes: { ...NO_NOTES, incidents: [written] } }),
  );
  expect(activeIncidents).toHaveLength(1);
  expect(activeIncidents[0]?.components.map(({ name }) => name)).toEqual(['API', 'Web']);
  expect(activeIncidents[0]?.updates.map(({ note }) => note?.text ?? null)).toEqual(['No light.', null]);
  expect(activeIncidents[0]?.impact).toBe('down');
});

test('days have the figures of the roll-ups: floored, and null without data', () => {
  const days = daysWith({
    0: { active: 0, unknown: DAY_MS / 2 },
    1: { error: 1 },
    2: { degraded: DAY_MS, active: 0 },
    3: { active: 0, error: DAY_MS },
  });
  const [component] = pageView(pageSource({ days: new Map([[1, days]]) })).sections[0]?.components ?? [];
  expect(component?.days).toHaveLength(90);
  expect(component?.days.slice(-4).map(({ state, uptime }) => [state, uptime])).toEqual([
    ['down', 0],
    ['degraded', 100],
    ['down', 99.99],
    ['unknown', null],
  ]);
  // 89 days have data. The monitor was up on 88 of them, except for a millisecond.
  expect(component?.uptime).toBe(98.87);
});
