import type { Region } from '@svc/shared/regions.ts';
import { lastedMs } from '../domain/check-end.ts';
import { longestCheckMs } from '../domain/longest-check.ts';
import type { LiveMonitor } from '../domain/monitor.ts';
import { ALL_REGIONS, type RegionSet, regionSet } from '../domain/region-set.ts';
import type { JournalledMonitor, JournalledRow } from '../evaluation/journal-entry.ts';

/** The settings to replay with. Left out: as they were. */
export type OtherSettings = {
  /** Attempts after the first, at most those that were made. */
  readonly retry?: number | undefined;
  /** ms; 0: a passing check is never degraded. */
  readonly degradedAtMs?: number | undefined;
  /** Only these regions are asked. */
  readonly regions?: readonly Region[] | undefined;
};

/** The effort of a check as it is declared now. */
export type DeclaredEffort = { readonly timeoutMs: number; readonly retry: number };

/**
 * The monitor of a replay: what was declared, under the other settings.
 *
 * @param present the declaration of now, for what the journal does not keep
 */
export function altered(
  present: LiveMonitor,
  effort: DeclaredEffort,
  declared: JournalledMonitor,
  { retry, degradedAtMs, regions }: OtherSettings,
): LiveMonitor {
  const monitor = { ...present, ...declared };
  const isOfNow = declared.longestCheckMs === longestCheckMs(effort.timeoutMs, effort.retry);
  return {
    ...monitor,
    ...(retry !== undefined && isOfNow ? { longestCheckMs: longestCheckMs(effort.timeoutMs, retry) } : {}),
    ...(degradedAtMs === undefined ? {} : { degradedAtMs }),
    ...(regions === undefined ? {} : { regions: fewer(monitor.regions, regions) }),
  };
}

/** The regions that are asked under these settings. */
export function askedUnder({ regions }: OtherSettings): RegionSet {
  return regions === undefined ? ALL_REGIONS : regionSet(regions);
}

/** The row as the check would have ended. With fewer attempts it ends, and is evaluated, earlier. */
export function alteredRow(row: JournalledRow, { retry, degradedAtMs }: OtherSettings): JournalledRow {
  const ended = retry === undefined ? row : withAttempts(row, retry + 1);
  return degradedAtMs === undefined ? ended : { ...ended, outcome: outcomeUnder(ended, degradedAtMs) };
}

function fewer(declared: readonly Region[] | null, regions: readonly Region[]): readonly Region[] {
  return declared === null ? regions : declared.filter((region) => regions.includes(region));
}

/** All attempts but the last have failed, so a check that ends before the last has failed. */
function withAttempts(row: JournalledRow, most: number): JournalledRow {
  const last = row.attempts[most - 1];
  if (last === undefined || row.attempts.length <= most) return row;
  const attempts = row.attempts.slice(0, most);
  const savedMs = lastedMs({ attempts: row.attempts }) - lastedMs({ attempts });
  return {
    ...row,
    attempts,
    at: Math.max(row.slot, Math.floor(row.at - savedMs)),
    outcome: 'failed',
    latency: last.latency,
    statusCode: last.status_code ?? null,
    errorMessage: last.error_message ?? null,
  };
}

/** A degraded result with a message is not about its latency: a certificate expires too soon. */
function outcomeUnder({ outcome, latency, errorMessage }: JournalledRow, degradedAtMs: number) {
  if (outcome === 'failed' || (outcome === 'degraded' && errorMessage !== null)) return outcome;
  return degradedAtMs > 0 && latency !== null && latency > degradedAtMs ? 'degraded' : 'passed';
}
