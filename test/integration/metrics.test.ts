import { spawnSync } from 'node:child_process';
import type { Instrument } from '@svc/shared/metrics/instrument.ts';
import { INSTRUMENT_GROUPS, type InstrumentGroup } from '@svc/shared/metrics/registry.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { IS_POSTGRES } from '../support/database.ts';
import { type HttpTarget, startHttpTarget } from '../support/http-target.ts';
import { LocalService } from '../support/local-service.ts';
import { type MetricFamily, parsePrometheus, scrape } from '../support/prometheus-text.ts';
import { findProgram } from '../support/real-dns-server.ts';

const PROMTOOL = findProgram('promtool');
if (PROMTOOL === null) {
  console.warn('SKIPPED: promtool is not installed (Debian: prometheus); it checks the text of the metrics');
}

/** Metrics without a value in this run: PostgreSQL does not report these sizes. */
const WITHOUT_VALUE = IS_POSTGRES ? ['svc_database_journal_bytes', 'svc_database_free_bytes'] : [];

let target: HttpTarget;
let service: LocalService;
let agentUrl: string;

beforeAll(async () => {
  target = await startHttpTarget();
  const monitor = { name: 'a', url: target.url, periodicity: '30s', active: true, regions: ['hosta-fra'] };
  service = await LocalService.start({
    declared: { svc_http_monitor: { a: monitor } },
    regions: ['hosta-fra'],
    agentsListen: true,
  });
  agentUrl = `http://127.0.0.1:${service.agent('hosta-fra').healthPort}`;
  await service.decided(await service.idOf('a'), 1);
});
afterAll(async () => {
  await service.dispose();
  await target.close();
});

async function textAt(url: string): Promise<string> {
  return (await fetch(`${url}/metrics`)).text();
}

function documented(...of: readonly InstrumentGroup['of'][]): readonly Instrument[] {
  return INSTRUMENT_GROUPS.filter((group) => of.includes(group.of)).flatMap(({ instruments }) => instruments);
}

/**
 * The series that a process must show according to the registry, in the text format. Labels with any values
 * appear by name only.
 */
function expectedOf(instruments: readonly Instrument[]): Record<string, object> {
  return Object.fromEntries(
    instruments.map(({ name, kind, description, label, openLabels, bounds }) => {
      const values = Object.keys(label?.values ?? {});
      const series =
        kind === 'histogram'
          ? [...bounds, '+Inf', 'sum', 'count'].map(String)
          : openLabels !== null
            ? [Object.keys(openLabels).join()]
            : label === null
              ? [name]
              : values.map((value) => `${label.name}=${value}`);
      return [name, { type: kind, help: description, series: WITHOUT_VALUE.includes(name) ? [] : series }];
    }),
  );
}

function shownIn(families: ReadonlyMap<string, MetricFamily>): Record<string, object> {
  return Object.fromEntries(
    [...families].map(([name, { type, help, samples }]) => {
      const isOpen = OPEN.has(name);
      const series = samples.map((sample) => {
        if (isOpen) return Object.keys(sample.labels).join();
        if (type === 'histogram') return sample.labels.le ?? sample.name.slice(name.length + 1);
        const pairs = Object.entries(sample.labels).map(([label, value]) => `${label}=${value}`);
        return pairs.length === 0 ? name : pairs.join();
      });
      return [name, { type, help, series: isOpen ? [...new Set(series)] : series }];
    }),
  );
}

const OPEN = new Set(
  INSTRUMENT_GROUPS.flatMap(({ instruments }) => instruments)
    .filter(({ openLabels }) => openLabels !== null)
    .map(({ name }) => name),
);

describe('the metrics of a running service', () => {
  test('an agent shows what is documented, and nothing else', async () => {
    const shown = shownIn(parsePrometheus(await textAt(agentUrl)));
    expect(shown).toEqual(expectedOf(documented('agent', 'process')));
  });

  test('a coordinator that leads shows what is documented, and nothing else', async () => {
    // A request is counted after its answer.
    await textAt(service.url);
    const shown = shownIn(parsePrometheus(await textAt(service.url)));
    expect(shown).toEqual(expectedOf(documented('coordinator', 'leader', 'process')));
  });

  test('count events', async () => {
    const agent = await scrape(agentUrl);
    const coordinator = await scrape(service.url);
    expect(agent.get('svc_agent_results_total{outcome="passed"}')).toBeGreaterThan(0);
    expect(agent.get('svc_agent_check_lateness_seconds_count')).toBeGreaterThan(0);
    expect(agent.get('svc_agent_nats_connected')).toBe(1);
    for (const series of [
      'svc_slots_total{outcome="dispatched"}',
      'svc_jobs_sent_total{time="first"}',
      'svc_results_total{novelty="new"}',
      'svc_record_transactions_total{outcome="committed"}',
      'svc_record_transaction_duration_seconds_count',
      'svc_record_transaction_duration_seconds_sum',
      'svc_api_answers_total{status="200"}',
      'svc_api_request_duration_seconds_count',
      'svc_api_requests_total{method="GET",route="/metrics",status="200"}',
      'svc_result_batches_total',
      'svc_result_delay_seconds_count',
      'svc_event_loop_delay_seconds_count',
      'svc_agents{region="hosta-fra"}',
      'svc_agents_capacity{region="hosta-fra"}',
      'svc_database_bytes',
      'svc_database_free_bytes',
      'svc_database_accepts_writes',
      'svc_stream_limit_bytes{region="hosta-fra"}',
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
    ].filter((series) => !WITHOUT_VALUE.includes(series))) {
      expect(coordinator.get(series), series).toBeGreaterThan(0);
    }
    expect(coordinator.get('svc_monitors{status="active"}')).toBe(1);
    expect(coordinator.get('svc_results_dropped_total{reason="unknown-monitor"}')).toBe(0);
    expect(coordinator.get('svc_leading')).toBe(1);
    const startedAt = coordinator.get('process_start_time_seconds') as number;
    expect(Math.abs(startedAt - performance.timeOrigin / 1_000)).toBeLessThan(1);
  });

  test.skipIf(PROMTOOL === null)('have no fault that promtool finds', async () => {
    for (const url of [service.url, agentUrl]) {
      const checked = spawnSync(PROMTOOL as string, ['check', 'metrics'], { input: await textAt(url) });
      expect(`${checked.stdout}${checked.stderr}`).toBe('');
      expect(checked.status).toBe(0);
    }
  });

  test('a coordinator that does not lead shows the metrics of serving', async () => {
    await service.stopLeading();
    const text = await textAt(service.url);
    expect(shownIn(parsePrometheus(text))).toEqual(expectedOf(documented('coordinator', 'process')));
    expect(text).toContain('\nsvc_leading 0\n');
    await service.lead();
    expect((await scrape(service.url)).get('svc_leading')).toBe(1);
  });
});
