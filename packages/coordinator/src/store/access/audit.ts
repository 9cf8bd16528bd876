import { type Selectable, sql } from 'kysely';
import { wholeMs } from '../queries.ts';
import type { Database } from '../schema.ts';
import type { SqlValue, Store, Transaction } from '../store.ts';

/**
 * Who acted: an API token, a caller without a valid token (`nobody`), the declared file, or the settings
 * (SVC_API_TOKEN).
 */
export const AUDIT_ACTORS = ['token', 'nobody', 'declared-file', 'settings'] as const;
/**
 * `refused`: the caller was at fault, and nothing was done. `failed`: svc was at fault, and stored no change
 * as far as it knows.
 */
export const AUDIT_OUTCOMES = ['done', 'refused', 'failed'] as const;

/** One line of the audit trail. */
export type AuditLine = {
  /** Epoch ms. */
  readonly at: number;
  /** Null: the workspace is not known. */
  readonly workspaceId: number | null;
  readonly actor: (typeof AUDIT_ACTORS)[number];
  readonly token: { readonly id: number; readonly name: string } | null;
  /** A verb, such as `create`, `replace`, `remove` or `login`. */
  readonly action: string;
  /**
   * Path below `/v1`, such as `monitors/12`; or `declared-file`, `dashboard`, or a path below `dashboard/`.
   */
  readonly object: string;
  readonly outcome: (typeof AUDIT_OUTCOMES)[number];
  /**
   * HTTP status of the answer. Null: there was no request, the line is about a login or logout, or the line
   * was written together with the change, before the answer.
   */
  readonly status: number | null;
  readonly requestId: string | null;
  /**
   * IP address of the sender, see `createPeerOf`. Null: there was no request, or its connection is closed.
   */
  readonly peer: string | null;
  /** A text for people. It never contains a secret. */
  readonly detail: string | null;
};

export type AuditRow = Selectable<Database['audit']>;

/** Maximum length of `object` and of `detail` in a line, characters. Longer texts are cut. */
const MOST_CHARACTERS = 300;

const INSERT = `INSERT INTO audit
  (at, workspace_id, actor, token_id, token_name, action, object, outcome, status, request_id, peer, detail)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

/**
 * Appends lines. If a transaction makes the change that the lines describe, the caller passes this
 * transaction, so that the change and its lines are stored together or not at all.
 */
export async function appendAudit(tx: Transaction, lines: readonly AuditLine[]): Promise<void> {
  if (lines.length > 0) await tx.runEach(INSERT, lines.map(valuesOf));
}

function valuesOf(line: AuditLine): SqlValue[] {
  const { workspaceId, actor, token, action, outcome, status, requestId, peer } = line;
  return [
    wholeMs(line.at),
    workspaceId,
    actor,
    token?.id ?? null,
    token?.name ?? null,
    action,
    line.object.slice(0, MOST_CHARACTERS),
    outcome,
    status,
    requestId,
    peer,
    line.detail?.slice(0, MOST_CHARACTERS) ?? null,
  ];
}

export type AuditSearch = {
  /** Null: the lines of all workspaces, and lines that belong to no workspace. */
  readonly workspaceId: number | null;
  /** Only lines with a smaller id. */
  readonly beforeId: number | null;
  readonly limit: number;
  readonly tokenId?: number | undefined;
  readonly outcome?: AuditLine['outcome'] | undefined;
  /** Only lines about this object or about objects below it. */
  readonly object?: string | undefined;
};

/** The lines that match, newest first. */
export function newestAudit({ read }: Store, search: AuditSearch): Promise<AuditRow[]> {
  const { workspaceId, beforeId, limit, tokenId, outcome, object } = search;
  const from = object === undefined ? sql<Line>`audit` : linesAbout(object);
  let query = read.selectFrom(from.as('audit')).selectAll().orderBy('id', 'desc').limit(limit);
  if (workspaceId !== null) query = query.where('workspace_id', '=', workspaceId);
  if (beforeId !== null) query = query.where('id', '<', beforeId);
  if (tokenId !== undefined) query = query.where('token_id', '=', tokenId);
  if (outcome !== undefined) query = query.where('outcome', '=', outcome);
  return query.execute();
}

type Line = Selectable<Database['audit']>;

/**
 * The lines about an object or about objects below it. Without MATERIALIZED, PostgreSQL
 * might search the whole trail, from the newest line on, for an object that has few lines.
 */
function linesAbout(object: string) {
  // `0` follows `/` in ASCII, so this range has the texts that begin with `<object>/`.
  return sql<Line>`(
    WITH about AS MATERIALIZED (
      SELECT * FROM audit WHERE object = ${object}
      UNION ALL SELECT * FROM audit WHERE object >= ${`${object}/`} AND object < ${`${object}0`})
    SELECT * FROM about)`;
}
