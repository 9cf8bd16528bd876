/** Each alert rule fires on a real Prometheus that scrapes a real service in which its case was caused. */
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { agentsSubject, resultsStream, resultsSubject } from '@svc/shared/messages/subjects.ts';
import type { Region } from '@svc/shared/regions.ts';
import { connect, type NatsConnection } from 'nats';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { alertRules, RULES_FILE } from '../../deploy/monitoring/generate/alert-rules.ts';
import { type HttpTarget, startHttpTarget } from '../support/http-target.ts';
import { LocalService } from '../support/local-service.ts';
import type { Opened } from '../support/opened.ts';
import { OtlpReceiver } from '../support/otlp-receiver.ts';
import { type Prometheus, prometheusPrograms, startPrometheus } from '../support/prometheus.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

const PROGRAMS = prometheusPrograms('the alert rules are not evaluated');
const REGIONS: readonly Region[] = ['hosta-fra', 'hostb-par'];
/** A region of an agent that only says that it is there. */
const PRETENDED: Region = 'hostc-us-east4';
const STREAMS_BYTES = 6 * 2 ** 20;

/** Rules that a busy machine may make fire at any time, and one whose threshold every disk is below here. */
const MAY_FIRE = ['SvcEventLoopBlocked', 'SvcChecksLate', 'SvcDatabaseDiskAlmostFull'];

/** The rules without their waits, with a short memory of the event loop, and with a disk that is almost full. */
function impatientRules(): string {
  const text = readFileSync(RULES_FILE, 'utf8');
  return text
    .replaceAll(/^( +for:) .*$/gm, '$1 0s')
    .replace('< 1073741824', '< 1e18')
    .replace('delay_seconds_sum[5m]', 'delay_seconds_sum[15s]');
}

describe.skipIf(PROGRAMS === null)('the alert rules', () => {
  const opened: Opened = [];
  let web: HttpTarget;
  let silent: HttpTarget;
  const unanswered: ServerResponse[] = [];
  let gone: Receiver;
  let busy: Receiver;
  let refusing: OtlpReceiver;
  let service: LocalService;
  let stranger: NatsConnection;
  let prometheus: Prometheus;

  beforeAll(async () => {
    web = await opening(startHttpTarget());
    silent = await opening(startHttpTarget());
    silent.answerWith((response) => unanswered.push(response));
    gone = await opening(startReceiver());
    gone.answerWith((_request, response) => response.writeHead(410).end());
    busy = await opening(startReceiver());
    busy.answerWith((_request, response) => response.writeHead(503).end());
    refusing = await opening(OtlpReceiver.start());
    refusing.intercept = (_message, response) => {
      response.writeHead(403).end();
      return true;
    };
    service = await LocalService.start({
      regions: REGIONS,
      scale: 20,
      agentsListen: true,
      resultsMaxBytes: STREAMS_BYTES,
      declared: healthy(),
    });
    opened.push({ close: () => service.dispose() });
    stranger = await connect({ servers: service.nats.url, maxReconnectAttempts: -1, reconnectTimeWait: 100 });
    opened.push({ close: () => stranger.close() });
    prometheus = await startPrometheus(PROGRAMS?.prometheus ?? '', impatientRules());
    opened.push({ close: () => prometheus.stop() });
    await scrapeAll();
  });
  afterAll(async () => {
    for (const one of opened.toReversed()) await one.close();
  });

  async function opening<T extends { close(): Promise<void> }>(starting: Promise<T>): Promise<T> {
    const one = await starting;
    opened.push(one);
    return one;
  }

  function healthy() {
    const common = { periodicity: '30s', active: true, retry: 0 };
    const many = Array.from({ length: 30 }, (_, index) => [
      `tcp${index}`,
      { ...common, name: `tcp ${index}`, uri: `127.0.0.1:${web.port}`, regions: ['hosta-fra'] },
    ]);
    return {
      svc_http_monitor: { web: { ...common, name: 'Web', url: web.url, regions: REGIONS } },
      svc_tcp_monitor: Object.fromEntries(many),
      svc_notification: Object.fromEntries(
        Object.entries({ gone, busy }).map(([name, { url }]) => [
          name,
          {
            provider_type: 'webhook',
            webhook: { endpoint: url },
            monitor_ids: [`\${svc_http_monitor.web.id}`],
          },
        ]),
      ),
    };
  }

  /** A region without an agent, one with a pretended one, a check that never ends, an endpoint that refuses. */
  function faulty() {
    const { svc_http_monitor, ...others } = healthy();
    const common = { url: web.url, periodicity: '30s', active: true, retry: 0 };
    return {
      ...others,
      svc_http_monitor: {
        ...svc_http_monitor,
        nowhere: { ...common, name: 'Nowhere', regions: ['hosta-ams'] },
        pretended: { ...common, name: 'Pretended', regions: [PRETENDED] },
        endless: { ...common, name: 'Endless', url: silent.url, timeout: 120_000, regions: ['hosta-fra'] },
        exported: { ...common, name: 'Exported', regions: ['hosta-fra'], otlp_endpoint: refusing.url },
      },
    };
  }

  async function scrapeAll(): Promise<void> {
    const agents = REGIONS.map((region) => `http://127.0.0.1:${service.agent(region).healthPort}`);
    await prometheus.scrape([service.url, ...agents]);
    await seen('svc_leading');
    await seen('svc_agent_nats_connected');
  }

  /** Resolves when Prometheus has the metric for the third time: growth is seen from the second on. */
  async function seen(metric: string): Promise<void> {
    await prometheus.until(async () => {
      const [counted] = await prometheus.query(`min(count_over_time(${metric}[1m]))`);
      return (counted?.value ?? 0) >= 3;
    });
  }

  /** Does it again and again until the alert fires. */
  async function firesWhile(alert: string, act: () => unknown): Promise<void> {
    await prometheus.until(async () => {
      await act();
      const alerts = await prometheus.alerts();
      return alerts.some(({ labels, state }) => labels.alertname === alert && state === 'firing');
    });
  }

  function pretend(): void {
    const now = Math.round(service.clock.wall());
    const heartbeat = {
      v: 1,
      kind: 'heartbeat',
      agent: 'pretended',
      version: '0.1.0',
      capacity: 100,
      running: 0,
      held: [],
      loop_delay_ms: 0,
      clock: now + 60_000,
      started_at: now,
      draining: false,
      sick: ['starved'],
    };
    stranger.publish(agentsSubject(PRETENDED), JSON.stringify(heartbeat));
  }

  /** Messages that are no results, on the subject of a region's results. */
  async function fill(bytes: number): Promise<void> {
    const junk = new Uint8Array(128 * 1024);
    for (let sent = 0; sent < bytes; sent += junk.length) stranger.publish(resultsSubject('hosta-fra'), junk);
    await stranger.flush();
  }

  test('are silent about a healthy service', async () => {
    await service.decided(service.idOf('Web'), 2);
    const alerts = (await prometheus.alerts()).map(({ labels }) => labels.alertname ?? '');
    expect(alerts.filter((name) => !MAY_FIRE.includes(name))).toEqual([]);
  });

  /** How each case is caused, in this order. */
  const causes: readonly (readonly [alerts: readonly string[], cause: () => Promise<void>])[] = [
    [['SvcRegionWithoutAgent', 'SvcChecksSkipped', 'SvcExportFailing'], async () => service.reload(faulty())],
    [['SvcAgentSick'], () => firesWhile('SvcAgentSick', pretend)],
    [['SvcAgentClockWrong'], () => firesWhile('SvcAgentClockWrong', pretend)],
    [['SvcChecksNotRun'], () => firesWhile('SvcChecksNotRun', pretend)],
    [
      ['SvcForeignMessages'],
      async () => {
        stranger.publish(agentsSubject('hosta-fra'), 'no message of svc');
      },
    ],
    [
      ['SvcAlertsGivenUp', 'SvcAlertsWait'],
      async () => web.answerWith((response) => response.writeHead(500).end()),
    ],
    [
      ['SvcTokensTried'],
      () =>
        firesWhile('SvcTokensTried', async () => {
          const headers = { authorization: 'Bearer none' };
          for (let tries = 0; tries < 10; tries += 1) await fetch(`${service.url}/v1/monitors`, { headers });
        }),
    ],
    [
      ['SvcEventLoopBlocked'],
      () =>
        firesWhile('SvcEventLoopBlocked', () => {
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
        }),
    ],
    [['SvcDatabaseDiskAlmostFull'], async () => {}],
    [['SvcSlotsMissed'], async () => service.clock.stepWall(10 * 60_000)],
    [
      ['SvcDatabaseRefusesWrites', 'SvcResultsWait', 'SvcStreamAlmostFull'],
      async () => {
        const held = await service.holdDatabase();
        try {
          await fill(0.9 * (STREAMS_BYTES / 3));
          for (const alert of ['SvcDatabaseRefusesWrites', 'SvcResultsWait', 'SvcStreamAlmostFull']) {
            await prometheus.fires(alert);
          }
        } finally {
          held.release();
        }
      },
    ],
    [
      ['SvcNatsDisconnected', 'SvcAgentNatsDisconnected', 'SvcAgentResultsWait'],
      async () => {
        // Skipped for overload while the database was held, checks come again.
        await prometheus.until(async () => unanswered.some(({ destroyed }) => !destroyed));
        await service.nats.stop();
        // A check that was under way ends now, so that its result waits in the agent.
        silent.answerWith((response) => response.end());
        for (const response of unanswered) response.end();
        for (const alert of ['SvcNatsDisconnected', 'SvcAgentNatsDisconnected', 'SvcAgentResultsWait']) {
          await prometheus.fires(alert);
        }
        await service.nats.restart();
      },
    ],
    // The results that waited in the agents come late.
    [['SvcChecksLate'], async () => {}],
    [['SvcNobodyLeads'], () => service.stopLeading()],
    [
      ['SvcApiErrors'],
      () =>
        firesWhile('SvcApiErrors', () =>
          service.request('POST', `/v1/monitors/${service.idOf('Web')}/otlp-test`),
        ),
    ],
    [
      ['SvcResultsLost'],
      async () => {
        await fill(2 ** 19);
        const manager = await stranger.jetstreamManager();
        await manager.streams.purge(resultsStream('hosta-fra'));
        await service.lead();
      },
    ],
    [
      ['SvcMonitorsUnknown'],
      async () => {
        for (const region of REGIONS) await service.stopAgent(region);
      },
    ],
    [['SvcCoordinatorAbsent'], () => service.stopCoordinator()],
  ];

  test.each(causes)('%j fire', { timeout: 120_000 }, async (alerts, cause) => {
    await Promise.all([cause(), ...alerts.map((alert) => prometheus.fires(alert))]);
  });

  test('are all caused here', () => {
    expect(causes.flatMap(([alerts]) => alerts).sort()).toEqual(
      alertRules()
        .map(({ alert }) => alert)
        .sort(),
    );
  });
});

test('CI evaluates the alert rules', () => {
  expect(process.env.CI === 'true' && PROGRAMS === null).toBe(false);
});
