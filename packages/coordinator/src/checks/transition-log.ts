import type { Logger } from '@svc/shared/log.ts';
import type { RegionText } from '@svc/shared/regions.ts';
import type { StatusChange } from '../verdict/frame.ts';

/** Maximum number of regions in one line. The API's endpoint for transitions returns all regions. */
const REGIONS_SHOWN = 5;
const MESSAGE_SHOWN = 120;

/**
 * Logs one line for a change of status. `npm start` shows the line to people, and
 * log collectors find it by `event`.
 */
export function logTransitions(log: Logger, change: StatusChange, regionText: RegionText): void {
  const detail = detailOf(change, regionText);
  log.info(
    {
      event: 'transition',
      monitor: { id: change.monitor.id, name: change.monitor.name },
      from: change.from,
      to: change.to,
      reason: change.reason,
      at: change.at,
      ...(detail === null ? {} : { detail }),
    },
    'the status of a monitor changed',
  );
}

/**
 * The regions that support the status `error` or `degraded`, with the error message or the latency of the
 * newest vote; null for other statuses.
 */
function detailOf({ to, votes }: StatusChange, regionText: RegionText): string | null {
  if (to !== 'error' && to !== 'degraded') return null;
  const against = votes.filter(
    (vote) =>
      vote.counted && (vote.outcome === 'failed' || (to === 'degraded' && vote.outcome === 'degraded')),
  );
  const regions = against.slice(0, REGIONS_SHOWN).map((vote) => regionText(vote.region));
  const more = against.length > REGIONS_SHOWN ? ` and ${against.length - REGIONS_SHOWN} more` : '';
  const newest = against.toSorted((a, b) => b.slot - a.slot)[0];
  const seen =
    newest === undefined
      ? ''
      : (newest.errorMessage ?? (newest.latency === null ? '' : `${newest.latency} ms`)).slice(
          0,
          MESSAGE_SHOWN,
        );
  return `${regions.join(', ')}${more}${seen === '' ? '' : `: ${seen}`}`;
}
