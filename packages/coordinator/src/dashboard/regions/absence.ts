import type { RegionView } from '../../api/answers.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { age, instant } from '../../web/times.ts';

/**
 * Since when a region has no agent that takes jobs, and how long ago that was: ` since 22 Nov 2026, 14:03 UTC (3
 * minutes ago)`. Nothing where an agent takes jobs, or where nobody has missed one.
 *
 * @param now epoch ms
 */
export function sinceWhen({ absent_since: since }: Pick<RegionView, 'absent_since'>, now: number): Html {
  return since === null ? NO_HTML : html` since ${instant(since)} (${age(since, now)})`;
}
