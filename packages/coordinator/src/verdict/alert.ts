import type { Alert, AlertStatus, Closure } from '@svc/shared/channels/alert.ts';
import type { LiveMonitor } from './monitor.ts';
import type { Vote } from './status.ts';

/**
 * The parts of a monitor that an alert repeats. The monitor itself may be gone, and its threshold is not kept
 * then.
 */
export type AlertedMonitor = Pick<LiveMonitor, 'id' | 'name' | 'target' | 'type'> &
  Partial<Pick<LiveMonitor, 'degradedAtMs'>>;

export type AlertFacts = {
  readonly monitor: AlertedMonitor;
  readonly status: AlertStatus;
  /** The counted votes of the verdict. */
  readonly votes: readonly Vote[];
  /** Epoch ms. */
  readonly at: number;
  readonly reason: string;
  readonly incident: string;
  /** When the incident began, epoch ms; null: not known. */
  readonly since: number | null;
  readonly closure?: Closure;
};

/**
 * Makes an alert. The facts of the check are those of the newest vote that supports the verdict. Without any
 * vote, because the monitor was deactivated while its status was unknown, there are no facts.
 */
export function alertOf(facts: AlertFacts): Alert {
  const { monitor, status, votes, at, reason, incident, since, closure } = facts;
  const vote = closure === undefined ? newestSupporting(votes, status) : newest(votes, () => true);
  const alert: Alert = {
    monitor: { id: monitor.id, name: monitor.name, url: monitor.target, type: monitor.type },
    status,
    cronTimestamp: vote?.slot ?? at,
    at,
    reason,
    incident,
    regions: votes.map(({ region, outcome, slot }) => ({ region, outcome, slot })),
  };
  if (since !== null) alert.since = since;
  if (monitor.degradedAtMs) alert.degradedAt = monitor.degradedAtMs;
  if (vote !== null) {
    if (vote.statusCode !== null) alert.statusCode = vote.statusCode;
    if (vote.latency !== null) alert.latency = vote.latency;
    if (vote.errorMessage !== null) alert.errorMessage = vote.errorMessage;
  }
  if (closure !== undefined) alert.closure = closure;
  return alert;
}

function newestSupporting(votes: readonly Vote[], status: AlertStatus): Vote | null {
  switch (status) {
    case 'error':
      return newest(votes, (vote) => vote.outcome === 'failed');
    case 'degraded':
      // More than half failed or are degraded. A degraded vote says more about that than a failed one.
      return (
        newest(votes, (vote) => vote.outcome === 'degraded') ??
        newest(votes, (vote) => vote.outcome === 'failed')
      );
    case 'recovered':
      return (
        newest(votes, (vote) => vote.outcome === 'passed') ??
        newest(votes, (vote) => vote.outcome === 'degraded')
      );
  }
}

/** The vote of the newest slot; among equals the first in order. */
function newest(votes: readonly Vote[], matches: (vote: Vote) => boolean): Vote | null {
  let found: Vote | null = null;
  for (const vote of votes) {
    if (matches(vote) && (found === null || vote.slot > found.slot)) found = vote;
  }
  return found;
}
