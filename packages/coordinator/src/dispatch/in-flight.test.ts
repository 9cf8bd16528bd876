import type { JobKey, Refusal } from '@svc/shared/messages/heartbeat.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  FRA,
  KeptSlots,
  liveMonitor,
  log,
  PAR,
} from '../../../../test/support/coordinator/dispatch-parts.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import type { KnownAgent } from './agents.ts';
import { Agents } from './agents.ts';
import { newCounters } from './counters.ts';
import { InFlight } from './in-flight.ts';

const MONITORS = [1, 2, 3].map((id) => liveMonitor(id, { regions: [FRA, PAR] }));
const REGIONS = [FRA, PAR] as const;
const REFUSALS: readonly Refusal[] = ['held', 'finished', 'full', 'draining', 'invalid'];

type Step = { kind: string; monitor: number; region: number; after: number; flag: number };

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom(
      'open',
      'publish',
      'accept',
      'refuse',
      'heartbeat',
      'empty-heartbeat',
      'gone',
      'record',
      'give-back',
      'offer-again',
      'pass',
    ),
    monitor: fc.nat({ max: 2 }),
    region: fc.nat({ max: 1 }),
    after: fc.integer({ min: 0, max: 4_000 }),
    flag: fc.nat({ max: 4 }),
  }),
  { maxLength: 120 },
);

/** An in-flight table that is driven step by step, and what must have become of every job. */
class Model {
  readonly clock = new FakeClock();
  readonly sink = new KeptSlots();
  readonly counters = newCounters();
  readonly inFlight: InFlight;
  readonly agents: Agents;
  slot = 0;
  opened = 0;
  recorded = 0;

  constructor() {
    const { counters, clock } = this;
    this.inFlight = new InFlight({
      events: this.sink,
      counters,
      readerCaughtUp: () => true,
    });
    this.agents = new Agents({
      clock,
      log,
      counters,
      onRegionLive: () => {},
      onRegionLost: () => {},
      onGone: () => {},
    });
  }

  step({ kind, monitor: index, region: regionIndex, after, flag }: Step): void {
    this.clock.advance(after);
    const now = this.clock.monotonic();
    const monitor = MONITORS[index] ?? liveMonitor(1);
    const region = REGIONS[regionIndex] ?? FRA;
    const agent = this.agents.seen(region, `agent ${flag % 2}`) as KnownAgent;
    const job = this.inFlight.get(monitor.id, region);
    const keys: JobKey[] = job === undefined ? [[monitor.id, 1]] : [[monitor.id, job.slot]];
    const answer = { v: 1, kind: 'acceptance', agent: agent.id, batch: '1' } as const;
    switch (kind) {
      case 'open':
        if (job !== undefined) break;
        this.slot += 1;
        this.opened += 1;
        this.inFlight.open(monitor, this.slot, region, now);
        break;
      case 'publish':
        for (const each of this.inFlight.queued(region).all()) this.inFlight.markOffered(each, now);
        break;
      case 'accept':
        this.inFlight.acceptance(agent, { ...answer, accepted: keys, refused: [] }, now);
        break;
      case 'refuse': {
        const refused = keys.map(([id, slot]): [number, number, Refusal] => [
          id,
          slot,
          REFUSALS[flag] ?? 'full',
        ]);
        this.inFlight.acceptance(agent, { ...answer, accepted: [], refused }, now);
        break;
      }
      case 'heartbeat':
      case 'empty-heartbeat':
        agent.serial += 1;
        this.inFlight.heartbeat(agent, kind === 'heartbeat' ? keys : [], now);
        break;
      case 'gone':
        this.inFlight.agentGone(agent, now);
        break;
      case 'record':
        if (job !== undefined) this.recorded += 1;
        this.inFlight.recorded(monitor.id, job?.slot ?? 1, region);
        break;
      case 'give-back':
        this.inFlight.givenBack(monitor.id, job?.slot ?? 1, region, now);
        break;
      case 'offer-again':
        this.inFlight.offerAgain(region);
        break;
      default:
        this.inFlight.loseMissing(now);
        for (const region of REGIONS) this.inFlight.judge(region, now);
        this.inFlight.expireQueued(now);
    }
  }

  /** Every job is in exactly the place that its state says. */
  check(): void {
    const held = REGIONS.flatMap((region) =>
      [...this.agents.agentsOf(region)].flatMap(({ jobs }) => jobs.all()),
    );
    const queued = REGIONS.flatMap((region) => this.inFlight.queued(region).all());
    for (const job of this.inFlight.values()) {
      expect(queued.includes(job)).toBe(job.state === 'queued');
      expect(job.queueIndex >= 0).toBe(job.state === 'offered');
      expect(held.filter((each) => each === job)).toHaveLength(job.state === 'accepted' ? 1 : 0);
      expect(job.agent !== null).toBe(job.state === 'accepted');
    }
    for (const job of [...held, ...queued]) expect(this.inFlight.get(job.monitor.id, job.region)).toBe(job);
    expect(this.opened).toBe(this.recorded + this.sink.abstentions.length + this.inFlight.size);
  }
}

test('whatever agents say, every job ends once: recorded or abstained', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const model = new Model();
      for (const step of all) {
        model.step(step);
        model.check();
      }
      const keys = model.sink.abstentions.map(({ id, slot, region }) => `${id} ${slot} ${region}`);
      expect(new Set(keys).size).toBe(keys.length);
    }),
    { numRuns: 300 },
  );
});

test('answers about jobs that nobody waits for are not counted', () => {
  const model = new Model();
  const agent = model.agents.seen(FRA, 'agent 0') as KnownAgent;
  const answer = { v: 1, kind: 'acceptance', agent: agent.id, batch: '1' } as const;
  const unknown: JobKey = [1, 99];
  model.inFlight.acceptance(agent, { ...answer, accepted: [unknown], refused: [[...unknown, 'full']] }, 0);
  expect(model.counters.answers).toEqual({ accepted: 0, refused: 0 });
});

test('what nobody accepts is over within its bound, whatever is refused', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 4 }), { maxLength: 60 }), (flags) => {
      const model = new Model();
      model.step({ kind: 'open', monitor: 0, region: 0, after: 0, flag: 0 });
      for (const flag of flags) {
        // Held and finished count as taken.
        const kind = flag < 2 ? 'pass' : 'refuse';
        for (const each of ['publish', kind, 'pass']) {
          model.step({ kind: each, monitor: 0, region: 0, after: 50, flag });
        }
      }
      model.step({ kind: 'pass', monitor: 0, region: 0, after: 10_000, flag: 0 });
      expect(model.sink.abstentions).toHaveLength(1);
      expect(model.inFlight.size).toBe(0);
    }),
  );
});
