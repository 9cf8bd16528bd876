import { checkView } from '../answers.ts';
import type { ApiDependencies, RunNowResult } from '../dependencies.ts';
import { type Endpoint, endpoint, idOf, ok, workspaceOf } from '../endpoint.ts';
import { Problem } from '../problem.ts';

export function checkEndpoints({
  monitors,
  checks,
}: Pick<ApiDependencies, 'monitors' | 'checks'>): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/monitors/{id}/check',
      access: 'write',
      tag: 'Monitors',
      summary: 'One attempt per region now: not recorded, alerts nobody',
      answers: { 200: { description: "Each region's outcome.", schema: checkView } },
      async handle(request) {
        const id = idOf(request);
        const monitor = monitors.get(id);
        if (monitor?.workspaceId !== workspaceOf(request)) {
          throw new Problem('not-found', `there is no monitor ${id}`);
        }
        const answers = await checks.runNow(monitor);
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
