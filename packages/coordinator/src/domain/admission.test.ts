import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Admission,
  admittedPerSecond,
  earn,
  evenedAt,
  fairParts,
  LEAST_PER_SECOND,
  neededCredit,
  nextAdmission,
  OPEN,
  type Pressure,
  recordingPressure,
  regionPressure,
  tickPressure,
} from './admission.ts';

const STEP_MS = 500;

/**
 * A service that does `capacity` jobs a second, asked for `asked`: a queue in front of it, and the
 * pressure that its length shows.
 */
class Service {
  admission: Admission = OPEN;
  queued = 0;
  done = 0;
  seconds = 0;
  worstLagS = 0;

  run(seconds: number, asked: number, capacity: number): { donePerSecond: number; lagS: number } {
    const before = this.done;
    for (let step = 0; step < (seconds * 1_000) / STEP_MS; step += 1) {
      const inStep = STEP_MS / 1_000;
      const opened = Math.min(asked, admittedPerSecond(this.admission));
      this.queued += opened * inStep;
      const done = Math.min(this.queued, capacity * inStep);
      this.queued -= done;
      this.done += done;
      const oldestMs = (this.queued / capacity) * 1_000;
      this.worstLagS = Math.max(this.worstLagS, oldestMs / 1_000);
      const donePerSecond = done / inStep;
      const pressure = recordingPressure(
        { events: this.queued, oldestMs },
        { donePerSecond, openedPerSecond: opened, isSteady: true },
      );
      this.admission = nextAdmission(
        this.admission,
        { pressure, donePerSecond, usualPerSecond: 0, askedPerSecond: asked },
        STEP_MS,
      );
    }
    return { donePerSecond: (this.done - before) / seconds, lagS: this.queued / capacity };
  }
}

/** What is asked is done, and it is late all the same. */
function lateFor(seconds: number, before: Admission, asked: number, capacity: number): Admission {
  let admission = before;
  for (let step = 0; step < seconds * 2; step += 1) {
    const donePerSecond = Math.min(asked, capacity, admittedPerSecond(admission));
    const load = { pressure: 'late', donePerSecond, usualPerSecond: 0, askedPerSecond: asked } as const;
    admission = nextAdmission(admission, load, STEP_MS);
  }
  return admission;
}

const capacities = fc.integer({ min: 200, max: 20_000 });

describe('the limit', () => {
  test('lateness that skipping does not end takes about half of what can be done, and no more', () => {
    const admitted = admittedPerSecond(lateFor(600, OPEN, 1_000, 1_000));
    expect(admitted).toBeGreaterThanOrEqual(0.4 * 1_000);
    expect(admitted).toBeLessThanOrEqual(0.6 * 1_000);
  });

  test('and that is half of what can be done by then', () => {
    const service = new Service();
    service.run(30, 2_000, 400);
    service.run(14, 2_000, 5_000);
    const before = admittedPerSecond(service.admission);
    expect(before).toBeGreaterThan(800);
    expect(before).toBeLessThan(2_200);
    const admitted = admittedPerSecond(lateFor(600, service.admission, 2_000, 5_000));
    expect(admitted).toBeGreaterThanOrEqual(0.4 * before);
  });

  test('a machine that can do a tenth is given no more than that, although it shows by lateness only', () => {
    const slower = lateFor(60, lateFor(10, OPEN, 1_000, 1_000), 1_000, 100);
    expect(admittedPerSecond(slower)).toBeLessThanOrEqual(100);
  });

  test('below capacity nothing is ever limited', () => {
    fc.assert(
      fc.property(capacities, fc.double({ min: 0.01, max: 1, noNaN: true }), (capacity, part) => {
        const service = new Service();
        for (let second = 0; second < 60; second += 1) {
          service.run(1, capacity * part, capacity);
          expect(service.admission).toBe(OPEN);
        }
      }),
    );
  });

  test('beyond capacity what can be done is done, and what runs is in time', () => {
    fc.assert(
      fc.property(capacities, fc.double({ min: 1.15, max: 20, noNaN: true }), (capacity, times) => {
        const service = new Service();
        service.run(20, capacity * times, capacity);
        const { donePerSecond } = service.run(300, capacity * times, capacity);
        expect(donePerSecond).toBeGreaterThanOrEqual(capacity * 0.93);
        service.worstLagS = 0;
        service.run(60, capacity * times, capacity);
        expect(service.worstLagS).toBeLessThanOrEqual(2.5);
      }),
      { numRuns: 50 },
    );
  });

  test('of a machine that stands still now and then, most of what it can do is done', () => {
    const service = new Service();
    service.run(20, 12_000, 4_000);
    let done = 0;
    for (let round = 0; round < 20; round += 1) {
      done += service.run(4, 12_000, 200).donePerSecond * 4;
      done += service.run(20, 12_000, 4_000).donePerSecond * 20;
    }
    expect(done / (20 * (4 * 200 + 20 * 4_000))).toBeGreaterThanOrEqual(0.75);
  });

  test('three times too much is cut within two seconds', () => {
    const service = new Service();
    service.run(2, 12_000, 4_000);
    expect(admittedPerSecond(service.admission)).toBeLessThanOrEqual(4_000);
    service.run(8, 12_000, 4_000);
    expect(service.queued / 4_000).toBeLessThanOrEqual(1.5);
  });

  test('after the overload all that is asked is admitted again within half a minute', () => {
    fc.assert(
      fc.property(capacities, fc.double({ min: 1.5, max: 5, noNaN: true }), (capacity, times) => {
        const service = new Service();
        service.run(60, capacity * times, capacity);
        service.run(30, capacity * times, capacity * times * 2);
        expect(service.admission).toBe(OPEN);
      }),
    );
  });

  test('as soon as less is asked than is admitted, it ends', () => {
    const service = new Service();
    service.run(60, 12_000, 4_000);
    service.run(12, 1_000, 4_000);
    expect(service.admission).toBe(OPEN);
  });

  test('some jobs are never refused', () => {
    const pressures = fc.constantFrom<Pressure>('free', 'busy', 'late', 'overloaded');
    const loads = fc.record({
      pressure: pressures,
      donePerSecond: fc.double({ min: 0, max: 1e5, noNaN: true }),
      usualPerSecond: fc.double({ min: 0, max: 1e5, noNaN: true }),
      askedPerSecond: fc.double({ min: 0, max: 1e5, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(loads, { maxLength: 100 }), (all) => {
        let admission: Admission = OPEN;
        for (const load of all) {
          admission = nextAdmission(admission, load, STEP_MS);
          expect(admittedPerSecond(admission)).toBeGreaterThanOrEqual(LEAST_PER_SECOND);
          if (load.askedPerSecond <= LEAST_PER_SECOND) expect(admission).toBe(OPEN);
        }
      }),
    );
  });
});

describe('the pressure', () => {
  test.each([
    { name: 'nothing waits', backlog: [0, 0], done: 0, opened: 0, is: 'free' },
    { name: 'a transaction waits', backlog: [50, 250], done: 1_000, opened: 1_000, is: 'free' },
    { name: 'the disk stands still for 3 s', backlog: [3_000, 3_000], done: 0, opened: 1_000, is: 'busy' },
    {
      name: 'and all of it is done at once',
      backlog: [3_000, 3_000],
      done: 1_500,
      opened: 1_000,
      is: 'busy',
    },
    { name: 'the backlog grows', backlog: [6_000, 1_500], done: 4_000, opened: 9_000, is: 'overloaded' },
    { name: 'the disk is dead', backlog: [15_000, 15_000], done: 0, opened: 1_000, is: 'overloaded' },
    { name: 'memory fills', backlog: [100_000, 8_000], done: 0, opened: 12_000, is: 'overloaded' },
  ])('of the recording when $name: $is', ({ backlog: [events = 0, oldestMs = 0], done, opened, is }) => {
    const flow = { donePerSecond: done, openedPerSecond: opened, isSteady: done > 0 };
    expect(recordingPressure({ events, oldestMs }, flow)).toBe(is);
  });

  const QUIET = { offers: 1_000, unanswered: 0, turnedAway: 0, held: 500, capacity: 4_000 };
  test.each([
    { name: 'all is accepted', signs: {}, is: 'free' },
    { name: 'one job was refused', signs: { turnedAway: 1 }, is: 'busy' },
    { name: 'one job in twenty is', signs: { turnedAway: 50 }, is: 'overloaded' },
    { name: 'a few of few are', signs: { offers: 4, turnedAway: 4 }, is: 'busy' },
    { name: 'an agent of several is silent for a moment', signs: { unanswered: 100 }, is: 'free' },
    { name: 'acceptances are late', signs: { unanswered: 200 }, is: 'overloaded' },
    { name: 'there is no agent', signs: { held: 0, capacity: 0 }, is: 'free' },
    { name: 'many checks wait', signs: { held: 7_000 }, is: 'busy' },
    { name: 'small agents hold what was just offered', signs: { held: 700, capacity: 50 }, is: 'overloaded' },
    { name: 'they hold no more than that', signs: { held: 550, capacity: 50 }, is: 'free' },
    { name: 'agents are nearly full', signs: { held: 12_501 }, is: 'overloaded' },
  ])('of a region where $name: $is', ({ signs, is }) => {
    expect(regionPressure({ ...QUIET, ...signs })).toBe(is);
  });

  test.each([
    [40, 0, 'free'],
    [3, 1, 'busy'],
    [1, 1, 'busy'],
    [30, 15, 'busy'],
    [12, 8, 'overloaded'],
  ])('of %i ticks of which %i were late: %s', (ticks, late, is) => {
    expect(tickPressure(ticks, late)).toBe(is);
  });
});

describe('who is admitted', () => {
  const workspaces = fc
    .array(fc.double({ min: 0.01, max: 5_000, noNaN: true }), { minLength: 1, maxLength: 30 })
    .map((rates) => new Map(rates.map((rate, index) => [index + 1, rate])));

  test('a small workspace loses nothing beside one with ten times the monitors', () => {
    expect(
      fairParts(
        new Map([
          [1, 1_000],
          [2, 100],
        ]),
        600,
      ),
    ).toEqual(new Map([[1, 0.5]]));
  });

  test('the limit is used up, and nobody gets more while another with less is cut', () => {
    fc.assert(
      fc.property(workspaces, fc.double({ min: 1, max: 20_000, noNaN: true }), (asked, perSecond) => {
        const parts = fairParts(asked, perSecond);
        const given = [...asked].map(([id, rate]) => rate * (parts.get(id) ?? 1));
        const all = [...asked.values()].reduce((sum, rate) => sum + rate, 0);
        expect(given.reduce((sum, rate) => sum + rate, 0)).toBeCloseTo(Math.min(all, perSecond), 3);
        const cutAt = [...asked].filter(([id]) => parts.has(id)).map(([id, r]) => r * (parts.get(id) ?? 1));
        for (const rate of cutAt) expect(rate).toBeGreaterThanOrEqual(Math.max(...given) - 1e-6);
      }),
    );
  });

  test('of monitors with the same period none loses more than three slots more than another', () => {
    const credits = fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 2, maxLength: 10 });
    const parts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 10, maxLength: 400 });
    fc.assert(
      fc.property(credits, parts, fc.boolean(), (starts, all, isPeriodic) => {
        // A period of ten steps, and each monitor at a step of its own: also where the part follows the period.
        const partAt = (step: number) => all[isPeriodic ? step % 10 : step] ?? 1;
        const skipped = starts.map((credit, offset) => {
          let before = { credit, part: partAt(offset) };
          let count = 0;
          for (let step = offset; step + 10 <= all.length; step += 10) {
            const since = Array.from({ length: 10 }, (_, back) => partAt(Math.max(offset, step - back)));
            const average = since.reduce((sum, part) => sum + part, 0) / since.length;
            const { isAdmitted, credit: left } = earn(before, partAt(step), average);
            before = { credit: left, part: partAt(step) };
            if (!isAdmitted) count += 1;
          }
          return { count, slots: Math.floor((all.length - offset) / 10) };
        });
        const least = Math.min(...skipped.map(({ slots }) => slots));
        const comparable = skipped.filter(({ slots }) => slots === least).map(({ count }) => count);
        expect(Math.max(...comparable) - Math.min(...comparable)).toBeLessThanOrEqual(3);
      }),
    );
  });
});

describe('admitted slots are evened', () => {
  test('less credit is needed where less was admitted than may be, and more where more was', () => {
    const atFirst = evenedAt({ left: 0, at: 0 }, 1_000, 0.5);
    expect(atFirst).toEqual({ left: 200, at: 1_000 });
    expect(neededCredit(atFirst, 0.5)).toBe(0.8);
    expect(neededCredit({ left: 0, at: 0 }, 0.5)).toBe(1);
    expect(neededCredit({ left: -20, at: 0 }, 0.5)).toBe(1.1);
    expect(neededCredit({ left: -2_000, at: 0 }, 0.5)).toBe(1.2);
  });

  test('a slot before the newest changes nothing', () => {
    expect(evenedAt({ left: 3, at: 1_000 }, 900, 0.5)).toEqual({ left: 3, at: 1_000 });
  });

  test('monitors that have all earned their slot at once do not run at once', () => {
    const perMs = 0.1;
    let evenness = { left: 0, at: 0 };
    let admitted = 0;
    for (let slot = 0; slot < 1_000; slot += 1) {
      evenness = evenedAt(evenness, slot, perMs);
      if (!earn({ credit: 0.75, part: 0.3 }, 0.3, 0.3, neededCredit(evenness, perMs)).isAdmitted) continue;
      evenness = { ...evenness, left: evenness.left - 1 };
      admitted += 1;
    }
    expect(admitted).toBeLessThan(150);
  });
});
