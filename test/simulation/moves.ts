import { longestCheckMs } from '@svc/coordinator/verdict/check-duration.ts';
import type { WindowTimes } from '@svc/coordinator/verdict/maintenance-window.ts';
import type { LiveMonitor } from '@svc/coordinator/verdict/monitor.ts';
import { Secret } from '@svc/shared/secret.ts';
import type { Window } from './told.ts';
import type { Move, World } from './world.ts';

export const WORLD_BEGINS = Date.UTC(2026, 0, 1);

/** Moves that people make through the coordinator's API. */
export const NEEDS_SERVICE: ReadonlySet<Move['do']> = new Set([
  'change-probe',
  'change-effort',
  'change-period',
  'change-judging',
  'change-regions',
  'switch-off',
  'switch-on',
  'remove',
  'link',
  'unlink',
  'set-window',
  'remove-window',
  'mute',
  'unmute',
]);

export function windowOf({ from, until, isDaily }: Move & { do: 'set-window' }): Window {
  return { from: WORLD_BEGINS + from, until: WORLD_BEGINS + until, isDaily };
}

/** "A monitor can be muted until an instant: alerts are held as in maintenance." */
export function mutedUntil({ until }: Move & { do: 'mute' }): Window {
  return { from: 0, until: WORLD_BEGINS + until, isDaily: false };
}

export function timesOf({ from, until, isDaily }: Window): WindowTimes {
  const daily = { frequency: 'daily', interval: 1, weekdays: [], week: null, until: null } as const;
  return { startsAt: from, endsAt: until, timeZone: 'UTC', repeat: isDaily ? daily : null, endedAt: null };
}

/** The monitor of a world as it is declared first. */
export function monitorOf({ id, periodMs, regions, timeoutMs, retry, judging }: World): LiveMonitor {
  return {
    id,
    workspaceId: 1,
    type: 'http',
    name: 'Monitor',
    target: 'http://127.0.0.1/',
    active: true,
    periodMs,
    regions,
    ...judging,
    version: 1,
    degradedAtMs: 0,
    longestCheckMs: longestCheckMs(timeoutMs, retry),
    activatedAt: WORLD_BEGINS,
    checkText: new Secret('{}'),
    declaredExport: null,
  };
}

/** The monitor as the move declares it. */
export function changed(monitor: LiveMonitor | null, move: Move, wall: number): LiveMonitor | null {
  if (monitor === null) return null;
  switch (move.do) {
    case 'change-probe':
      return { ...monitor, version: monitor.version + 1, activatedAt: wall };
    case 'change-effort':
      return {
        ...monitor,
        version: monitor.version + 1,
        activatedAt: wall,
        longestCheckMs: longestCheckMs(move.timeoutMs, move.retry),
      };
    case 'change-period':
      return { ...monitor, periodMs: move.periodMs };
    case 'change-judging': {
      const { quorum, confirmAfter, recoverAfter } = move;
      return { ...monitor, quorum, confirmAfter, recoverAfter };
    }
    case 'change-regions':
      return { ...monitor, regions: move.regions };
    case 'switch-off':
      return monitor.active ? { ...monitor, active: false } : monitor;
    case 'switch-on':
      return monitor.active ? monitor : { ...monitor, active: true, activatedAt: wall };
    case 'remove':
      return null;
    default:
      return monitor;
  }
}

export function describe(move: Move): string {
  const { at: _, do: what, ...rest } = move;
  return `-- ${what} ${Object.values(rest).flat().join(' ')}`;
}
