/**
 * Each alert rule fires in a real Prometheus, which scrapes a real service in which the test caused the
 * rule's condition.
 */
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { heartbeatSubject, resultsStream, resultsSubject } from '@svc/shared/messages/subjects.ts';
import type { Region } from '@svc/shared/regions.ts';
import { connect, type NatsConnection } from 'nats';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { alertRules, RULES_FILE } from '../../deploy/monitoring/generate/alert-rules.ts';
import { type HttpTarget, startHttpTarget } from '../support/http-target.ts';
import { jetStreamOf } from '../support/jetstream.ts';
import { LocalService } from '../support/local-service.ts';
import type { Opened } from '../support/opened.ts';
import { OtlpReceiver } from '../support/otlp-receiver.ts';
import { type Prometheus, prometheusPrograms, startPrometheus } from '../support/prometheus.ts';
import { scrape } from '../support/prometheus-text.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

const PROGRAMS = prometheusPrograms('the alert rules are not evaluated');
const REGIONS: readonly Region[] = ['hosta-fra', 'hostb-par'];
/** A region whose agent only sends heartbeats. */
const PRETENDED: Region = 'hostc-us-east4';
const STREAMS_BYTES = 6 * 2 ** 20;

/** What a test needs to cause the condition of a rule. */
type Case = {
  /** Aborted when the case takes too long. The case ends then, and the next one begins. */
  readonly signal: AbortSignal;
  /** Resolves when all alerts of the case have fired since it began. Calls `act` before each poll. */
  fired(act?: () => Promise<unknown>): Promise<void>;
};

/**
 * Rules that a busy machine may make fire at any time, and one that its changed threshold makes fire for
 * every disk.
 */
const MAY_FIRE = ['SvcEventLoopBlocked', 'SvcChecksLate', 'SvcAgentSick', 'SvcDatabaseDiskAlmostFull'];

/**
 * The rules without their waits, with a short window for the event loop, and with a threshold that makes
 * every disk almost full.
 */
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

  /**
   * Declares a region without an agent, one with a pretended agent, a check that never ends, and an endpoint
   * that refuses.
   */
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
    // Growth can be computed from the second sample on.
    await prometheus.until(async () => (await samplesOf('svc_leading')) >= 2);
    await prometheus.until(async () => (await samplesOf('svc_agent_nats_connected')) >= 2);
  }

  async function samplesOf(metric: string): Promise<number> {
    const counted = await prometheus.query(`count_over_time(${metric}[1h])`);
    return Math.min(
      ...counted.map(({ value }) => value),
      counted.length === 0 ? 0 : Number.POSITIVE_INFINITY,
    );
  }

  /** Resolves when Prometheus has read the coordinator's current metrics and evaluated the rules. */
  async function evaluated(signal: AbortSignal): Promise<void> {
    const before = await samplesOf('svc_leading');
    // Of three scrapes, the first may have begun before the call, the second reads current metrics, and
    // before the third ends, the rules are evaluated. They are evaluated as often as metrics are scraped.
    await prometheus.until(async () => (await samplesOf('svc_leading')) >= before + 3, signal);
  }

  /** Calls `act` with the connection of a program that has the key of a region but is not svc. */
  async function asStranger(act: (stranger: NatsConnection) => Promise<void>): Promise<void> {
    const stranger = await connect({ servers: service.nats.url, waitOnFirstConnect: true });
    try {
      await act(stranger);
    } finally {
      await stranger.close();
    }
  }

  /** A heartbeat of an agent that takes no jobs. */
  function heartbeatOf(facts: {
    agent: string;
    boot?: string;
    clock?: number;
    sick?: readonly string[];
  }): string {
    const now = Math.round(service.clock.wall());
    return JSON.stringify({
      v: 1,
      kind: 'heartbeat',
      boot: 'boot',
      version: '0.1.0',
      capacity: 100,
      running: 0,
      held: 0,
      loop_delay_ms: 0,
      clock: now,
      started_at: now,
      draining: false,
      ...facts,
    });
  }

  /**
   * An agent sends heartbeats every second, twice as often as real agents, and reports that it is unhealthy.
   */
  async function pretending({ fired }: Case): Promise<void> {
    await asStranger(async (stranger) => {
      const stop = service.clock.every(1_000, () => {
        const clock = Math.round(service.clock.wall()) + 60_000;
        const heartbeat = heartbeatOf({ agent: 'pretended', clock, sick: ['starved'] });
        stranger.publish(heartbeatSubject(PRETENDED, 'pretended'), heartbeat);
      });
      try {
        await fired();
      } finally {
        stop();
      }
    });
  }

  /**
   * Fills the stream of a region up to this part of its limit with messages that are no results, while none
   * is recorded.
   */
  async function fill(part: number, { signal }: Case): Promise<void> {
    const junk = new Uint8Array(128 * 1024);
    await asStranger(async (stranger) => {
      const { streams } = await jetStreamOf(stranger);
      await prometheus.until(async () => {
        const { state, config } = await streams.info(resultsStream('hosta-fra'));
        if (state.bytes >= part * config.max_bytes) return true;
        stranger.publish(resultsSubject('hosta-fra'), junk);
        return false;
      }, signal);
    });
  }

  /**
   * Whether the agent has a job whose result is not acknowledged. The agent is asked twice, so that it has
   * handled the messages that NATS had sent before.
   */
  async function holdsJobs(): Promise<boolean> {
    const url = `http://127.0.0.1:${service.agent('hosta-fra').healthPort}`;
    await scrape(url);
    return ((await scrape(url)).get('svc_agent_jobs_held') ?? 0) > 0;
  }

  /** Delays each turn of the event loop, so that whatever needs several turns is late. */
  function holdTurnsUp(): () => void {
    const nothing = new Int32Array(new SharedArrayBuffer(4));
    let next = setImmediate(hold);
    function hold(): void {
      Atomics.wait(nothing, 0, 0, 150);
      next = setImmediate(hold);
    }
    return () => clearImmediate(next);
  }

  test('do not fire for a healthy service', async ({ signal }) => {
    await service.decided(await service.idOf('Web'), 2);
    const loud = alertRules().filter(({ alert }) => !MAY_FIRE.includes(alert));
    await prometheus
      .until(async () => {
        for (const [index, { expr }] of [...loud.entries()].toReversed()) {
          // With shorter windows, an event that a busy machine has caused once no longer counts after 15 s.
          const query = expr.replaceAll(/\[\d+m\]/g, '[15s]');
          const at = Date.now() / 1_000;
          const alive = await prometheus.query('count(svc_leading) + count(svc_agent_nats_connected)', at);
          const isAlive = alive[0]?.value === 1 + REGIONS.length;
          if (isAlive && (await prometheus.query(query, at)).length === 0) loud.splice(index, 1);
        }
        return loud.length === 0;
      }, signal)
      .catch((error: unknown) => {
        throw new Error(`${loud.map(({ alert }) => alert)} are never silent`, { cause: error });
      });
  });

  /**
   * How each case is caused, in this order. A state is kept until the alerts have fired, and an event is
   * repeated until then, because it might pass between two scrapes of Prometheus.
   */
  const causes: readonly (readonly [alerts: readonly string[], cause: (the: Case) => Promise<void>])[] = [
    [
      ['SvcRegionWithoutAgent', 'SvcChecksSkipped', 'SvcExportFailing'],
      async ({ fired }) => {
        await service.reload(faulty());
        await fired();
      },
    ],
    [['SvcAgentSick', 'SvcAgentClockWrong', 'SvcChecksNotRun'], pretending],
    [
      ['SvcForeignMessages'],
      ({ fired }) =>
        asStranger((stranger) =>
          fired(async () => stranger.publish(heartbeatSubject('hosta-fra', 'stranger'), 'no message of svc')),
        ),
    ],
    [
      ['SvcAgentIdShared'],
      ({ fired }) => {
        let round = 0;
        return asStranger((stranger) =>
          fired(async () => {
            round += 1;
            for (const boot of ['one', 'other', 'one']) {
              stranger.publish(
                heartbeatSubject(PRETENDED, `${boot}-${round}`),
                heartbeatOf({ agent: `copied-${round}`, boot }),
              );
              await stranger.flush();
            }
          }),
        );
      },
    ],
    [
      ['SvcTooManyAgents'],
      ({ fired }) =>
        asStranger((stranger) =>
          fired(async () => {
            for (let agent = 0; agent < 1_100; agent += 1) {
              stranger.publish(
                heartbeatSubject(PRETENDED, `further-${agent}`),
                heartbeatOf({ agent: `further-${agent}` }),
              );
            }
          }),
        ),
    ],
    [
      ['SvcAlertsGivenUp', 'SvcAlertsWait'],
      async ({ fired }) => {
        web.answerWith((response) => response.writeHead(500).end());
        await fired();
      },
    ],
    [
      ['SvcTokensTried'],
      ({ fired }) =>
        fired(async () => {
          const headers = { authorization: 'Bearer none', connection: 'close' };
          for (let tries = 0; tries < 10; tries += 1) {
            await (await fetch(`${service.url}/v1/monitors`, { headers })).text();
          }
        }),
    ],
    [
      ['SvcEventLoopBlocked', 'SvcChecksLate'],
      async ({ fired }) => {
        const stop = holdTurnsUp();
        await fired().finally(stop);
      },
    ],
    [['SvcDatabaseDiskAlmostFull'], ({ fired }) => fired()],
    [
      ['SvcSlotsMissed'],
      ({ fired, signal }) =>
        fired(async () => {
          service.clock.stepWall(10 * 60_000);
          await evaluated(signal);
        }),
    ],
    [
      ['SvcDatabaseRefusesWrites', 'SvcResultsWait', 'SvcStreamAlmostFull'],
      async (the) => {
        const held = await service.database.hold();
        try {
          await fill(0.9, the);
          await the.fired();
        } finally {
          await held.release();
        }
      },
    ],
    [
      ['SvcNatsDisconnected', 'SvcAgentNatsDisconnected', 'SvcAgentResultsWait'],
      async ({ fired, signal }) => {
        const { nats } = service;
        await prometheus.until(async () => {
          process.kill(nats.pid, 'SIGSTOP');
          if (await holdsJobs()) return true;
          process.kill(nats.pid, 'SIGCONT');
          return false;
        }, signal);
        // From now on NATS acknowledges nothing. The check that never ended now ends, and its result waits in
        // the agent.
        silent.answerWith((response) => response.end());
        for (const response of unanswered) response.end();
        await nats.kill();
        try {
          await fired();
        } finally {
          await nats.restart();
        }
      },
    ],
    [
      ['SvcNobodyLeads', 'SvcApiErrors'],
      async ({ fired }) => {
        await service.stopLeading();
        try {
          await fired(async () =>
            service.request('POST', `/v1/monitors/${await service.idOf('Web')}/otlp-test`),
          );
        } finally {
          await service.lead();
        }
      },
    ],
    [
      ['SvcResultsLost'],
      (the) =>
        the.fired(async () => {
          await service.stopLeading();
          try {
            await fill(0.3, the);
            await asStranger(async (stranger) => {
              const { streams } = await jetStreamOf(stranger);
              await streams.purge(resultsStream('hosta-fra'));
            });
          } finally {
            await service.lead();
          }
          await evaluated(the.signal);
        }),
    ],
    [
      ['SvcStreamReplaced'],
      ({ fired, signal }) =>
        fired(async () => {
          await asStranger(async (stranger) => {
            const { streams } = await jetStreamOf(stranger);
            // The service creates it again.
            const there = await streams.names().next();
            if (there.includes(resultsStream('hosta-fra'))) await streams.delete(resultsStream('hosta-fra'));
          });
          await evaluated(signal);
        }),
    ],
    [
      ['SvcMonitorsUnknown'],
      async ({ fired, signal }) => {
        const path = `/v1/monitors/${await service.idOf('Web')}`;
        await prometheus.until(
          async () => (await service.get<{ status: string }>(path)).status !== 'unknown',
          signal,
        );
        await evaluated(signal);
        for (const region of REGIONS) await service.stopAgent(region);
        await fired();
      },
    ],
    [
      ['SvcCoordinatorAbsent'],
      async ({ fired }) => {
        await service.stopCoordinator();
        await fired();
      },
    ],
  ];

  test.for(causes)('%j fire', async ([alerts, cause], { signal }) => {
    const began = Date.now();
    await cause({
      signal,
      async fired(act) {
        await prometheus.until(async () => {
          await act?.();
          const fired = await prometheus.firedSince(began);
          return alerts.every((alert) => fired.has(alert));
        }, signal);
      },
    });
  });

  test('each have a case here', () => {
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
