import type { ResourceKind } from '../configuration/kinds.ts';
import type { AuditLine } from '../store/audit.ts';
import { type Address, addressOf } from './declaration.ts';
import type { Plan } from './plan.ts';

/** Changes of one apply that get a line each; of more, the line of the whole tells the number. */
const MOST_LINES = 1_000;

/** Path of the API under which objects of a kind stand; those of pages below their page. */
const COLLECTIONS: { readonly [K in ResourceKind]: string } = {
  svc_http_monitor: 'monitors',
  svc_tcp_monitor: 'monitors',
  svc_dns_monitor: 'monitors',
  svc_notification: 'notifications',
  svc_status_page: 'status-pages',
  svc_status_page_component_group: 'component-groups',
  svc_status_page_component: 'components',
};

/** What an apply of the declared file leaves in the audit trail: a line for the whole, and one for each change. */
export function auditLines(
  workspaceId: number,
  { file, digest }: { file: string; digest: string },
  { plan, ids, at }: { plan: Plan; ids: ReadonlyMap<Address, number>; at: number },
): AuditLine[] {
  const removals = [...plan.removals, ...plan.monitorRemovals];
  const count = plan.writes.length + removals.length;
  if (count === 0) return [];
  const line = (action: string, object: string, detail: string): AuditLine => ({
    at,
    workspaceId,
    actor: 'declared-file',
    token: null,
    action,
    object,
    outcome: 'done',
    status: null,
    requestId: null,
    peer: null,
    detail,
  });
  const whole = line(
    'apply',
    'declared-file',
    `${file} (SHA-256 ${digest}): ${count} of its objects changed`,
  );
  if (count > MOST_LINES) return [whole];
  return [
    whole,
    ...removals.map(({ kind, id, localName }) =>
      line('remove', `${COLLECTIONS[kind]}/${id}`, `${kind}.${localName}`),
    ),
    ...plan.writes.map(({ entry, id }) => {
      const address = addressOf(entry);
      const object = `${COLLECTIONS[entry.kind]}/${id ?? ids.get(address)}`;
      return line(id === null ? 'create' : 'replace', object, address);
    }),
  ];
}
