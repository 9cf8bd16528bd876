import type { Clock } from '@svc/shared/clock.ts';
import type { AuditLine } from '../store/audit.ts';
import type { Token } from '../store/tokens.ts';
import { peerKey } from '../web/peer-key.ts';
import type { AuditTrail } from './audit.ts';
import { unauthorized } from './auth.ts';
import type { Login, PageRefusal } from './in-process.ts';
import { problemOf } from './problem.ts';
import type { RequestGate } from './request-gate.ts';

type LoginParts = { readonly gate: RequestGate; readonly trail: AuditTrail; readonly clock: Clock };

/**
 * Finds the token that somebody typed into a form. Each login leaves an audit line, and so does each refusal.
 *
 * @throws Problem `unauthorized`, `rate-limited`
 */
export function loggedIn(secret: string, from: Login, { gate, trail, clock }: LoginParts): Token {
  return refusalsNoted(from, { trail, clock }, () => {
    const token = gate.identify(`Bearer ${secret}`, from.peer);
    noteLogin(token, from, { trail, clock });
    return token;
  });
}

/**
 * Refuses a login with a link that opens nothing. It counts and is noted as one with a wrong token is, so that guessing
 * links is no way around the limit.
 *
 * @throws Problem `unauthorized`, `rate-limited`
 */
export function linkRefused(from: Login, { gate, trail, clock }: LoginParts): never {
  return refusalsNoted(from, { trail, clock }, () => {
    gate.failed(from.peer);
    throw unauthorized('the link is unknown, used or too old');
  });
}

function refusalsNoted<T>(from: Login, { trail, clock }: Omit<LoginParts, 'gate'>, login: () => T): T {
  const at = clock.wall();
  try {
    return login();
  } catch (error) {
    const problem = problemOf(error);
    if (problem !== null) {
      const { status, message } = problem;
      const refusal = { token: null, action: 'login', path: '', status, message } as const;
      noteRefusal(refusal, from, { trail, at });
    }
    throw error;
  }
}

/** Writes the audit line of what the dashboard refuses: a login, a page, a form. @param at epoch ms */
export function noteRefusal(
  { token, action, path, status, message }: PageRefusal,
  from: Login,
  { trail, at }: { readonly trail: AuditTrail; readonly at: number },
): void {
  const refused = {
    action,
    object: `dashboard${path}`,
    outcome: 'refused',
    status,
    detail: message,
  } as const;
  trail.refused({ ...dashboardLine(token, from, at), ...refused }, String(token?.id ?? peerKey(from.peer)));
}

/** Writes the audit line of a login. The first request of the session from this address is no second one. */
export function noteLogin(token: Token, from: Login, { trail, clock }: Omit<LoginParts, 'gate'>): void {
  trail.isLogin(token.id, from.peer);
  trail.add({ ...dashboardLine(token, from, clock.wall()), action: 'login' });
}

/** Writes the audit line of a logout. */
export function noteLogout(token: Token, from: Login, { trail, clock }: Omit<LoginParts, 'gate'>): void {
  trail.add({ ...dashboardLine(token, from, clock.wall()), action: 'logout' });
}

/** What the lines of the dashboard have in common. */
function dashboardLine(
  token: Token | null,
  { peer, requestId }: Login,
  at: number,
): Omit<AuditLine, 'action'> {
  return {
    at,
    workspaceId: token?.workspaceId ?? null,
    actor: token === null ? 'nobody' : 'token',
    token: token === null ? null : { id: token.id, name: token.name },
    object: token === null ? 'dashboard' : `tokens/${token.id}`,
    outcome: 'done',
    status: null,
    requestId,
    peer,
    detail: null,
  };
}
