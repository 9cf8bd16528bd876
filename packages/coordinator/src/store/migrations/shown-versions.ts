import type { RawBuilder } from 'kysely';
import { triggerDefinition } from '../dialect.ts';

/*
 * The triggers that raise the version numbers of the content of status pages.
 * `status_pages.shown_version` grows with changes of the page itself, its parts, its icon, and the windows and
 * incidents that name it. `monitor_states.shown_version` grows with changes of the monitor's status, and of its
 * incidents and their updates. Triggers raise the numbers, so that no writer can forget to raise them. There
 * are two numbers because many monitors share a page: so recording a check writes only rows of its own monitor.
 */

type Shown = {
  readonly table: string;
  /** The writes that raise a number. */
  readonly on: readonly ('INSERT' | 'UPDATE' | 'DELETE' | `UPDATE OF ${string}`)[];
  readonly when?: string;
  /** SQL query for the ids of the pages whose number the row raises. */
  readonly pages?: (row: 'old' | 'new') => string;
  /** SQL query for the ids of the monitors whose number the row raises. */
  readonly monitors?: (row: 'old' | 'new') => string;
};

const ALWAYS = ['INSERT', 'UPDATE', 'DELETE'] as const;

const ofComponentsWith = (monitors: string) =>
  `SELECT page_id FROM components WHERE monitor_id IN (${monitors})`;

const ofWindow = (id: string) => `
  SELECT page_id FROM maintenance_pages WHERE window_id = ${id}
  UNION SELECT c.page_id FROM maintenance_components m JOIN components c ON c.id = m.component_id
    WHERE m.window_id = ${id}
  UNION ${ofComponentsWith(`SELECT monitor_id FROM maintenance_monitors WHERE window_id = ${id}`)}`;

const SHOWN: readonly Shown[] = [
  {
    table: 'status_pages',
    on: ['UPDATE'],
    // The condition excludes updates in which a trigger has raised the number.
    when: 'old.shown_version = new.shown_version',
    pages: (row) => `${row}.id`,
  },
  { table: 'component_groups', on: ALWAYS, pages: (row) => `${row}.page_id` },
  { table: 'components', on: ALWAYS, pages: (row) => `${row}.page_id` },
  { table: 'page_icons', on: ALWAYS, pages: (row) => `${row}.page_id` },
  // Only updates raise the number: a new monitor has no component yet, and a monitor with a component cannot
  // be removed.
  { table: 'monitors', on: ['UPDATE'], pages: (row) => ofComponentsWith(`${row}.id`) },
  { table: 'maintenance_windows', on: ALWAYS, pages: (row) => ofWindow(`${row}.id`) },
  { table: 'maintenance_pages', on: ALWAYS, pages: (row) => `${row}.page_id` },
  {
    table: 'maintenance_components',
    on: ALWAYS,
    pages: (row) => `SELECT page_id FROM components WHERE id = ${row}.component_id`,
  },
  { table: 'maintenance_monitors', on: ALWAYS, pages: (row) => ofComponentsWith(`${row}.monitor_id`) },
  {
    table: 'incidents',
    on: ALWAYS,
    pages: (row) => `SELECT page_id FROM incident_pages WHERE incident_id = ${row}.id`,
    monitors: (row) => `${row}.monitor_id`,
  },
  {
    table: 'incident_pages',
    on: ALWAYS,
    pages: (row) => `${row}.page_id`,
    // Pages that show the monitor show the monitor's incident only if the incident names no page.
    monitors: (row) => `SELECT monitor_id FROM incidents WHERE id = ${row}.incident_id`,
  },
  {
    table: 'incident_updates',
    on: ALWAYS,
    pages: (row) => `SELECT page_id FROM incident_pages WHERE incident_id = ${row}.incident_id`,
    monitors: (row) => `SELECT monitor_id FROM incidents WHERE id = ${row}.incident_id`,
  },
  {
    table: 'monitor_states',
    on: ['UPDATE OF status, since'],
    when: 'old.status <> new.status OR old.since <> new.since',
    monitors: (row) => `${row}.monitor_id`,
  },
  // Only changes of status raise the number. Pages do not show the intervals
  // in which a reason recurred under one status.
  {
    table: 'transitions',
    on: ['INSERT', 'UPDATE OF at'],
    when: 'new.from_status <> new.to_status',
    monitors: (row) => `${row}.monitor_id`,
  },
];

/** Statements that make the triggers. */
export const SHOWN_VERSIONS: readonly RawBuilder<unknown>[] = SHOWN.flatMap((shown) =>
  shown.on.map((event) => triggerOf(shown, event)),
);

function triggerOf({ table, when, pages, monitors }: Shown, event: Shown['on'][number]): RawBuilder<unknown> {
  const [kind = ''] = event.split(' ');
  const rows =
    kind === 'INSERT'
      ? (['new'] as const)
      : kind === 'DELETE'
        ? (['old'] as const)
        : (['old', 'new'] as const);
  const raise = (raised: string, id: string, ids: Shown['pages']) =>
    ids === undefined
      ? ''
      : `UPDATE ${raised} SET shown_version = shown_version + 1 WHERE ${rows.map((row) => `${id} IN (${ids(row)})`).join(' OR ')};`;
  return triggerDefinition({
    name: `shown_${table}_${kind.toLowerCase()}`,
    after: event,
    table,
    when,
    body: `${raise('status_pages', 'id', pages)} ${raise('monitor_states', 'monitor_id', monitors)}`,
  });
}
