import { PROMETHEUS_TYPE, prometheusText } from '@svc/shared/metrics/prometheus.ts';
import { z } from 'zod';
import { healthView } from '../answers.ts';
import type { ApiParts } from '../api-parts.ts';
import { endpoint, ok, type ServedEndpoint, serve } from '../endpoint.ts';
import { Problem } from '../problem.ts';
import { carriesSecret } from '../request-gate.ts';

const aliveView = z.object({ status: z.literal('ok') }).meta({ examples: [{ status: 'ok' }] });

const alive = endpoint({
  method: 'GET',
  path: '/healthz',
  access: 'public',
  tag: 'Health',
  summary: 'Whether the process answers',
  answers: { 200: { description: 'The process answers.', schema: aliveView } },
});

const ready = endpoint({
  method: 'GET',
  path: '/readyz',
  access: 'public',
  tag: 'Health',
  summary: 'Whether all parts work',
  answers: {
    200: { description: 'All parts work.', schema: healthView },
    503: { description: 'Some part does not work.', schema: healthView },
  },
});

const metrics = endpoint({
  method: 'GET',
  path: '/metrics',
  access: 'public',
  tag: 'Health',
  summary:
    'Metrics in the text format of Prometheus. Where `SVC_METRICS_TOKEN` is set, it is required as bearer token',
  answers: {
    200: { description: 'The metrics.', contentType: PROMETHEUS_TYPE },
  },
  problems: ['unauthorized'],
});

export function healthEndpoints({
  readiness,
  measurements,
  metricsToken,
}: Pick<ApiParts, 'readiness' | 'measurements' | 'metricsToken'>): ServedEndpoint[] {
  return [
    serve(alive, () => ok({ status: 'ok' })),
    serve(ready, () => {
      const parts = readiness();
      const isReady = Object.values(parts).every(Boolean);
      const body = { status: isReady ? 'ok' : 'unavailable', parts } as const;
      return { status: isReady ? 200 : 503, body };
    }),
    serve(metrics, (request) => {
      if (metricsToken !== null && !carriesSecret(request.header('authorization'), metricsToken)) {
        throw new Problem('unauthorized', 'send the token of SVC_METRICS_TOKEN as bearer token', {
          headers: { 'www-authenticate': 'Bearer realm="svc metrics"' },
        });
      }
      return ok(prometheusText(measurements()), { 'content-type': PROMETHEUS_TYPE });
    }),
  ];
}
