import { utcText } from '@svc/shared/time-texts.ts';
import type { Status } from './answers.ts';

/** A length of time for people. */
export function lengthText(seconds: number): string {
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}

/**
 * For how long and since when a region has no agent: `for 3 min, since 2026-11-22 10:00:00 UTC`. The clock of this
 * machine may be behind the coordinator's: then it is 0 s.
 *
 * @param now epoch ms
 */
export function absenceText(
  { absent_since: since, last_seen_at: seenAt }: Status['regions'][number],
  now: number,
): string {
  const at = since ?? seenAt;
  if (at === null) return 'never had one';
  return `for ${lengthText(Math.max(0, now - at) / 1_000)}, since ${utcText(at)}`;
}
