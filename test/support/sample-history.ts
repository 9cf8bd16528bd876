import { addLatency, emptyHistogram, encodeHistogram } from '@svc/coordinator/verdict/latency-histogram.ts';
import { gridSlotFrom, phaseOf } from '@svc/coordinator/verdict/schedule.ts';
import type { Vote } from '@svc/coordinator/verdict/status.ts';
import { DAY_MS, dayOf, HOUR_MS, hourOf } from '@svc/coordinator/verdict/summary-range.ts';
import type { RunningApi } from './api.ts';
import { type GivenResult, addResults as record } from './recorded-results.ts';
import { addRows } from './store-rows.ts';

const REGIONS = ['hosta-fra', 'hostb-par', 'hostc-us-east4'] as const;
type SampleRegion = (typeof REGIONS)[number];

const PERIOD_MS = 60_000;
/** The outage of today: how long ago it began, and how long it lasted, ms. */
const OUTAGE = { beganMs: 3 * HOUR_MS, lastedMs: 12 * 60_000 };
const MESSAGE = 'status code 503, expected 200';
const INCIDENT = '5f0c2a9be1d74836:1:7d9f3c52-0b1e-4a86-9c3d-2f6f0e8a1b47';

/**
 * Makes a monitor with 90 days of history: results of the last day, roll-ups before that, two outages with
 * their changes and alerts, and present votes. Each call at the same time of the clock makes the same
 * history.
 *
 * @returns the id of the monitor
 */
export async function addSampleHistory(api: RunningApi, name = 'Shop'): Promise<number> {
  const monitor = {
    type: 'http',
    name,
    url: 'https://shop.example/health',
    periodicity: '1m',
    active: true,
    public: true,
  };
  const { body } = await api.call('POST', '/v1/monitors', { ...monitor, degraded_at: 400, regions: REGIONS });
  const id = Number((body as { id: string }).id);
  const now = api.clock.wall();
  await addResults(api, id, now);
  await addRollups(api, id, now);
  await addChanges(api, id, now);
  await addDeliveries(api, id, now);
  api.states.set(id, { status: 'active', votes: votesAt(now - 20_000) });
  return id;
}

/** Makes a latency. It depends on the region and on the time of the day, and is high now and then. */
function latencyOf(at: number, region: SampleRegion): number {
  const base = { 'hosta-fra': 48, 'hostb-par': 61, 'hostc-us-east4': 142 }[region];
  const wave = 1 + 0.18 * Math.sin((at / DAY_MS) * 2 * Math.PI);
  const noise = ((at / PERIOD_MS) * 7_919 + base * 31) % 41;
  const isSlow = Math.floor(at / PERIOD_MS) % 83 === 0;
  return Math.round((base * wave + noise * 0.6 + (isSlow ? 180 : 0)) * 10) / 10;
}

const slotFrom = (id: number, at: number) => gridSlotFrom(at, PERIOD_MS, phaseOf(id, PERIOD_MS));

function isDown(at: number, now: number, region: SampleRegion): boolean {
  const since = at - (now - OUTAGE.beganMs);
  return since >= 0 && since < OUTAGE.lastedMs && region !== 'hostc-us-east4';
}

async function addResults(api: RunningApi, id: number, now: number): Promise<void> {
  const first = slotFrom(id, now - 25 * HOUR_MS);
  const results: GivenResult[] = [];
  for (let slot = first; slot < now; slot += PERIOD_MS) {
    for (const region of REGIONS) {
      const latency = latencyOf(slot, region);
      const found = isDown(slot, now, region) ? failed(slot) : passed(slot, latency);
      results.push({ slot, monitor_id: id, region, agent: `${region}-1`, ...found });
    }
  }
  await record(api.store, ...results);
}

function passed(slot: number, latency: number) {
  const [dns, connect, tls, transfer] = [1.2, tenths(latency * 0.2), tenths(latency * 0.3), 0.4];
  const phases = {
    dns,
    connect,
    tls,
    first_byte: tenths(latency - dns - connect - tls - transfer),
    transfer,
  };
  const instants = {
    ...{ started_at: slot + 30, recorded_at: slot + 400, certificate_expires_at: slot + 60 * DAY_MS },
  };
  return { outcome: 'passed', latency, status_code: 200, phases, ...instants } as const;
}

const tenths = (ms: number) => Math.round(ms * 10) / 10;

function failed(slot: number) {
  const tried = (started_ms: number, latency: number) => ({
    ...({ outcome: 'failed', started_ms, latency, status_code: 503, error_message: MESSAGE } as const),
  });
  const attempts = [tried(0, 51.2), tried(301.4, 49.8), tried(752.1, 50.3)];
  const phases = { dns: 0.9, connect: 10.1, tls: 15.2, first_byte: 23.8, transfer: 0.3 };
  const instants = { started_at: slot + 30, recorded_at: slot + 1_200 };
  const found = { outcome: 'failed', latency: 50.3, status_code: 503, error_message: MESSAGE } as const;
  return { ...found, phases, attempts, ...instants };
}

async function addRollups(api: RunningApi, id: number, now: number): Promise<void> {
  const [hour, day] = [hourOf(now - 6 * 60_000), dayOf(now)];
  const hours = Array.from({ length: 14 * 24 }, (_, index) => hour - (index + 1) * HOUR_MS);
  const days = Array.from({ length: 90 }, (_, index) => day - (index + 1) * DAY_MS);
  const rowOf = (at: number, region: SampleRegion, lengthMs: number) => {
    const histogram = emptyHistogram();
    const many = lengthMs / PERIOD_MS;
    for (let slot = at; slot < at + lengthMs; slot += lengthMs / 60)
      addLatency(histogram, latencyOf(slot, region));
    const isOld = at < now - DAY_MS - lengthMs;
    const minutes = Array.from({ length: many }, (_, minute) => slotFrom(id, at + minute * PERIOD_MS));
    const failed = isOld
      ? Number((at / lengthMs) % 37 === 0) * Math.ceil(many / 50)
      : minutes.filter((slot) => isDown(slot, now, region)).length;
    return [id, at, region, many - failed, 0, failed, 0, encodeHistogram(histogram)];
  };
  const into = (table: string, starts: number[], lengthMs: number) => ({
    sql: `INSERT INTO ${table} VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    rows: starts.flatMap((at) => REGIONS.map((region) => rowOf(at, region, lengthMs))),
  });
  await api.store.commit([
    into('rollup_hours', hours, HOUR_MS),
    into('rollup_days', days, DAY_MS),
    {
      sql: 'INSERT INTO uptime_days (monitor_id, at, active_ms, degraded_ms, error_ms) VALUES (?, ?, ?, ?, ?)',
      rows: days.slice(0, 70).map((at, index) => {
        const [error, degraded] = [index === 5 ? 25 * 60_000 : 0, index % 23 === 11 ? 40 * 60_000 : 0];
        return [id, at, DAY_MS - error - degraded, degraded, error];
      }),
    },
    {
      sql: 'INSERT INTO rollup_progress (id, hour, phase, day, after_monitor) VALUES (1, ?, 0, ?, 0) ON CONFLICT DO NOTHING',
      rows: [[hour, day]],
    },
  ]);
}

function votesAt(slot: number): Vote[] {
  return REGIONS.map((region) => ({
    ...{
      region,
      outcome: 'passed',
      slot,
      at: slot + 300,
      endedAt: slot + 300,
      failedSince: null,
      upSlot: slot,
    },
    ...{ expiresAt: slot + 180_000, latency: latencyOf(slot, region), statusCode: 200, errorMessage: null },
  }));
}

/**
 * Makes the votes of a change, in the form in which the history stores them.
 *
 * @param failing the regions that failed
 */
function storedVotes(slot: number, failing: readonly SampleRegion[]): string {
  return JSON.stringify(
    REGIONS.map((region) => {
      const isFailing = failing.includes(region);
      const found = isFailing
        ? { outcome: 'failed', latency: 50.3, status_code: 503, error_message: MESSAGE }
        : { outcome: 'passed', latency: latencyOf(slot, region), status_code: 200, error_message: null };
      return { region, slot, at: slot + 1_300, ...found, counted: true };
    }),
  );
}

async function addChanges(api: RunningApi, id: number, now: number): Promise<void> {
  const began = now - OUTAGE.beganMs;
  const both = ['hosta-fra', 'hostb-par'] as const;
  const change = (at: number, to: string, reason: string, failing: readonly SampleRegion[], more = {}) => ({
    ...{ monitor_id: id, from_status: to === 'active' ? 'error' : 'active', to_status: to, reason },
    ...{ at, slot: at - 1_300, votes: storedVotes(at - 1_300, failing), incident: null, ...more },
  });
  const still = { from_status: 'active', until: now - HOUR_MS + 240_000, slots: 5 };
  const changes = [
    change(now - 70 * DAY_MS, 'active', 'all-passed', [], { from_status: 'unknown' }),
    change(now - 6 * DAY_MS, 'error', 'majority-failed', REGIONS, { incident: 'former' }),
    change(now - 6 * DAY_MS + 25 * 60_000, 'active', 'all-passed', [], { incident: 'former' }),
    change(began, 'error', 'majority-failed', both, { incident: INCIDENT }),
    change(began + OUTAGE.lastedMs, 'active', 'all-passed', [], { incident: INCIDENT }),
    change(now - HOUR_MS, 'active', 'minority-failed', ['hostb-par'], still),
  ];
  for (const row of changes) await addRows(api.store, 'transitions', row);
}

async function addDeliveries(api: RunningApi, id: number, now: number): Promise<void> {
  const settings = { provider_type: 'webhook', webhook: { endpoint: 'http://127.0.0.1:9/' } };
  const channel = { name: 'Ops room', ...settings, monitor_ids: [String(id)] };
  const { body } = await api.call('POST', '/v1/notifications', channel);
  const notification_id = Number((body as { id: string }).id);
  const began = now - OUTAGE.beganMs;
  const alert = (status: 'error' | 'recovered', at: number) =>
    JSON.stringify({
      ...{ monitor: { id, name: 'Shop', url: 'https://shop.example/health', type: 'http' }, status, at },
      ...{ cronTimestamp: at, reason: 'majority-failed', incident: INCIDENT, regions: [] },
    });
  const add = (status: 'error' | 'recovered', at: number, more: object) =>
    addRows(api.store, 'deliveries', {
      ...{
        uid: `${id}-${at}`,
        notification_id,
        monitor_id: id,
        alert: alert(status, at),
        status,
        attempts: 1,
      },
      ...{
        incident: INCIDENT,
        state: 'delivered',
        next_attempt_at: null,
        last_error: null,
        replayed_at: null,
      },
      ...{ created_at: at, finished_at: at + 40, ...more },
    });
  const first = await add('error', began, { attempts: 2 });
  const second = await add('recovered', began + OUTAGE.lastedMs, {
    state: 'dead',
    last_error: 'answered 410: gone',
  });
  const attempt = (delivery_id: number, number: number, at: number, more: object) => ({
    ...{ delivery_id, number, at, duration: 35.4, outcome: 'delivered', status_code: 200, error: null },
    ...{ reason: null, reply: 'ok', next_attempt_at: null, ...more },
  });
  const failure = {
    outcome: 'retry',
    status_code: 502,
    error: 'answered 502',
    reason: 'receiver',
    reply: null,
  };
  const gone = {
    outcome: 'permanent-channel',
    status_code: 410,
    error: 'answered 410: gone',
    reason: 'refused',
  };
  await addRows(
    api.store,
    'delivery_attempts',
    attempt(first, 1, began + 20, { ...failure, next_attempt_at: began + 5_000 }),
    attempt(first, 2, began + 5_020, {}),
    attempt(second, 1, began + OUTAGE.lastedMs, gone),
  );
}
