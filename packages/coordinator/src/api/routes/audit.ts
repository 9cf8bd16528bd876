import { z } from 'zod';
import { AUDIT_OUTCOMES, type AuditRow, newestAudit } from '../../store/access/audit.ts';
import { type AuditView, auditView, id } from '../answers.ts';
import type { ApiParts } from '../api-parts.ts';
import type { AuditTrail } from '../audit.ts';
import { endpoint, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { cursorPage, decodeCursor, historyOf, historyPage } from '../lists.ts';

const cursorKeys = z.tuple([z.number().int()]);

const filters = {
  outcome: z
    .enum(AUDIT_OUTCOMES, `must be one of ${AUDIT_OUTCOMES.join(', ')}`)
    .optional()
    .meta({ description: 'Only lines of this outcome.' }),
  token_id: id.optional().meta({ description: 'Only lines of this token.' }),
  object: z.string().max(300, 'may have at most 300 characters').optional().meta({
    description:
      'Only lines about this object and the objects below it, for example `monitors/12` or `monitors`.',
  }),
};

export const auditLines = endpoint({
  method: 'GET',
  path: '/v1/audit',
  access: 'admin',
  tag: 'Audit',
  summary: 'List the lines of the audit trail, newest first',
  description:
    "Lines are kept for 400 days. A token sees the lines of its workspace. The operator's token sees the lines of all workspaces, and the refusals of requests without a valid token. A change and its line are written together. `login` is the first request of a token from an address within a day. What the dashboard refuses itself is `open` or `send` of `dashboard/…`; what it asks of the API has the lines of the API. Where one token or address is refused hundreds of times, not every refusal becomes a line; `svc_audit_lines_left_out_total` counts the others.",
  query: cursorPage.extend(filters),
  answers: { 200: { description: 'A page of lines.', schema: historyOf(auditView) } },
});

export function auditEndpoints(
  { store }: Pick<ApiParts, 'store'>,
  trail: Pick<AuditTrail, 'untilWritten'>,
): ServedEndpoint[] {
  return [
    serve(auditLines, async (request) => {
      const { limit, cursor, outcome, token_id, object } = request.query;
      await trail.untilWritten();
      const rows = await newestAudit(store, {
        workspaceId: request.token?.isOperator === true ? null : workspaceOf(request),
        beforeId: decodeCursor(cursor, cursorKeys)?.[0] ?? null,
        limit: limit + 1,
        outcome,
        tokenId: token_id === undefined ? undefined : Number(token_id),
        object,
      });
      return ok(historyPage(rows, limit, viewOf, (row) => [row.id]));
    }),
  ];
}

function viewOf(row: AuditRow): AuditView {
  const { token_id: tokenId, token_name: name } = row;
  return {
    id: String(row.id),
    at: row.at,
    workspace_id: row.workspace_id === null ? null : String(row.workspace_id),
    actor: row.actor,
    token: tokenId === null ? null : { id: String(tokenId), name: name ?? '' },
    action: row.action,
    object: row.object,
    outcome: row.outcome,
    status: row.status,
    request_id: row.request_id,
    peer: row.peer,
    detail: row.detail,
  };
}
