import { SvcError } from '@svc/shared/errors.ts';
import { check } from '@svc/shared/messages/check.ts';
import { OUTCOMES } from '@svc/shared/messages/check-result.ts';
import { givenRegionId, type Region } from '@svc/shared/regions.ts';
import { MONITOR_KINDS, toCheck } from '@svc/shared/resources/monitors.ts';
import { Secret } from '@svc/shared/secret.ts';
import { z } from 'zod';
import type { RegionAnswer, RunNowResult } from '../../checks/manual-runs.ts';
import type { AttributesOf, MonitorKind } from '../../declaration/kinds/kind-tables.ts';
import { slotsWithOutcome } from '../../history/slots-with-outcome.ts';
import { newestResults, type RecordedResult } from '../../store/results/newest-results.ts';
import { transitionVotes } from '../../store/states/stored-votes.ts';
import { newestTransitions, type TransitionRow } from '../../store/states/transitions.ts';
import { checkView, type ResultView, resultView, type TransitionView, transitionView } from '../answers.ts';
import type { ApiParts } from '../api-parts.ts';
import { AtOnce } from '../at-once.ts';
import { attributesIn } from '../collection.ts';
import { endpoint, idOf, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { cursorPage, decodeCursor, historyOf, historyPage, instantIn } from '../lists.ts';
import { Problem } from '../problem.ts';
import { monitorKindOf, requireMonitor } from './monitors.ts';
import { requireKnownRegion } from './regions.ts';

/**
 * How long before the creation of a monitor the search for its results
 * begins, ms. The clock may have been wrong when the monitor was created.
 */
const CLOCK_ERROR_MS = 24 * 3_600_000;

const cursorKeys = z.tuple([z.number().int(), z.string()]);

export const monitorResults = endpoint({
  method: 'GET',
  path: '/v1/monitors/{id}/results',
  access: 'read',
  tag: 'Monitors',
  summary: 'List the results of a monitor, newest first',
  query: cursorPage.extend({
    region: givenRegionId.optional().meta({ description: 'Only results of this region.' }),
    outcome: z
      .enum(OUTCOMES, 'must be passed, degraded, failed or not_run')
      .optional()
      .meta({ description: 'Only results with this outcome.' }),
    from: instantIn('Only results of slots at or after this instant, epoch ms.'),
    until: instantIn('Only results of slots before this instant, epoch ms.'),
  }),
  answers: { 200: { description: 'A page of results.', schema: historyOf(resultView) } },
});

export function resultEndpoints({ store, slotNow }: Pick<ApiParts, 'store' | 'slotNow'>): ServedEndpoint[] {
  return [
    serve(monitorResults, async (request) => {
      const { limit, cursor, region = null, outcome = null, from = 0, until = null } = request.query;
      await requireKnownRegion(store, region);
      const { id: monitorId, createdAt } = await requireMonitor(store, workspaceOf(request), idOf(request));
      const after = decodeCursor(cursor, cursorKeys);
      const rows = await newestResults(store, {
        monitorId,
        since: Math.max(createdAt - CLOCK_ERROR_MS, from),
        before: until,
        region,
        outcome,
        ...(outcome === null
          ? {}
          : { mayHave: await slotsWithOutcome(store, { monitorId, region, outcome }, slotNow()) }),
        after: after === null ? null : { slot: after[0], region: after[1] },
        limit: limit + 1,
      });
      return ok(historyPage(rows, limit, resultViewOf, (row) => [row.slot, row.region]));
    }),
  ];
}

function resultViewOf(result: RecordedResult): ResultView {
  return {
    region: result.region,
    cron_timestamp: result.slot,
    ...findingsOf(result),
    agent_id: result.agent,
    recorded_at: result.recorded_at,
  };
}

/** The members of a result that are null if they do not apply. */
type Nullable =
  | 'reason'
  | 'latency'
  | 'phases'
  | 'status_code'
  | 'error_message'
  | 'certificate_expires_at'
  | 'body_truncated';
type Findings = Pick<RunNowResult, 'outcome' | 'attempts'> & {
  readonly [M in Nullable]?: RunNowResult[M] | null;
};

/** Makes the members that a recorded result and the result of a manual check have in common. */
function findingsOf(result: Findings) {
  return {
    outcome: result.outcome,
    reason: result.reason ?? null,
    latency: result.latency ?? null,
    phases: result.phases ?? null,
    status_code: result.status_code ?? null,
    error_message: result.error_message ?? null,
    attempts: result.attempts,
    certificate_expires_at: result.certificate_expires_at ?? null,
    body_truncated: result.body_truncated ?? false,
  };
}

const transitionKeys = z.tuple([z.number().int()]);

export const monitorTransitions = endpoint({
  method: 'GET',
  path: '/v1/monitors/{id}/transitions',
  access: 'read',
  tag: 'Monitors',
  summary: 'List the changes of status of a monitor with the votes that made them, newest first',
  query: cursorPage,
  answers: { 200: { description: 'A page of transitions.', schema: historyOf(transitionView) } },
});

export function transitionEndpoints({ store }: Pick<ApiParts, 'store'>): ServedEndpoint[] {
  return [
    serve(monitorTransitions, async (request) => {
      const { limit, cursor } = request.query;
      const { id: monitorId } = await requireMonitor(store, workspaceOf(request), idOf(request));
      const beforeId = decodeCursor(cursor, transitionKeys)?.[0] ?? null;
      const rows = await newestTransitions(store, { monitorId, beforeId, limit: limit + 1 });
      return ok(historyPage(rows, limit, transitionViewOf, (row) => [row.id]));
    }),
  ];
}

function transitionViewOf(row: TransitionRow): TransitionView {
  return {
    id: String(row.id),
    from: row.from_status as TransitionView['from'],
    to: row.to_status as TransitionView['to'],
    reason: row.reason,
    at: row.at,
    slot: row.slot,
    incident: row.incident,
    until: row.until,
    slots: row.slots,
    votes: transitionVotes.parse(JSON.parse(row.votes)),
  };
}

type CheckParts = Pick<ApiParts, 'monitors' | 'agents' | 'checks' | 'configuration' | 'ownRegions'>;

/** Maximum number of simultaneous manual checks of one workspace. All workspaces together have at most 32. */
const RUNS_PER_WORKSPACE = 8;

const checkNow = endpoint({
  method: 'POST',
  path: '/v1/monitors/{id}/check',
  access: 'write',
  tag: 'Monitors',
  summary: 'Run one attempt in each region now. It is not recorded and causes no alert',
  answers: { 200: { description: 'Outcome of each region.', schema: checkView } },
});

export const dryRun = endpoint({
  method: 'POST',
  path: '/v1/monitors/dry-run',
  access: 'write',
  tag: 'Monitors',
  summary: 'Run the draft of a monitor in each of its regions now. It is not created',
  description:
    'The body is that of a creation, and is validated in the same way. One attempt is made in each region, whatever `active`, `periodicity` and `retry` say. Nothing is recorded, and no alert is sent. A region that does not answer within `timeout` and 5 s has no result.',
  body: { resource: MONITOR_KINDS },
  answers: { 200: { description: 'Outcome of each region.', schema: checkView } },
});

export function checkEndpoints({
  monitors,
  agents,
  checks,
  configuration,
  ownRegions,
}: CheckParts): ServedEndpoint[] {
  const atOnce = new AtOnce();
  const run = async (
    workspaceId: number,
    checkText: Secret,
    regions: readonly Region[],
    timeoutMs: number,
  ) => {
    const bounds = [{ key: String(workspaceId), most: RUNS_PER_WORKSPACE }];
    const answers = await atOnce.runBounded('manual checks of the workspace', bounds, () =>
      checks.runNow(checkText, regions, timeoutMs).catch(refuse),
    );
    return ok({ data: answers.map(regionView) });
  };
  return [
    serve(checkNow, async (request) => {
      const id = idOf(request);
      const monitor = (await monitors.findMonitors([id])).get(id);
      if (monitor?.workspaceId !== workspaceOf(request)) {
        throw new Problem('not-found', `there is no monitor ${id}`);
      }
      const { timeout } = check.parse(JSON.parse(monitor.checkText.reveal()));
      return run(workspaceOf(request), monitor.checkText, monitor.regions ?? agents.liveRegions(), timeout);
    }),
    serve(dryRun, async (request) => {
      const kind = monitorKindOf(request.body);
      const draft = attributesIn(kind, request.body, ownRegions) as AttributesOf<MonitorKind>;
      configuration.checkMonitor(draft);
      const drafted = toCheck(draft);
      const checkText = new Secret(JSON.stringify(drafted));
      return run(workspaceOf(request), checkText, draft.regions ?? agents.liveRegions(), drafted.timeout);
    }),
  ];
}

function regionView({ region, agent, result }: RegionAnswer) {
  return {
    region,
    agent_id: agent,
    result: result === null ? null : { ...findingsOf(result), assertions: result.assertions ?? null },
  };
}

/**
 * Translates an error of a manual check into a problem. A later try may
 * succeed, when NATS is connected again or other manual checks have ended.
 *
 * @throws Problem `unavailable`; an error that is no SvcError is thrown unchanged
 */
function refuse(error: unknown): never {
  if (!(error instanceof SvcError)) throw error;
  throw new Problem('unavailable', `the check cannot be run now: ${error.message}`, {
    headers: { 'retry-after': '5' },
  });
}
