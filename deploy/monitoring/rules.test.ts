import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { INSTRUMENT_GROUPS } from '@svc/shared/metrics/registry.ts';
import { afterAll, describe, expect, test } from 'vitest';
import { prometheusPrograms } from '../../test/support/prometheus.ts';
import { type AlertRule, alertRules, anchorOf, RULES_FILE } from './generate/alert-rules.ts';
import { MONITORS_DASHBOARD } from './generate/monitors-dashboard.ts';
import { SERVICE_DASHBOARD } from './generate/service-dashboard.ts';

const PROGRAMS = prometheusPrograms('the alert rules are not checked by promtool');
const RULES = alertRules();
const folder = mkdtempSync(join(tmpdir(), 'svc-rules-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function promtool(...words: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(PROGRAMS?.promtool ?? '', words, { encoding: 'utf8' });
  expect(status, `${stdout}${stderr}`).toBe(0);
}

/** Time series (four values a minute) with which each alert fires in the end, and not before its time. */
const SERIES: Readonly<Record<string, readonly (readonly [series: string, values: string])[]>> = {
  SvcCoordinatorAbsent: [['up{job="svc"}', '0x200']],
  SvcNobodyLeads: [
    ['svc_leading{instance="a"}', '0x200'],
    ['svc_leading{instance="b"}', '0x200'],
  ],
  SvcNatsDisconnected: [['svc_nats_connected', '0x200']],
  SvcDatabaseRefusesWrites: [['svc_database_accepts_writes', '0x200']],
  SvcDatabaseDiskAlmostFull: [['svc_database_free_bytes', '1073741823x200']],
  SvcResultsWait: [['svc_backlog_age_seconds', '61x200']],
  SvcResultsLost: [['svc_result_messages_dropped_total{reason="lost"}', '0x8 1x200']],
  SvcStreamAlmostFull: [
    ['svc_stream_bytes{region="hosta-fra"}', '81x200'],
    ['svc_stream_limit_bytes{region="hosta-fra"}', '100x200'],
  ],
  SvcStreamReplaced: [['svc_streams_replaced_total', '0x8 1x200']],
  SvcEventLoopBlocked: [['svc_event_loop_delay_seconds_sum', '0+4x200']],
  SvcRegionWithoutAgent: [['svc_agents{region="hosta-fra"}', '0x200']],
  SvcAgentSick: [['svc_agents_sick{sickness="starved"}', '1x200']],
  SvcAgentClockWrong: [['svc_agents_clock_offset_seconds{region="hosta-fra"}', '6x200']],
  SvcAgentNatsDisconnected: [['svc_agent_nats_connected', '0x200']],
  SvcAgentResultsWait: [['svc_agent_outbox_age_seconds', '61x200']],
  SvcAgentIdShared: [['svc_shared_agent_ids_total', '0x8 1x200']],
  SvcTooManyAgents: [['svc_heartbeats_dropped_total', '0x8 1x200']],
  SvcChecksSkipped: [['svc_jobs_skipped_total{reason="predecessor-running"}', '0+1x200']],
  SvcChecksNotRun: [['svc_jobs_abstained_total{reason="no-agent"}', '0+1x200']],
  SvcSlotsMissed: [['svc_slots_total{outcome="missed"}', '0x8 1x200']],
  SvcChecksLate: [
    ['svc_result_delay_seconds_bucket{le="1"}', '0+98x200'],
    ['svc_result_delay_seconds_bucket{le="2.5"}', '0+100x200'],
    ['svc_result_delay_seconds_bucket{le="+Inf"}', '0+100x200'],
  ],
  SvcMonitorsUnknown: [['svc_monitors_became_unknown_total', '0x8 1x200']],
  SvcAlertsWait: [['svc_delivery_age_seconds', '301x200']],
  SvcAlertsGivenUp: [['svc_deliveries_dead_total', '0x8 1x200']],
  SvcExportFailing: [['svc_otlp_endpoints{state="failing"}', '1x200']],
  SvcForeignMessages: [['svc_results_dropped_total{reason="bad-token"}', '0x8 1x200']],
  SvcTokensTried: [['svc_api_answers_total{status="401"}', '0+10x200']],
  SvcApiErrors: [['svc_api_answers_total{status="503"}', '0+1x200']],
};

/** A file of unit tests as promtool reads them; JSON is YAML. */
function unitTests(rules: readonly AlertRule[]): string {
  const count = (alert: string, state: string) =>
    `count(ALERTS{alertname="${alert}",alertstate="${state}"}) or vector(0)`;
  return JSON.stringify({
    rule_files: [fileURLToPath(RULES_FILE)],
    evaluation_interval: '15s',
    tests: rules.map(({ alert, for: lasting }) => ({
      name: alert,
      interval: '15s',
      input_series: (SERIES[alert] ?? []).map(([series, values]) => ({ series, values })),
      promql_expr_test: [
        // The alert may be pending from the first evaluation on, but must not fire before its wait is over.
        ...(lasting === undefined
          ? []
          : [{ expr: count(alert, 'firing'), eval_time: before(lasting), exp_samples: samples(0) }]),
        // An alert without a wait is examined early, because it ends when nothing grows for ten minutes.
        {
          expr: count(alert, 'firing'),
          eval_time: lasting === undefined ? '5m' : '20m',
          exp_samples: samples(1),
        },
      ],
    })),
  });
}

const samples = (value: number) => [{ labels: '{}', value }];

/** Returns the time of the last evaluation before a wait such as `2m` is over. */
function before(lasting: string): string {
  return `${Number.parseInt(lasting, 10) * 60 - 15}s`;
}

describe.skipIf(PROGRAMS === null)('promtool', () => {
  test('finds nothing wrong with the rules and the example of a configuration', () => {
    promtool('check', 'rules', fileURLToPath(RULES_FILE));
    promtool('check', 'config', fileURLToPath(new URL('prometheus/prometheus.yaml', import.meta.url)));
  });

  test('sees each alert fire when its time is over, and not before', () => {
    expect(Object.keys(SERIES).sort()).toEqual(RULES.map(({ alert }) => alert).sort());
    const file = join(folder, 'tests.yaml');
    writeFileSync(file, unitTests(RULES));
    promtool('test', 'rules', file);
  });
});

test('CI checks the rules', () => {
  expect(process.env.CI === 'true' && PROGRAMS === null).toBe(false);
});

describe('the rules', () => {
  test.each(RULES.map((rule) => [rule.alert, rule] as const))('%s leads to its section', (alert, rule) => {
    expect(rule.annotations.runbook_url).toBe(`docs/operations.md#${anchorOf(alert)}`);
  });

  test('have names of their own', () => {
    expect(new Set(RULES.map(({ alert }) => alert)).size).toBe(RULES.length);
  });
});

/** The series that Prometheus makes from a histogram. */
const SUFFIX = /_(?:bucket|sum|count)$/;

test('rules and the service dashboard name metrics and label values that there are', () => {
  const instruments = new Map(
    INSTRUMENT_GROUPS.flatMap((group) => group.instruments).map((each) => [each.name, each]),
  );
  const queries = [
    ...RULES.map(({ expr }) => expr),
    ...SERVICE_DASHBOARD.rows.flatMap(({ panels }) =>
      panels.flatMap((panel) => panel.queries.map(({ expr }) => expr)),
    ),
  ];
  const named = queries.flatMap((query) => [...query.matchAll(/\b((?:svc|process)_\w+)(?:\{([^}]*)\})?/g)]);
  expect(named.length).toBeGreaterThan(100);
  for (const [, name = '', conditions = ''] of named) {
    const instrument = instruments.get(name) ?? instruments.get(name.replace(SUFFIX, ''));
    expect(instrument, name).toBeDefined();
    for (const [, label = '', values = ''] of conditions.matchAll(/(\w+)(?:=|!=|=~)"([^"]*)"/g)) {
      const known = Object.keys(instrument?.label?.values ?? {});
      if (instrument?.openLabels !== null) expect(Object.keys(instrument?.openLabels ?? {})).toContain(label);
      else for (const value of values.split('|')) expect(known, `${name} ${label}`).toContain(value);
    }
  }
});

test('the dashboard of monitors names metrics of docs/metrics.md only', () => {
  const known =
    /^svc_(?:checks_total|check_duration_seconds_(?:sum|count)|check_phase_duration_seconds_(?:sum|count)|monitor_(?:status_ratio|uptime_ratio|certificate_remaining_seconds))$/;
  const queries = MONITORS_DASHBOARD.rows.flatMap(({ panels }) => panels.flatMap((panel) => panel.queries));
  for (const { expr } of queries) {
    const [name = ''] = /\bsvc_\w+(?=[{[])/.exec(expr) ?? [];
    expect(name).toMatch(known);
  }
});
