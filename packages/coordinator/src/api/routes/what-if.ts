import { ALERT_STATUSES } from '@svc/shared/channels/alert.ts';
import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
import { SvcError } from '@svc/shared/errors.ts';
import { check } from '@svc/shared/messages/check.ts';
import { quorumOf } from '@svc/shared/quorum.ts';
import { givenRegionId } from '@svc/shared/regions.ts';
import { running } from '@svc/shared/resources/monitor-common.ts';
import { z } from 'zod';
import { closesIncidents } from '../../alerts/registry.ts';
import type { Comparison, Course, OtherSettings } from '../../history/what-if/compare.ts';
import { monitorCreatedAt } from '../../store/declaration/monitors.ts';
import { wholeMs } from '../../store/queries.ts';
import { type RegionNumbers, storedRegionNumbers } from '../../store/results/region-numbers.ts';
import { type LiveMonitor, MONITOR_STATUSES } from '../../verdict/monitor.ts';
import { DAY_MS } from '../../verdict/summary-range.ts';
import { uptimePercent } from '../../verdict/uptime.ts';
import type { ApiParts } from '../api-parts.ts';
import { AtOnce, InTurn } from '../at-once.ts';
import { endpoint, idOf, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { invalid, Problem } from '../problem.ts';
import { roundedTimes } from './summary.ts';

/** Maximum length of a replay, days. By default, results are stored for as many days. */
const DAYS = 14;
/**
 * Maximum number of changes in an answer, and maximum number
 * of alerts. If there are more, the answer has the newest.
 */
const SHOWN = 500;

const whatIfBody = z
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
        description:
          'Attempts after the first, at most as many as the monitor has. The default: as they were.',
      }),
    degraded_at: running.degraded_at.value.schema.nullish().meta({
      description:
        'Latency above which a passing check is degraded, ms; 0: it never is. Left out: as it was.',
    }),
    regions: z
      .array(givenRegionId)
      .min(1, 'must name a region')
      .nullish()
      .meta({ description: 'Some of the regions of the monitor (default all).' }),
    quorum: running.quorum.value.schema
      .nullish()
      .meta({ description: 'As of a monitor. Left out: as it is.' }),
    confirm_after: running.confirm_after.value.schema
      .nullish()
      .meta({ description: 'As of a monitor. Left out: as it is.' }),
    recover_after: running.recover_after.value.schema
      .nullish()
      .meta({ description: 'As of a monitor. Left out: as it is.' }),
  })
  .meta({ examples: [{ days: 7, retry: 0, degraded_at: 800, regions: ['hosta-fra', 'hosta-iad'] }] });
type WhatIfBody = z.infer<typeof whatIfBody>;

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

const whatIfView = z
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

function whatIfAnswer({ from, until, actual, replayed }: Comparison): WhatIfView {
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

type Parts = Pick<ApiParts, 'store' | 'monitors' | 'whatIfs' | 'slotNow'>;

/**
 * Maximum number of replays of one token that run or wait. If a token
 * could have several, they would delay the replays of other tokens.
 */
const REPLAYS_PER_TOKEN = 1;

export const replayMonitor = endpoint({
  method: 'POST',
  path: '/v1/monitors/{id}/what-if',
  access: 'read',
  tag: 'Monitors',
  summary: 'Replay the results of a monitor with other settings, and compare with what happened',
  description:
    'An estimate: the recorded results go through the evaluation again, in the order of their recording, with fewer retries, another `degraded_at`, fewer regions, another `quorum`, or another number of checks in a row (`confirm_after`, `recover_after`). Restarts of the coordinator, single late reports and earlier declarations may come out differently than they did. The replay knows no mutes, so it has the alerts that one held. Nothing is changed and nobody is alerted. Replays of a workspace run one after the other; a token may have one that runs or waits.',
  body: whatIfBody,
  answers: { 200: { description: 'What happened, and what would have happened.', schema: whatIfView } },
  problems: ['invalid', 'conflict'],
});

export function whatIfEndpoints({ store, monitors, whatIfs, slotNow }: Parts): ServedEndpoint[] {
  const atOnce = new AtOnce();
  const inTurn = new InTurn<number>();
  return [
    serve(replayMonitor, async (request) => {
      const id = idOf(request);
      const workspaceId = workspaceOf(request);
      const createdAt = await monitorCreatedAt(store, workspaceId, id);
      const present = (await monitors.findMonitors([id])).get(id);
      if (createdAt === null || present === undefined) {
        throw new Problem('not-found', `there is no monitor ${id}`);
      }
      const { timeout, retry } = check.parse(JSON.parse(present.checkText.reveal()));
      const settings = settingsOf(
        request.body,
        { retry, regions: present.regions },
        await storedRegionNumbers(store),
      );
      const until = slotNow();
      const whatIf = {
        ...{ present, createdAt, settings, until },
        timeoutMs: timeout,
        from: until - request.body.days * DAY_MS,
        closing: CHANNEL_KINDS.filter((kind) => closesIncidents(kind)),
      };
      const bounds = [{ key: String(request.token?.id), most: REPLAYS_PER_TOKEN }];
      const compared = await atOnce.runBounded('replays of the token', bounds, () =>
        inTurn.runInTurn(workspaceId, request.signal, () =>
          whatIfs.compare(whatIf, request.signal).catch(refuse),
        ),
      );
      if (compared !== null) return ok(whatIfAnswer(compared));
      const detail = 'this monitor has no results to replay yet: try again after some checks';
      throw new Problem('conflict', detail);
    }),
  ];
}

type Declared = Pick<LiveMonitor, 'regions'> & { readonly retry: number };

/**
 * Reads the settings for a replay from a body.
 *
 * @throws Problem `invalid` that lists all errors
 */
function settingsOf(body: WhatIfBody, declared: Declared, numbers: RegionNumbers): OtherSettings {
  const { retry, degraded_at, regions, quorum, confirm_after, recover_after } = body;
  const mistakes: { path: (string | number)[]; message: string }[] = [];
  if (retry !== null && retry !== undefined && retry > declared.retry) {
    const message = `must be at most ${declared.retry}: no more attempts were made`;
    mistakes.push({ path: ['retry'], message });
  }
  for (const [index, region] of (regions ?? []).entries()) {
    const isKnown = declared.regions?.includes(region) ?? numbers.numberIn(region) !== null;
    if (isKnown) continue;
    const message =
      declared.regions === null
        ? 'is not a region'
        : `must be a region of the monitor: ${declared.regions.join(', ')}`;
    mistakes.push({ path: ['regions', index], message });
  }
  if (mistakes.length > 0) throw invalid(mistakes);
  return {
    retry: retry ?? undefined,
    degradedAtMs: degraded_at ?? undefined,
    regions: regions ?? undefined,
    quorum: typeof quorum === 'string' ? quorumOf(quorum) : undefined,
    confirmAfter: confirm_after ?? undefined,
    recoverAfter: recover_after ?? undefined,
  };
}

function refuse(error: unknown): never {
  if (!(error instanceof SvcError)) throw error;
  throw new Problem('unavailable', `the replay cannot be made now: ${error.message}`, {
    headers: { 'retry-after': '5' },
  });
}
