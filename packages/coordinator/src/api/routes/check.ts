import { SvcError } from '@svc/shared/errors.ts';
import { check } from '@svc/shared/messages/check.ts';
import type { RunNowResult } from '../../dispatch/manual-runs.ts';
import { checkView } from '../answers.ts';
import type { ApiParts } from '../api-parts.ts';
import { AtOnce } from '../at-once.ts';
import { type Endpoint, endpoint, idOf, ok, workspaceOf } from '../endpoint.ts';
import { Problem } from '../problem.ts';

type Parts = Pick<ApiParts, 'monitors' | 'agents' | 'checks'>;

/** Most simultaneous runs of one workspace, of the 32 that all workspaces share. */
const RUNS_PER_WORKSPACE = 8;

export function checkEndpoints({ monitors, agents, checks }: Parts): Endpoint[] {
  const atOnce = new AtOnce();
  return [
    endpoint({
      method: 'POST',
      path: '/v1/monitors/{id}/check',
      access: 'write',
      tag: 'Monitors',
      summary: 'Run one attempt in each region now. It is not recorded and causes no alert',
      answers: { 200: { description: 'Outcome of each region.', schema: checkView } },
      async handle(request) {
        const id = idOf(request);
        const monitor = monitors.get(id);
        if (monitor?.workspaceId !== workspaceOf(request)) {
          throw new Problem('not-found', `there is no monitor ${id}`);
        }
        const { timeout } = check.parse(JSON.parse(monitor.checkText.reveal()));
        const regions = monitor.regions ?? agents.live();
        const bounds = [{ key: String(workspaceOf(request)), most: RUNS_PER_WORKSPACE }];
        const answers = await atOnce.run('manual checks of the workspace', bounds, () =>
          checks.runNow(monitor.checkText, regions, timeout).catch(refuse),
        );
        return ok({
          data: answers.map(({ region, agent, result }) => ({
            region,
            agent_id: agent,
            result: result === null ? null : viewOf(result),
          })),
        });
      },
    }),
  ];
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
  };
}
