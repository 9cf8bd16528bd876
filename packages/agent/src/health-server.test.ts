import { AGENT_GAUGES } from '@svc/shared/metrics/agent-instruments.ts';
import { LoopDelay } from '@svc/shared/metrics/process-instruments.ts';
import { seriesOf } from '@svc/shared/metrics/values.ts';
import { Secret } from '@svc/shared/secret.ts';
import { afterEach, describe, expect, test } from 'vitest';
import { parsePrometheus } from '../../../test/support/prometheus-text.ts';
import { HealthServer } from './health-server.ts';
import { agentMeasurements, createMetrics } from './metrics.ts';

const GAUGES = {
  running: 1,
  pending: 0,
  held: 1,
  outbox: 0,
  outboxAge: 0,
  info: seriesOf(AGENT_GAUGES.info, []),
  connected: 1,
  sick: { 'network-down': 0, starved: 1 },
};

const PROCESS = { version: '1', loopDelay: new LoopDelay().values };

let server: HealthServer;
afterEach(() => server.stop());

async function started(metricsToken?: string): Promise<{ url: string; state: { isReady: boolean } }> {
  const state = { isReady: true };
  const metrics = { ...createMetrics(), attempts: 3 };
  metrics.results.failed = 2;
  server = new HealthServer({
    listen: { host: '127.0.0.1', port: 0 },
    metricsToken: metricsToken === undefined ? undefined : new Secret(metricsToken),
    isReady: () => state.isReady,
    measurements: () => agentMeasurements(metrics, GAUGES, PROCESS, 0),
  });
  await server.start();
  return { url: `http://127.0.0.1:${server.port}`, state };
}

describe('the health address', () => {
  test('says that the process works and whether it takes jobs', async () => {
    const { url, state } = await started();
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    state.isReady = false;
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
  });

  test('shows metrics as Prometheus text', async () => {
    const { url } = await started();
    const response = await fetch(`${url}/metrics`);
    const text = await response.text();
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(text).toContain('# TYPE svc_agent_attempts_total counter\nsvc_agent_attempts_total 3\n');
    expect(text).toContain('svc_agent_results_total{outcome="failed"} 2\n');
    expect(text).toContain('svc_agent_nats_connected 1\n');
    expect(text).toContain('svc_agent_sick{sickness="starved"} 1\n');
    expect(parsePrometheus(text).get('process_resident_memory_bytes')?.samples[0]?.value).toBeGreaterThan(
      1e6,
    );
  });

  test.each([
    [undefined, 401],
    ['Bearer wrong', 401],
    ['correct', 401],
    ['Bearer correct', 200],
  ])('with a token, metrics for "%s" is %i', async (authorization, status) => {
    const { url } = await started('correct');
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    expect((await fetch(`${url}/metrics`, { headers })).status).toBe(status);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  test('answers 404 for other paths, and 405 for other methods', async () => {
    const { url } = await started();
    expect((await fetch(`${url}/`)).status).toBe(404);
    expect((await fetch(`${url}/metrics`, { method: 'POST', body: 'x' })).status).toBe(405);
  });
});
