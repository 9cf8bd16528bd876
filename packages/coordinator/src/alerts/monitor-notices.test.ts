import { type Alert, alert as alertSchema } from '@svc/shared/channels/alert.ts';
import type { Outcome } from '@svc/shared/messages/check-result.ts';
import type { Region } from '@svc/shared/regions.ts';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLog } from '../../../../test/support/configured-store.ts';
import { type Loss, lossyStore } from '../../../../test/support/coordinator/lossy-store.ts';
import { liveMonitor, Recording, THREE } from '../../../../test/support/coordinator/recording.ts';
import { TEST_IDS } from '../../../../test/support/test-ids.ts';
import { electableRegions } from '../checks/batch-evaluation.ts';
import { Secrets } from '../store/declaration/secrets.ts';
import type { Store } from '../store/store.ts';
import type { LiveMonitor } from '../verdict/monitor.ts';
import { ONLY_SHARD } from '../verdict/shard.ts';
import { newState } from '../verdict/state.ts';
import { contentOf, plainText } from './content.ts';
import { MonitorNotices } from './monitor-notices.ts';

/* Tests notices with the real recorder and a real database, on a fake clock. */

const [A, B, C] = THREE as [Region, Region, Region];
const MINUTE = 60_000;
const PERIOD = 5 * MINUTE;
/** For how long a region must fail alone, ms. */
const AFTER = 30 * MINUTE;
const MAIL = 10;
const CHAT = 11;
const WEBHOOK = 12;
const PAGER = 13;
const regionText = (region: Region) => (region === B ? `Berlin office (${B})` : region);

let it: Recording;
let notices: MonitorNotices;
/** What is lost of each of the next transactions of the notices: its answer, or the whole transaction. */
let lost: Loss[];
/** Number of queries whether most monitors of a workspace have no data. */
let asked: number;

beforeEach(opened);

async function opened(): Promise<void> {
  it = await Recording.open();
  lost = [];
  asked = 0;
  await declare(1);
  await it.channel(MAIL, 'email', [1]);
  await it.channel(CHAT, 'chat_a', [1]);
  await it.channel(WEBHOOK, 'webhook', [1]);
  await it.channel(PAGER, 'incident_a', [1]);
  it.recorder.endResumption();
  watch();
}

afterEach(async () => {
  await notices.stop();
  await it.dispose();
});

const declare = (id: number, changes: Partial<LiveMonitor> = {}) =>
  it.declare(liveMonitor(id, { periodMs: PERIOD, name: `Shop ${id}`, ...changes }));

function watch(): void {
  notices = new MonitorNotices({
    shard: ONLY_SHARD,
    store: counted(it.store),
    secrets: new Secrets(Buffer.alloc(32, 1)),
    ids: TEST_IDS,
    states: it.states,
    monitors: it.monitors,
    clock: it.clock,
    slotClock: it.slotClock,
    log: silentLog,
    regionAfterMs: AFTER,
    regionText,
    electable: () => electableRegions(it.presence),
    isHeld: (monitorId) => it.recorder.holdsAlerts(monitorId),
    onQueued: () => {},
  });
  notices.start();
}

/** Counts the queries in raw SQL. The notices have only one such query: whether a workspace is silent. */
function counted(store: Store): Store {
  const work = store.work.withPlugin({
    transformQuery({ node }) {
      if (node.kind === 'RawNode') asked += 1;
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  return { ...lossyStore(store, () => lost.shift()), work };
}

/** Simulates a kill: uncommitted data is lost, and new parts start from the database. */
async function kill(): Promise<void> {
  await notices.stop();
  await it.restart();
  it.recorder.endResumption();
  await it.recorder.flushed();
  watch();
}

/** Lets these monitors report these outcomes for this number of periods. A region without an outcome is silent. */
async function periods(count: number, outcomes: Partial<Record<Region, Outcome>>, ids = [1]): Promise<void> {
  for (let period = 0; period < count; period += 1) {
    for (const id of ids) {
      if (it.monitors.get(id)?.active === true && Object.keys(outcomes).length > 0)
        await it.slot(id, outcomes);
    }
    await pass(PERIOD);
  }
}

async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 10_000) {
    await it.pass(Math.min(10_000, left));
    await notices.looked();
  }
}

type Row = { channel: number; monitorId: number; alert: Alert };

async function deliveries(): Promise<Row[]> {
  const rows = await it.rows<{ channel: number; monitorId: number; alert: string }>(
    'SELECT notification_id AS channel, monitor_id AS "monitorId", alert FROM deliveries ORDER BY id',
  );
  return rows.map((row) => ({ ...row, alert: alertSchema.parse(JSON.parse(row.alert)) }));
}

/** The titles of the notices, and the statuses of the alerts, that were queued for a channel, in their order. */
async function told(channel = MAIL): Promise<string[]> {
  const of = (await deliveries()).filter((each) => each.channel === channel);
  return of.map(({ alert }) => alert.notice?.title ?? alert.status);
}

/** Declares monitor 1 with five regions. */
async function fiveRegions(): Promise<void> {
  const regions: Region[] = [...THREE, 'hosta-ams', 'hosta-arn'];
  for (const region of regions) it.presence.had.add(region);
  await declare(1, { regions });
}

const open = () => it.rows<{ region: string }>('SELECT region FROM monitor_notices ORDER BY region');

const ALONE = { [A]: 'failed', [B]: 'passed', [C]: 'passed' } as const;
const ALL = { [A]: 'passed', [B]: 'passed', [C]: 'passed' } as const;
const DOWN = { [A]: 'failed', [B]: 'failed', [C]: 'failed' } as const;
const FAILS = `Region ${A} fails: Shop 1`;
const WORKS = `Region ${A} works again: Shop 1`;

describe('a region that fails alone', () => {
  test('causes a notice after half an hour, to people only, and another one when it works again', async () => {
    await periods(1, ALL);
    await periods(5, ALONE);
    expect(await told()).toEqual([]);
    await periods(3, ALONE);
    expect(await told()).toEqual([FAILS]);
    await periods(1, ALL);
    expect(await told()).toEqual([FAILS, WORKS]);
    expect(await told(CHAT)).toEqual([FAILS, WORKS]);
    expect(await told(WEBHOOK)).toEqual([]);
    expect(await told(PAGER)).toEqual([]);
    expect(await open()).toEqual([]);
    expect(it.changes.map(({ to }) => to)).toEqual(['active']);
  });

  test('the message has the region, since when, the error, and how the others see it', async () => {
    await fiveRegions();
    const five = { ...ALL, 'hosta-ams': 'degraded', 'hosta-arn': 'passed' } as const;
    await periods(1, five);
    const since = it.clock.wall();
    for (let slot = 0; slot < 7; slot += 1) {
      await it.slot(1, { ...five, [A]: { outcome: 'failed', error_message: 'connection refused' } });
      await pass(PERIOD);
    }
    const [first] = await deliveries();
    const text = plainText(contentOf(first?.alert as Alert, 'https://svc.example'));
    expect(text.split('\n')).toEqual([
      FAILS,
      'Problem: connection refused',
      // The failure began right after the end of the last check that passed.
      expect.stringMatching(/^Failing there since: 2026-01-01 00:0[0-5]:\d\d UTC$/),
      'Other regions: 3 passed, 1 degraded',
      'Status: active',
      'HTTP target: http://127.0.0.1/',
      'https://svc.example/monitors/1',
    ]);
    expect(first?.alert.since).toBeLessThanOrEqual(since);
  });

  test('has its name in the message, if it has one', async () => {
    const alone = { ...ALL, [B]: 'failed' } as const;
    await periods(1, ALL);
    await periods(8, alone);
    await periods(1, ALL);
    const name = `Berlin office (${B})`;
    expect(await told()).toEqual([`Region ${name} fails: Shop 1`, `Region ${name} works again: Shop 1`]);
    expect((await deliveries())[0]?.alert.regions.map(({ region }) => region)).toContain(B);
  });

  test('if others fail too, the notice ends without a message, and the half hour begins again', async () => {
    await periods(1, ALL);
    await periods(7, ALONE);
    await periods(1, DOWN);
    await periods(5, ALONE);
    expect(await told()).toEqual([FAILS, 'error', 'recovered']);
    await periods(2, ALONE);
    expect(await told()).toEqual([FAILS, 'error', 'recovered', FAILS]);
  });

  test('a notice does not end when its region stops to report, but when the region has had no agent for a day', async () => {
    await periods(1, ALL);
    await periods(7, ALONE);
    await periods(6, { [B]: 'passed', [C]: 'passed' });
    expect(await open()).toEqual([{ region: A }]);
    await periods(1, ALONE);
    it.presence.had.delete(A);
    await periods(1, { [B]: 'passed', [C]: 'passed' });
    expect(await open()).toEqual([]);
    expect(await told()).toEqual([FAILS]);
  });

  test('each of two failing regions among five causes a notice; the only region of a monitor causes none', async () => {
    await fiveRegions();
    await declare(2, { regions: [A], confirmAfter: 10 });
    await it.link(2, MAIL, 'email');
    const passed = { ...ALL, 'hosta-ams': 'passed', 'hosta-arn': 'passed' } as const;
    await periods(1, passed);
    await it.slot(2, { [A]: 'passed' });
    for (let slot = 0; slot < 7; slot += 1) {
      await it.slot(2, { [A]: 'failed' });
      await periods(1, { ...passed, [A]: 'failed', 'hosta-ams': 'failed' });
    }
    expect((await told()).sort()).toEqual([FAILS, 'Region hosta-ams fails: Shop 1'].sort());
    expect(it.status(2)).toBe('active');
  });

  test('in maintenance no notice begins and none ends: the messages come at the end of the window', async () => {
    await periods(1, ALL);
    const window = await it.window([1], it.clock.wall(), it.clock.wall() + 100 * PERIOD);
    await periods(8, ALONE);
    expect(await told()).toEqual([]);
    await it.endWindow(window, it.clock.wall());
    await pass(10_000);
    expect(await told()).toEqual([FAILS]);
    const second = await it.window([1], it.clock.wall(), it.clock.wall() + 100 * PERIOD);
    await periods(2, ALL);
    expect(await told()).toEqual([FAILS]);
    await it.endWindow(second, it.clock.wall());
    await pass(10_000);
    expect(await told()).toEqual([FAILS, WORKS]);
  });

  test('a mute holds notices like maintenance', async () => {
    await periods(1, ALL);
    await it.mute(1, it.clock.wall() + 100 * PERIOD);
    await periods(8, ALONE);
    expect(await told()).toEqual([]);
    await it.mute(1, null);
    await pass(10_000);
    expect(await told()).toEqual([FAILS]);
  });

  test('a pause, a removed region and a removed monitor end a notice without a message', async () => {
    await declare(2);
    await declare(3);
    await it.link(2, MAIL, 'email');
    await it.link(3, MAIL, 'email');
    await periods(1, ALL, [1, 2, 3]);
    await periods(7, ALONE, [1, 2, 3]);
    expect(await open()).toHaveLength(3);
    await declare(1, { active: false });
    await declare(2, { regions: [B, C] });
    await it.remove(3);
    await pass(10_000);
    expect(await open()).toEqual([]);
    expect(await told()).toHaveLength(3);
  });

  test('only channels that got the beginning, and were not unlinked since, get the end', async () => {
    await periods(1, ALL);
    await periods(7, ALONE);
    await it.channel(14, 'sms', [1]);
    await it.unlink(1, CHAT);
    await it.link(1, CHAT, 'chat_a');
    await periods(1, ALL);
    expect(await told()).toEqual([FAILS, WORKS]);
    expect(await told(CHAT)).toEqual([FAILS]);
    expect(await told(14)).toEqual([]);
  });

  test('a coordinator that is killed again and again neither loses nor doubles a message, and keeps the time', async () => {
    await periods(1, ALL);
    for (let slot = 0; slot < 5; slot += 1) {
      await periods(1, ALONE);
      await kill();
    }
    expect(await told()).toEqual([]);
    // The transaction is lost, then it is stored but its answer is lost, and then the process is killed.
    lost = ['all', 'answer'];
    await periods(1, ALONE);
    await kill();
    await periods(1, ALONE);
    expect(lost).toEqual([]);
    expect(await told()).toEqual([FAILS]);
    lost = ['answer'];
    await periods(1, ALL);
    await kill();
    await periods(1, ALL);
    expect(await told()).toEqual([FAILS, WORKS]);
    expect(await told(CHAT)).toEqual([FAILS, WORKS]);
  });

  test('notices about 2,500 monitors that one region cannot reach begin together', async () => {
    const ids = Array.from({ length: 2_500 }, (_, index) => index + 2);
    await it.store.transaction(async (tx) => {
      await tx.runEach(
        `INSERT INTO monitors (id, workspace_id, type, name, active, attributes, activated_at, created_at,
          updated_at) VALUES (?, 1, 'http', 'Shop', 1, '{}', 0, 0, 0) ON CONFLICT DO NOTHING`,
        ids.map((id) => [id]),
      );
      const states =
        "INSERT INTO monitor_states (monitor_id, status, since, reason) VALUES (?, 'active', 1, ?)";
      await tx.runEach(`${states} ON CONFLICT (monitor_id) DO UPDATE SET status = 'active', since = 1`, [
        ...ids.map((id) => [id, 'minority-failed'] as const),
      ]);
    });
    await periods(1, ALONE);
    const votes = it.states.get(1)?.votes.map((vote) => {
      return { ...vote, failedSince: vote.failedSince === null ? null : 1, expiresAt: Number.MAX_VALUE };
    });
    for (const id of ids) {
      it.monitors.set(liveMonitor(id));
      const state = {
        ...newState(id, 1),
        status: 'active',
        reason: 'minority-failed',
        votes: votes ?? [],
      } as const;
      it.states.set({ ...state, entered: it.states.get(1)?.entered ?? 0, open: [] });
    }
    await pass(10_000);
    expect(await open()).toHaveLength(2_500);
  });

  test('after a loss of the last commits, the messages are queued again with the same ids', async () => {
    const uids = () => it.rows<{ uid: string }>('SELECT uid FROM deliveries ORDER BY id');
    await periods(1, ALL);
    await periods(5, ALONE);
    await it.copy();
    await periods(2, ALONE);
    const before = await uids();
    expect(before).toHaveLength(2);
    await notices.stop();
    await it.restartFromCopy();
    it.recorder.endResumption();
    await it.recorder.flushed();
    watch();
    await periods(2, ALONE);
    expect(await uids()).toEqual(before);
  });
});

describe('missing data', () => {
  const NO_DATA = 'No data: Shop 1';
  const BACK = 'Data is back: Shop 1';

  /** Declares two further monitors. */
  beforeEach(async () => {
    await declare(2);
    await declare(3);
  });

  /** Lets monitor 1 be silent for this number of periods, while the others have data. */
  const silent = (count: number) => periods(count, ALL, [2, 3]);

  test('causes one notice after three periods of `unknown`, and another one when data is back', async () => {
    await periods(2, ALL, [1, 2, 3]);
    await silent(3);
    expect(it.status(1)).toBe('unknown');
    await silent(2);
    expect(await told()).toEqual([]);
    await silent(10);
    expect(await told()).toEqual([NO_DATA]);
    const before = asked;
    await silent(1);
    expect(asked).toBe(before);
    await periods(1, ALL, [1, 2, 3]);
    for (const channel of [MAIL, CHAT]) expect(await told(channel)).toEqual([NO_DATA, BACK]);
    expect(await told(WEBHOOK)).toEqual([]);
  });

  test.each([
    ['was frozen for hours, as on a machine that sleeps', (ms: number) => it.clock.stepBoth(ms)],
    ['had its clock set forward by hours', (ms: number) => it.clock.stepWall(ms)],
  ])(
    'is not told while a monitor that is checked each hour waits for its check after svc %s',
    async (_, skip) => {
      await declare(1, { periodMs: 60 * MINUTE });
      await periods(2, ALL, [1, 2, 3]);
      skip(8 * 60 * MINUTE);
      await it.recorder.flushed();
      await notices.looked();
      await periods(1, ALL, [2, 3]);
      expect(it.status(1)).toBe('unknown');
      await silent(10);
      expect(await told()).toEqual([]);
      await periods(1, ALL, [1, 2, 3]);
      expect(await told()).toEqual([]);
    },
  );

  test('the message has the reason, since when, and how long it lasted', async () => {
    await periods(2, ALL, [1, 2, 3]);
    await silent(8);
    await periods(1, ALL, [1, 2, 3]);
    const texts = (await deliveries())
      .filter(({ channel }) => channel === MAIL)
      .map(({ alert }) => plainText(contentOf(alert, 'https://svc.example')).split('\n'));
    expect(texts).toEqual([
      [
        NO_DATA,
        'Reason: too few of its regions report',
        expect.stringMatching(/^No data since: 2026-01-01 00:\d\d:\d\d UTC$/),
        'Status: unknown',
        'HTTP target: http://127.0.0.1/',
        'https://svc.example/monitors/1',
      ],
      [
        BACK,
        expect.stringMatching(/^There was none since: /),
        expect.stringMatching(/^Lasted: \d\d min/),
        'Status: active',
        'HTTP target: http://127.0.0.1/',
        'https://svc.example/monitors/1',
      ],
    ]);
  });

  test.each([
    ['failed', 'error'],
    ['degraded', 'degraded'],
  ] as const)('the message that data is back has the status of the monitor: %s', async (outcome, status) => {
    await periods(2, ALL, [1, 2, 3]);
    await silent(8);
    await periods(1, { [A]: outcome, [B]: outcome, [C]: outcome }, [1, 2, 3]);
    expect(it.status(1)).toBe(status);
    const { alert } = (await deliveries()).find(({ alert }) => alert.notice?.isOver) ?? {};
    expect(alert?.status).toBe(status);
    expect(alert?.notice?.title).toBe(`Data is back, status ${status}: Shop 1`);
    expect(alert?.notice?.facts).toContainEqual({ label: 'Status', text: status });
  });

  test('failures that do not confirm a status yet are data: nobody is told that there are none', async () => {
    await declare(1, { confirmAfter: 10 });
    await periods(2, ALL, [1, 2, 3]);
    await silent(4);
    expect(it.status(1)).toBe('unknown');
    for (let slot = 0; slot < 9; slot += 1) {
      await it.slot(1, DOWN);
      await silent(1);
    }
    expect(it.status(1)).toBe('unknown');
    expect(await told()).toEqual([]);
    await it.slot(1, DOWN);
    await silent(1);
    expect(await told()).toEqual(['error']);
  });

  test('the end of a mute tells for how long data was missing, not for how long it was muted', async () => {
    await periods(2, ALL, [1, 2, 3]);
    await silent(8);
    expect(await told()).toEqual([NO_DATA]);
    await it.mute(1, it.clock.wall() + 100 * PERIOD);
    await periods(24, ALL, [1, 2, 3]);
    await it.mute(1, null);
    await pass(10_000);
    expect(await told()).toEqual([NO_DATA, BACK]);
    const end = (await deliveries()).find(({ channel, alert }) => channel === MAIL && alert.notice?.isOver);
    expect(end?.alert.notice?.facts).toContainEqual({
      label: 'Lasted',
      text: expect.stringMatching(/^30 min/),
    });
  });

  test('a channel with `notify_unknown: false` gets no notices about missing data, but those about regions', async () => {
    await it.write('UPDATE notifications SET notify_unknown = 0 WHERE id = ?', MAIL);
    await periods(2, ALL, [1, 2, 3]);
    await silent(8);
    await periods(7, ALONE, [1, 2, 3]);
    expect(await told(CHAT)).toEqual([NO_DATA, BACK, FAILS]);
    expect(await told()).toEqual([FAILS]);
  });

  test('no notice begins while most monitors are silent, and before each had time for new data', async () => {
    await periods(2, ALL, [1, 2, 3]);
    await periods(20, ALL, [3]);
    expect(await told()).toEqual([]);
    // Monitor 2 has data at once. Monitor 1 has data one period later, as if its period were longer.
    await periods(1, ALL, [2, 3]);
    await periods(1, ALL, [1, 2, 3]);
    expect(await told()).toEqual([]);
    await periods(20, ALL, [3]);
    // Monitor 1 stays silent when monitor 2 has data again.
    await silent(2);
    expect(await told()).toEqual([]);
    await silent(3);
    expect(await told()).toEqual([NO_DATA]);
  });

  test('the time in which no coordinator ran causes no notice', async () => {
    await periods(2, ALL, [1, 2, 3]);
    await notices.stop();
    it.clock.advance(100 * PERIOD);
    await kill();
    await silent(2);
    await periods(2, ALL, [1, 2, 3]);
    expect(await told()).toEqual([]);
  });

  test('a kill right before the time is over delays the message until the monitor had time for new data', async () => {
    await periods(2, ALL, [1, 2, 3]);
    await silent(5);
    await kill();
    await silent(2);
    expect(await told()).toEqual([]);
    lost = ['all', 'answer'];
    await silent(2);
    await kill();
    await silent(5);
    expect(await told()).toEqual([NO_DATA]);
    await periods(1, ALL, [1, 2, 3]);
    expect(await told()).toEqual([NO_DATA, BACK]);
  });

  test('the time of a pause does not count; a monitor that never had data causes a notice too', async () => {
    await periods(1, ALL, [1, 2, 3]);
    await declare(1, { active: false });
    await silent(20);
    expect(await told()).toEqual([]);
    await declare(1, { activatedAt: it.clock.wall() });
    await silent(3);
    expect(await told()).toEqual([]);
    await silent(1);
    expect(await told()).toEqual([NO_DATA]);
    await declare(1, { active: false });
    await declare(4, { activatedAt: it.clock.wall() });
    await it.link(4, MAIL, 'email');
    await silent(4);
    expect(await told()).toEqual([NO_DATA, 'No data: Shop 4']);
  });
});

/* Tests random courses of three regions, with kills and lost transactions, against a model of the notices. */

const OUTCOMES = ['passed', 'degraded', 'failed', 'silent'] as const;
type Reported = (typeof OUTCOMES)[number];
type Step = {
  /** Number of periods in which the regions report these outcomes. */
  readonly periods: number;
  readonly of: readonly [Reported, Reported, Reported];
  readonly event: 'nothing' | 'kill' | 'lost' | 'unanswered' | 'mute' | 'unmute' | 'pause' | 'resume';
};

const reported = (failing: number, passing: number) =>
  fc.oneof(
    { weight: passing, arbitrary: fc.constant('passed' as const) },
    { weight: failing, arbitrary: fc.constant('failed' as const) },
    { weight: 1, arbitrary: fc.constantFrom(...OUTCOMES) },
  );
const step: fc.Arbitrary<Step> = fc.record({
  periods: fc.integer({ min: 1, max: 5 }),
  of: fc.tuple(reported(6, 2), reported(1, 8), reported(1, 8)),
  event: fc.constantFrom(
    ...(['nothing', 'nothing', 'kill', 'lost', 'unanswered', 'mute', 'unmute', 'pause', 'resume'] as const),
  ),
});

/** The reports of a region. Instants are slots, epoch ms; 0: there is no such slot. */
type Seen = { last: Reported; lastAt: number; failedSince: number; notFailedAt: number };

/**
 * A model of the notices about regions of one monitor. It uses only the reports of the
 * regions and the status of the monitor. It uses neither votes nor the code of notices.
 */
class Promises {
  readonly #seen = new Map<Region, Seen>();
  readonly #open = new Set<Region>();
  readonly told: string[] = [];

  report(region: Region, outcome: Reported, at: number): void {
    if (outcome === 'silent') return;
    const before = this.#seen.get(region) ?? { last: outcome, lastAt: 0, failedSince: 0, notFailedAt: 0 };
    const isFailure = outcome === 'failed';
    // A failure after three silent periods counts as a new one.
    const goesOn = before.failedSince > 0 && at - before.lastAt < 3 * PERIOD;
    const failedSince = !isFailure ? 0 : goesOn ? before.failedSince : at;
    const notFailedAt = isFailure ? before.notFailedAt : at;
    this.#seen.set(region, { last: outcome, lastAt: at, failedSince, notFailedAt });
  }

  /** Checks that the notices about regions that are open now follow from the reports. */
  judge(open: ReadonlySet<Region>, status: string, since: number, now: number, isHeld: boolean): void {
    const fresh = [...this.#seen].filter(([, { lastAt }]) => now - lastAt < 3 * PERIOD);
    const failing = fresh.filter(([, { last }]) => last === 'failed').length;
    for (const region of THREE) {
      const seen = this.#seen.get(region) ?? { last: 'passed', lastAt: 0, failedSince: 0, notFailedAt: 0 };
      const isFresh = now - seen.lastAt < 3 * PERIOD;
      // A vote counts up to the instant of its expiry.
      const mayFail = now - seen.lastAt <= 3 * PERIOD && seen.last === 'failed' && status === 'active';
      const fails = isFresh && mayFail;
      const lasts = (from: number) => now - Math.max(from, since);
      const where = `${region} at ${new Date(now).toISOString()}`;
      if (open.has(region) && !this.#open.has(region)) {
        expect(mayFail && !isHeld && lasts(seen.notFailedAt) >= AFTER, `${where} began too early`).toBe(true);
        this.told.push(`Region ${regionText(region)} fails: Shop 1`);
      }
      if (!open.has(region)) {
        const isDue = fails && !isHeld && failing === 1 && fresh.length === 3;
        expect(isDue && lasts(seen.failedSince) >= AFTER + 30_000, `${where} was not told`).toBe(false);
      }
      if (this.#open.has(region) && !open.has(region)) {
        const works = isFresh && seen.last !== 'failed';
        if (status === 'active' && works) this.told.push(`Region ${regionText(region)} works again: Shop 1`);
        else expect(status, `${where} ended`).not.toBe('active');
      }
      if (this.#open.has(region) && open.has(region) && !isHeld) {
        expect(['error', 'degraded'], `${where} goes on`).not.toContain(status);
        expect(status === 'active' && isFresh && seen.last !== 'failed', `${where} goes on`).toBe(false);
      }
    }
    this.#open.clear();
    for (const region of open) this.#open.add(region);
  }

  /** Notes that the monitor was paused. All its notices end without a message. */
  paused(): void {
    this.#open.clear();
    this.#seen.clear();
  }
}

test('in any course of events, each notice begins once, when it is due, and ends once', async () => {
  await fc.assert(
    fc
      .asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (steps) => {
        const promises = new Promises();
        let isMuted = false;
        await periods(1, ALL);
        const began = it.clock.wall() - PERIOD;
        for (const region of THREE) promises.report(region, 'passed', began);
        for (const { periods: count, of, event } of steps) {
          for (let period = 0; period < count; period += 1) {
            const at = it.clock.wall();
            const outcomes = Object.fromEntries(THREE.map((region, index) => [region, of[index]] as const));
            const isActive = it.monitors.get(1)?.active === true;
            if (isActive)
              for (const region of THREE) promises.report(region, outcomes[region] ?? 'silent', at);
            const spoken = Object.entries(outcomes).filter(([, outcome]) => outcome !== 'silent');
            await periods(1, Object.fromEntries(spoken) as Partial<Record<Region, Outcome>>);
            const rows = (await open()).filter(({ region }) => region !== '');
            const since = it.states.get(1)?.since ?? 0;
            const status = it.status(1) ?? 'unknown';
            promises.judge(
              new Set(rows.map(({ region }) => region as Region)),
              status,
              since,
              it.clock.wall(),
              isMuted,
            );
          }
          if (event === 'kill') await kill();
          if (event === 'lost') lost.push('all');
          if (event === 'unanswered') lost.push('answer');
          if (event === 'mute' || event === 'unmute') {
            isMuted = event === 'mute';
            await it.mute(1, isMuted ? it.clock.wall() + 1_000 * PERIOD : null);
          }
          if (event === 'pause' || event === 'resume') {
            const active = event === 'resume';
            if ((it.monitors.get(1)?.active === true) === active) continue;
            await declare(1, { active, activatedAt: it.clock.wall() });
            await pass(10_000 - (it.clock.wall() % 10_000));
            await pass(20_000);
            if (!active) promises.paused();
          }
        }
        const said = (channel: number) =>
          told(channel).then((all) => all.filter((each) => each.startsWith('Region')));
        expect(await said(MAIL)).toEqual(promises.told);
        expect(await said(CHAT)).toEqual(promises.told);
      })
      .beforeEach(reopen),
    { numRuns: Number(process.env.WORLDS ?? 6) },
  );
});

const silences = fc.array(
  fc.record({
    periods: fc.integer({ min: 1, max: 9 }),
    // The second and the third monitor each have data in three of four steps.
    silent: fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 3 })),
    event: fc.constantFrom('nothing', 'nothing', 'kill', 'lost', 'unanswered'),
  }),
  { minLength: 3, maxLength: 8 },
);

test('in any course of silences, missing data causes one notice, when it is due, and one at its end', async () => {
  await fc.assert(
    fc
      .asyncProperty(silences, async (steps) => {
        const ids = [1, 2, 3];
        for (const id of [2, 3]) {
          await declare(id);
          await it.link(id, MAIL, 'email');
        }
        const expected: string[] = [];
        const open = new Set<number>();
        /** When svc was last down, or most monitors last had no data. */
        let troubleAt = it.clock.wall();
        await periods(1, ALL, ids);
        for (const { periods: count, silent, event } of steps) {
          const spoken = ids.filter((_, index) => silent[index] !== true && silent[index] !== 0);
          for (let period = 0; period < count; period += 1) {
            await periods(1, ALL, spoken);
            const now = it.clock.wall();
            const without = ids.filter((id) => it.status(id) === 'unknown');
            const lasted = (id: number) => now - (it.states.get(id)?.since ?? 0);
            if (without.length > 1) troubleAt = now;
            const rows = await it.rows<{ id: number }>(
              'SELECT monitor_id AS id FROM monitor_notices ORDER BY monitor_id',
            );
            const told = new Set(rows.map(({ id }) => id));
            for (const id of ids) {
              const where = `monitor ${id} at ${new Date(now).toISOString()}`;
              if (told.has(id) && !open.has(id)) {
                expect(without, where).toEqual([id]);
                expect(Math.min(lasted(id), now - troubleAt), where).toBeGreaterThan(3 * PERIOD - 20_000);
                expected.push(`No data: Shop ${id}`);
              }
              if (!told.has(id) && without.length === 1 && without.includes(id))
                expect(Math.min(lasted(id), now - troubleAt), where).toBeLessThan(3 * PERIOD + 40_000);
              if (open.has(id)) expect(told.has(id), where).toBe(without.includes(id));
              if (open.has(id) && !told.has(id)) expected.push(`Data is back: Shop ${id}`);
            }
            open.clear();
            for (const id of told) open.add(id);
          }
          if (event === 'kill') {
            await kill();
            troubleAt = it.clock.wall();
          }
          if (event === 'lost') lost.push('all');
          if (event === 'unanswered') lost.push('answer');
        }
        expect((await told()).toSorted()).toEqual(expected.toSorted());
      })
      .beforeEach(reopen),
    { numRuns: Number(process.env.WORLDS ?? 6) },
  );
});

async function reopen(): Promise<void> {
  await notices.stop();
  await it.dispose();
  await opened();
}
