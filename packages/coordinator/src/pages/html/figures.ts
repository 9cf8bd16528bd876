import type { DayView } from '../page-view.ts';
import { fill } from '../text/text.ts';
import type { Words } from '../words.ts';

/** Whether something was wrong on the day, however shortly. */
export function isProblem({ times }: DayView): boolean {
  return times.error > 0 || times.degraded > 0;
}

/** The figures of a day: "99.65 % · down for 5 min". */
export function dayFigures({ uptime, times }: DayView, words: Words): string {
  const { downFor, degradedFor } = words.text;
  const parts = uptime === null ? [] : [words.percent(uptime)];
  if (times.error > 0) parts.push(fill(downFor, { duration: words.duration(times.error) }));
  if (times.degraded > 0) parts.push(fill(degradedFor, { duration: words.duration(times.degraded) }));
  return parts.join(' · ');
}
