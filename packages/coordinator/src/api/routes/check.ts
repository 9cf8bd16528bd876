import { SvcError } from '@svc/shared/errors.ts';
import { check } from '@svc/shared/messages/check.ts';
import type { Region } from '@svc/shared/regions.ts';
import { toCheck } from '@svc/shared/resources/check.ts';
import { MONITOR_KINDS } from '@svc/shared/resources/monitors.ts';
import { Secret } from '@svc/shared/secret.ts';
import type { RegionAnswer, RunNowResult } from '../../checks/manual-runs.ts';
import type { AttributesOf, MonitorKind } from '../../declaration/kinds/kinds.ts';
import { checkView } from '../answers.ts';
import type { ApiParts } from '../api-parts.ts';
import { AtOnce } from '../at-once.ts';
import { attributesIn } from '../collection.ts';
import { endpoint, idOf, ok, type ServedEndpoint, serve, workspaceOf } from '../endpoint.ts';
import { Problem } from '../problem.ts';
import { monitorKindOf } from './monitors.ts';

type Parts = Pick<ApiParts, 'monitors' | 'agents' | 'checks' | 'configuration'>;

/** Most simultaneous runs of one workspace, of the 32 that all workspaces share. */
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
    'The body is that of a create, and is validated as one. One attempt is made in each region, whatever `active`, `periodicity` and `retry` say. Nothing is recorded and nobody is alerted. A region that does not answer within `timeout` and 5 s has no result.',
  body: { resource: MONITOR_KINDS },
  answers: { 200: { description: 'Outcome of each region.', schema: checkView } },
});

export function checkEndpoints({ monitors, agents, checks, configuration }: Parts): ServedEndpoint[] {
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
      const monitor = monitors.get(id);
      if (monitor?.workspaceId !== workspaceOf(request)) {
        throw new Problem('not-found', `there is no monitor ${id}`);
      }
      const { timeout } = check.parse(JSON.parse(monitor.checkText.reveal()));
      return run(workspaceOf(request), monitor.checkText, monitor.regions ?? agents.live(), timeout);
    }),
    serve(dryRun, async (request) => {
      const kind = monitorKindOf(request.body);
      const draft = attributesIn(kind, request.body) as AttributesOf<MonitorKind>;
      configuration.checkMonitor(draft);
      const drafted = toCheck(draft);
      const checkText = new Secret(JSON.stringify(drafted));
      return run(workspaceOf(request), checkText, draft.regions ?? agents.live(), drafted.timeout);
    }),
  ];
}

function regionView({ region, agent, result }: RegionAnswer) {
  return { region, agent_id: agent, result: result === null ? null : viewOf(result) };
}

/**
 * Translates the errors of a run: without a connection to NATS, or with too many runs at once, another try
 * may succeed.
 */
function refuse(error: unknown): never {
  if (!(error instanceof SvcError)) throw error;
  throw new Problem('unavailable', `the check cannot be run now: ${error.message}`, {
    headers: { 'retry-after': '5' },
  });
}

function viewOf(result: RunNowResult) {
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
    assertions: result.assertions ?? null,
  };
}
