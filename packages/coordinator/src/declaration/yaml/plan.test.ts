import { describe, expect, test } from 'vitest';
import { parseDeclaration } from '../../../../../test/support/read-declaration.ts';
import type { DeclaredEntry } from './declaration.ts';
import { resolveReferences } from './entry-references.ts';
import { isMassDeletion, type NamedResource, type Plan, planChanges } from './plan.ts';

function entriesOf(text: string): readonly DeclaredEntry[] {
  const { entries, errors } = parseDeclaration(text, 'svc.yaml', { env: {}, readFile: () => '' });
  expect(errors).toEqual([]);
  return entries;
}

/** A stored resource with its attributes. */
type Stored = NamedResource & { readonly attributes: object };

/** Returns the entries as they are stored after an apply. Their ids are consecutive, from 1. */
function stored(entries: readonly DeclaredEntry[]): Stored[] {
  const ids = new Map(entries.map(({ kind, name }, index) => [`${kind}.${name}`, index + 1]));
  return entries.map((entry, index) => ({
    kind: entry.kind,
    owner: 'file' as const,
    localName: entry.name,
    id: index + 1,
    attributes: resolveReferences<object>(entry.kind, entry.attributes, (to) => String(ids.get(to))),
  }));
}

const plan = (entries: readonly DeclaredEntry[], owned: readonly Stored[]) =>
  planChanges(entries, {
    resources: new Map(owned.map((resource) => [`${resource.kind}.${resource.localName}`, resource])),
    attributesOf: async (some) =>
      new Map(owned.filter((one) => some.includes(one)).map((one) => [one, one.attributes])),
  });

const named = ({ removals, writes, monitorRemovals }: Plan) => ({
  removals: removals.map(({ localName }) => localName),
  writes: writes.map(({ entry, id }) => [entry.name, id]),
  monitorRemovals: monitorRemovals.map(({ localName }) => localName),
});

const MONITOR = 'svc_tcp_monitor: { m: { name: m, uri: "a:1", periodicity: 1m } }';
const CHANNEL = `svc_notification: { n: { provider_type: email, email: { email: a@a.example }, monitor_ids: ["\${svc_tcp_monitor.m.id}"] } }`;
const PAGES = 'svc_status_page: { p: { title: p, slug: p }, q: { title: q, slug: q } }';
const GROUP = `svc_status_page_component_group: { g: { name: g, page_id: "\${svc_status_page.p.id}" } }`;
const COMPONENT = `svc_status_page_component: { c: { type: monitor, monitor_id: "\${svc_tcp_monitor.m.id}", page_id: "\${svc_status_page.p.id}", group_id: "\${svc_status_page_component_group.g.id}" } }`;
const ALL = [MONITOR, CHANNEL, PAGES, GROUP, COMPONENT].join('\n');

describe('a plan', () => {
  test('creates everything in order of dependency at first', async () => {
    const entries = entriesOf(ALL);
    expect(named(await plan(entries, []))).toEqual({
      removals: [],
      writes: [
        ['m', null],
        ['n', null],
        ['p', null],
        ['q', null],
        ['g', null],
        ['c', null],
      ],
      monitorRemovals: [],
    });
  });

  test('changes nothing when everything is as declared', async () => {
    const entries = entriesOf(ALL);
    expect(named(await plan(entries, stored(entries)))).toEqual({
      removals: [],
      writes: [],
      monitorRemovals: [],
    });
  });

  test('writes what differs', async () => {
    const owned = stored(entriesOf(ALL));
    const entries = entriesOf(ALL.replace('name: m', 'name: other'));
    expect(named(await plan(entries, owned))).toEqual({
      removals: [],
      writes: [['m', 1]],
      monitorRemovals: [],
    });
  });

  test('removes dependents first, and monitors last', async () => {
    const { removals, monitorRemovals, writes, deletions } = await plan([], stored(entriesOf(ALL)));
    expect(removals.map(({ localName }) => localName)).toEqual(['c', 'g', 'p', 'q', 'n']);
    expect(monitorRemovals.map(({ localName }) => localName)).toEqual(['m']);
    expect([writes, deletions]).toEqual([[], 6]);
  });

  test('replaces a group that moves to another page, and writes resources that refer to it', async () => {
    const owned = stored(entriesOf(ALL));
    const moved = ALL.replace(
      `name: g, page_id: "\${svc_status_page.p.id}"`,
      `name: g, page_id: "\${svc_status_page.q.id}"`,
    );
    const entries = entriesOf(
      moved.replace(
        `page_id: "\${svc_status_page.p.id}", group_id`,
        `page_id: "\${svc_status_page.q.id}", group_id`,
      ),
    );
    const changes = await plan(entries, owned);
    expect(named(changes)).toEqual({
      removals: ['c', 'g'],
      writes: [
        ['g', null],
        ['c', null],
      ],
      monitorRemovals: [],
    });
    expect(changes.deletions).toBe(0);
  });

  test('links a channel again when its monitor changes its kind', async () => {
    const owned = stored(entriesOf(`${MONITOR}\n${CHANNEL}`));
    const entries = entriesOf(
      `svc_dns_monitor: { m: { name: m, uri: a.example, periodicity: 1m } }\n${CHANNEL.replace('svc_tcp_monitor', 'svc_dns_monitor')}`,
    );
    expect(named(await plan(entries, owned))).toEqual({
      removals: [],
      writes: [
        ['m', null],
        ['n', 2],
      ],
      monitorRemovals: ['m'],
    });
  });
});

describe('a mass deletion', () => {
  const monitors = (count: number) =>
    entriesOf(
      `svc_tcp_monitor:\n${Array.from({ length: count }, (_, i) => `  m${i}: { name: m, uri: "a:1", periodicity: 1m }`).join('\n') || ' {}'}`,
    );

  test.each([
    [10, 4, true],
    [10, 5, false],
    [11, 5, true],
    [9, 0, false],
    [10, 0, true],
    [100, 49, true],
    [100, 50, false],
  ])('of %i resources down to %i: %s', async (before, after, isMass) => {
    const changes = await plan(monitors(after), stored(monitors(before)));
    expect(isMassDeletion(changes)).toBe(isMass);
  });
});
