import type { Region } from '@svc/shared/regions.ts';
import type { RecordedRow } from '../../store/results/results-as-recorded.ts';
import { lastedMs } from '../../verdict/check-end.ts';
import { longestCheckMs } from '../../verdict/longest-check.ts';
import type { LiveMonitor } from '../../verdict/monitor.ts';

/** The settings to replay with. Left out: as they are. */
export type OtherSettings = {
  /** Attempts after the first, at most those that were made. */
  readonly retry?: number | undefined;
  /** ms; 0: a passing check is never degraded. */
  readonly degradedAtMs?: number | undefined;
  /** Only these regions are asked. */
  readonly regions?: readonly Region[] | undefined;
};

/** The monitor under the other settings. `timeoutMs`: the declared one. */
export function altered(
  monitor: LiveMonitor,
  timeoutMs: number,
  { retry, degradedAtMs, regions }: OtherSettings,
): LiveMonitor {
  return {
    ...monitor,
    ...(retry === undefined ? {} : { longestCheckMs: longestCheckMs(timeoutMs, retry) }),
    ...(degradedAtMs === undefined ? {} : { degradedAtMs }),
    ...(regions === undefined ? {} : { regions: fewer(monitor.regions, regions) }),
  };
}

/** The result as the check would have ended. With fewer attempts it ends, and is recorded, earlier. */
export function alteredRow(row: RecordedRow, { retry, degradedAtMs }: OtherSettings): RecordedRow {
  const ended = retry === undefined ? row : withAttempts(row, retry + 1);
  return degradedAtMs === undefined ? ended : { ...ended, outcome: outcomeUnder(ended, degradedAtMs) };
}

function fewer(declared: readonly Region[] | null, regions: readonly Region[]): readonly Region[] {
  return declared === null ? regions : declared.filter((region) => regions.includes(region));
}

/** All attempts but the last have failed, so a check that ends before the last has failed. */
function withAttempts(row: RecordedRow, most: number): RecordedRow {
  const last = row.attempts[most - 1];
  if (last === undefined || row.attempts.length <= most) return row;
  const attempts = row.attempts.slice(0, most);
  const savedMs = lastedMs({ attempts: row.attempts }) - lastedMs({ attempts });
  return {
    ...row,
    attempts,
    recordedAt: Math.max(row.slot, Math.floor(row.recordedAt - savedMs)),
    outcome: 'failed',
    latency: last.latency,
    statusCode: last.status_code ?? null,
    errorMessage: last.error_message ?? null,
  };
}

/** A degraded result with a message is not about its latency: a certificate expires too soon. */
function outcomeUnder({ outcome, latency, errorMessage }: RecordedRow, degradedAtMs: number) {
  if (outcome === 'failed' || outcome === 'not_run') return outcome;
  if (outcome === 'degraded' && errorMessage !== null) return outcome;
  return degradedAtMs > 0 && latency !== null && latency > degradedAtMs ? 'degraded' : 'passed';
}
