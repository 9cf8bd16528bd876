/** Each panel's query has a result in a real Prometheus that has scraped a running service. */
import { readFileSync } from 'node:fs';
import type { Region } from '@svc/shared/regions.ts';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Dashboard } from '../../deploy/monitoring/generate/dashboard.ts';
import { monitoringFiles } from '../../deploy/monitoring/generate/files.ts';
import { MONITORS_DASHBOARD } from '../../deploy/monitoring/generate/monitors-dashboard.ts';
import { SERVICE_DASHBOARD } from '../../deploy/monitoring/generate/service-dashboard.ts';
import { hookOf, type Opened, openedIn, receiverIn, serviceIn, targetIn } from '../support/opened.ts';
import { prometheusPrograms, startPrometheus } from '../support/prometheus.ts';
import { skipsVictoriaMetrics, victoriaMetricsIn } from '../support/victoria-metrics.ts';

const PROGRAMS = prometheusPrograms('the queries of the dashboards are not asked');
const REGIONS: readonly Region[] = ['hosta-fra', 'hostb-par'];
const FOLDER = new URL('../../deploy/monitoring/', import.meta.url);

/** The queries of all panels, with values in place of Grafana's variables. */
function queriesOf({ rows }: Dashboard): [panel: string, query: string][] {
  return rows.flatMap(({ panels }) =>
    panels.flatMap(({ title, queries }) =>
      queries.map(({ expr }): [string, string] => [
        title,
        expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$(region|monitor)\b/g, '.*'),
      ]),
    ),
  );
}

/** A service with a monitor that fails in two regions and causes alerts. */
async function busyService(opened: Opened, more: { otlp_endpoint?: string }) {
  const web = await targetIn(opened);
  const hook = await receiverIn(opened);
  const service = await serviceIn(opened, {
    regions: REGIONS,
    agentsListen: true,
    declared: {
      svc_http_monitor: {
        web: {
          name: 'Web',
          url: web.url,
          periodicity: '30s',
          retry: 0,
          active: true,
          regions: REGIONS,
          ...more,
        },
      },
      svc_tcp_monitor: {
        up: { name: 'Up', uri: `127.0.0.1:${web.port}`, periodicity: '30s', active: true, regions: REGIONS },
      },
      svc_notification: { hook: hookOf(hook, 'svc_http_monitor.web') },
    },
  });
  await service.changed('Web', 'active');
  web.answerWith((response) => response.writeHead(500).end());
  await hook.received(1);
  return service;
}

test.skipIf(PROGRAMS === null)(
  'every query of the service dashboard answers, with a number',
  async (context) => {
    const opened = openedIn(context);
    const prometheus = await startPrometheus(PROGRAMS?.prometheus ?? '');
    opened.push({ close: () => prometheus.stop() });
    const service = await busyService(opened, {});
    const agents = REGIONS.map((region) => `http://127.0.0.1:${service.agent(region).healthPort}`);
    await prometheus.scrape([service.url, ...agents]);
    const [channel] = await service.query<{ id: number }>('SELECT id FROM notifications');
    // A rate has a value from the second scrape on, and a percentile after the first event between two scrapes.
    const unanswered = async () => {
      await service.request('POST', `/v1/notifications/${channel?.id}/test`);
      const asked = queriesOf(SERVICE_DASHBOARD).map(async ([panel, query]) => {
        const samples = await prometheus.query(query);
        return samples.some(({ value }) => Number.isFinite(value)) ? [] : [`${panel}: ${query}`];
      });
      return (await Promise.all(asked)).flat();
    };
    await expect.poll(unanswered, { interval: 1_000 }).toEqual([]);
  },
);

test.skipIf(skipsVictoriaMetrics)(
  'every query of the dashboard of monitors answers where the metrics are exported to',
  async (context) => {
    const opened = openedIn(context);
    const database = await victoriaMetricsIn(opened, context);
    const service = await busyService(opened, { otlp_endpoint: database.endpoint });
    for (const [panel, query] of queriesOf(MONITORS_DASHBOARD)) {
      // The target has no certificate.
      if (panel === 'Certificates') await database.query(query);
      else await service.until(async () => (await database.query(query)).length > 0);
    }
  },
);

test('CI does not skip the queries', () => {
  expect(process.env.CI === 'true' && PROGRAMS === null).toBe(false);
});

/**
 * The members of a dashboard that Grafana (10.2 and newer) reads. Without them it refuses the dashboard or
 * shows it empty.
 */
const grid = z.strictObject({
  x: z.number().int().min(0).max(23),
  y: z.number().int().min(0),
  w: z.number().int().min(1).max(24),
  h: z.number().int().min(1),
});
const panelModel = z.looseObject({
  id: z.number().int().positive(),
  type: z.enum(['row', 'timeseries', 'stat', 'table']),
  title: z.string().min(1),
  gridPos: grid,
  description: z.string().endsWith('.').optional(),
  targets: z
    .array(
      z.looseObject({
        refId: z.string().regex(/^[A-Z]$/),
        expr: z.string().min(1),
        legendFormat: z.string(),
        datasource: z.strictObject({ type: z.literal('prometheus'), uid: z.string() }),
      }),
    )
    .optional(),
});
const dashboardModel = z.looseObject({
  uid: z.string().regex(/^[a-z-]{1,40}$/),
  title: z.string().min(1),
  schemaVersion: z.number().int().min(38),
  time: z.strictObject({ from: z.string(), to: z.string() }),
  templating: z.strictObject({ list: z.array(z.looseObject({ name: z.string(), type: z.string() })) }),
  panels: z.array(panelModel).min(5),
});

describe.each([...monitoringFiles()])('%s', (path, text) => {
  test('is up to date: otherwise run `npm run docs`', () => {
    expect(readFileSync(new URL(path, FOLDER), 'utf8')).toBe(text);
  });

  test.runIf(path.endsWith('.json'))('is a dashboard that Grafana can read', () => {
    const { panels, templating } = dashboardModel.parse(JSON.parse(text));
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const taken = new Set<string>();
    for (const { gridPos: at } of panels) {
      expect(at.x + at.w).toBeLessThanOrEqual(24);
      for (let x = at.x; x < at.x + at.w; x += 1) {
        for (let y = at.y; y < at.y + at.h; y += 1) {
          expect(taken.has(`${x} ${y}`), `two panels lie at ${x} ${y}`).toBe(false);
          taken.add(`${x} ${y}`);
        }
      }
    }
    const variables = new Set(templating.list.map(({ name }) => name));
    for (const [, name = ''] of text.matchAll(/\$\{?([a-z]+)\b/g)) expect(variables).toContain(name);
    for (const { type, targets } of panels) expect(targets === undefined).toBe(type === 'row');
  });
});
