import { DEFINITIONS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import type { AuditLine } from '../../store/access/audit.ts';
import { type Address, addressOf } from './declaration.ts';
import type { Plan } from './plan.ts';

/** Most changes of one apply that get a line each. The line of the whole apply gives the number of all. */
const MOST_LINES = 1_000;

/** The object as `monitors/12`: the last part of the list's path in the API, and the id. */
function objectOf(kind: ResourceKind, id: number | undefined): string {
  const { path } = DEFINITIONS[kind];
  return `${path.slice(path.lastIndexOf('/') + 1)}/${id}`;
}

/**
 * The lines of an apply of the declared file in the audit trail: one for the whole, and one for each change.
 */
export function auditLines(
  workspaceId: number,
  { file, digest }: { file: string; digest: string },
  { plan, idOf, at }: { plan: Plan; idOf: (address: Address) => number | undefined; at: number },
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
    ...removals.map(({ kind, id, localName }) => line('remove', objectOf(kind, id), `${kind}.${localName}`)),
    ...plan.writes.map(({ entry, id }) => {
      const object = objectOf(entry.kind, id ?? idOf(addressOf(entry)));
      return line(id === null ? 'create' : 'replace', object, addressOf(entry));
    }),
  ];
}
