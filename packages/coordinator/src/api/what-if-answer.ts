import { ALERT_STATUSES } from '@svc/shared/channels/alert.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import { REGIONS } from '@svc/shared/regions.ts';
import { z } from 'zod';
import { MONITOR_STATUSES } from '../domain/monitor.ts';
import { uptimePercent } from '../domain/uptime.ts';
import { wholeMs } from '../store/whole-ms.ts';
import type { Comparison, Course } from '../what-if/compare.ts';
import { roundedTimes } from './summary-answer.ts';

/** Longest time that is replayed, days: results are kept for as long by default. */
const DAYS = 14;
/** Most changes and most alerts in an answer; the newest are shown. */
const SHOWN = 500;

export const whatIfBody = z
  .strictObject({
    days: z
      .number('must be a number')
      .int('must be a whole number')
      .min(1, 'must be at least 1')
      .max(DAYS, `must be at most ${DAYS}`)
      .default(DAYS)
      .meta({ description: 'How far back the replay goes, days.' }),
    retry: z
      .number('must be a number')
      .int('must be a whole number')
      .min(0, 'must be at least 0')
      .nullish()
      .meta({
        description: 'Attempts after the first, at most those of the monitor. Left out: as they were.',
      }),
    degraded_at: z
      .number('must be a number')
      .int('must be a whole number')
      .min(0, 'must be at least 0')
      .max(LIMITS.timeoutMs, `must be at most ${LIMITS.timeoutMs}`)
      .nullish()
      .meta({
        description:
          'Latency above which a passing check is degraded, ms; 0: it never is. Left out: as it was.',
      }),
    regions: z
      .array(z.enum(REGIONS, 'must be a region'))
      .min(1, 'must name a region')
      .nullish()
      .meta({ description: 'Regions to ask, of those of the monitor (default all).' }),
  })
  .meta({ examples: [{ days: 7, retry: 0, degraded_at: 800, regions: ['hosta-fra', 'hosta-iad'] }] });
export type WhatIfBody = z.infer<typeof whatIfBody>;

const instant = z.number().int();
const count = z.number().int().nonnegative();

const course = z.object({
  uptime: z.number().min(0).max(100).nullable().meta({
    description: 'As in the summary of a monitor, in percent. Null where nothing is known.',
  }),
  time: z
    .object({ active: count, degraded: count, error: count, unknown: count, maintenance: count })
    .meta({ description: 'Time in each status, ms, as in the summary of a monitor.' }),
  transition_count: count,
  transitions: z
    .array(
      z.object({
        from: z.enum(MONITOR_STATUSES),
        to: z.enum(MONITOR_STATUSES),
        reason: z.string(),
        at: instant,
      }),
    )
    .meta({ description: `Changes of status, newest first, at most ${SHOWN}.` }),
  alert_count: count,
  alerts: z
    .array(z.object({ notification_id: z.string(), status: z.enum(ALERT_STATUSES), at: instant }))
    .meta({ description: `Alerts, newest first, at most ${SHOWN}.` }),
});

const SAMPLE = {
  uptime: 99.93,
  time: { active: 604_376_000, degraded: 0, error: 424_000, unknown: 0, maintenance: 0 },
  transition_count: 0,
  transitions: [],
  alert_count: 0,
  alerts: [],
};

export const whatIfView = z
  .object({
    from: instant.meta({
      description:
        'Beginning of the compared time, epoch ms. It is later than requested where less was kept.',
    }),
    until: instant.meta({ description: 'Now, epoch ms.' }),
    actual: course.meta({ description: 'What happened.' }),
    what_if: course.meta({
      description: 'What would have happened with the other settings, by an estimate.',
    }),
  })
  .meta({
    examples: [{ from: 1_767_225_600_000, until: 1_767_830_400_000, actual: SAMPLE, what_if: SAMPLE }],
  });

export type WhatIfView = z.infer<typeof whatIfView>;

export function whatIfAnswer({ from, until, actual, replayed }: Comparison): WhatIfView {
  return { from, until, actual: courseView(actual), what_if: courseView(replayed) };
}

function courseView({ changes, alerts, times }: Course): z.infer<typeof course> {
  return {
    uptime: uptimePercent(times),
    time: roundedTimes(times),
    transition_count: changes.length,
    transitions: changes
      .slice(-SHOWN)
      .reverse()
      .map(({ from, to, reason, at }) => ({ from, to, reason, at: wholeMs(at) })),
    alert_count: alerts.length,
    alerts: alerts
      .slice(-SHOWN)
      .reverse()
      .map(({ notificationId, status, at }) => ({
        notification_id: String(notificationId),
        status,
        at: wholeMs(at),
      })),
  };
}
