import { z } from 'zod';
import { MONITOR_STATUSES } from '../domain/monitor.ts';
import { uptimePercent, worstStatus } from '../domain/uptime.ts';
import { UPTIME_RANGES, type Uptimes } from '../rollups/status-times.ts';
import { instant, roundedTimes, statusTimes, uptime } from './summary-answer.ts';

const TIME_EXAMPLE = { active: 84_210_000, degraded: 260_000, error: 130_000, unknown: 0, maintenance: 0 };

export const uptimeView = z
  .object({
    until: instant.meta({ description: 'Now, epoch ms.' }),
    ranges: z
      .array(
        z.object({
          range: z.enum(UPTIME_RANGES),
          from: instant.meta({ description: 'Beginning of the range, epoch ms.' }),
          uptime,
          time: statusTimes,
        }),
      )
      .meta({ description: 'The ranges of the summaries with the same names, the shortest first.' }),
    days: z
      .array(
        z.object({
          at: instant.meta({ description: 'Beginning of the day in UTC, epoch ms.' }),
          status: z.enum(MONITOR_STATUSES).meta({ description: 'The worst status on the day.' }),
          uptime,
          time: statusTimes,
        }),
      )
      .meta({ description: 'The last 90 days, oldest first, today until now included.' }),
  })
  .meta({
    examples: [
      {
        until: 1_767_227_400_000,
        ranges: [{ range: '24h', from: 1_767_142_800_000, uptime: 99.84, time: TIME_EXAMPLE }],
        days: [{ at: 1_767_139_200_000, status: 'error', uptime: 99.84, time: TIME_EXAMPLE }],
      },
    ],
  });
export type UptimeView = z.infer<typeof uptimeView>;

/** @param now epoch ms */
export function uptimeAnswer({ ranges, days }: Uptimes, now: number): UptimeView {
  return {
    until: now,
    ranges: ranges.map(({ range, from, times }) => ({
      range,
      from,
      uptime: uptimePercent(times),
      time: roundedTimes(times),
    })),
    days: days.map(({ at, times }) => ({
      at,
      status: worstStatus(times),
      uptime: uptimePercent(times),
      time: roundedTimes(times),
    })),
  };
}
