import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Admission, admittedPerSecond, LEAST_PER_SECOND, nextAdmission, OPEN } from './admission.ts';
import { type CpuWaits, type Pressure, recordingPressure } from './pressure.ts';

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
        { pressure, waits: 'little', donePerSecond, usualPerSecond: 0, askedPerSecond: asked },
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
    const load = {
      pressure: 'late',
      waits: 'little',
      donePerSecond,
      usualPerSecond: 0,
      askedPerSecond: asked,
    } as const;
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
    service.run(20, 2_000, 5_000);
    const before = admittedPerSecond(service.admission);
    expect(before).toBeGreaterThan(600);
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

  test('it lingers where it was too much', () => {
    const free = {
      pressure: 'free',
      waits: 'little',
      donePerSecond: 900,
      usualPerSecond: 0,
      askedPerSecond: 5_000,
    } as const;
    const limit = { is: 'limited', formerPerSecond: 900, leastLatePerSecond: 450, forMs: 5_000 } as const;
    const growth = (perSecond: number, tooMuchPerSecond: number, waits: CpuWaits = 'little') => {
      const after = nextAdmission({ ...limit, perSecond, tooMuchPerSecond }, { ...free, waits }, 1_000);
      return admittedPerSecond(after) / perSecond;
    };
    expect(growth(900, 1_000)).toBeGreaterThan(1.05);
    expect(growth(1_000, 1_000)).toBeCloseTo(1.01);
    expect(growth(1_100, 1_000)).toBeGreaterThan(1.05);
    expect(growth(1_000, Number.POSITIVE_INFINITY)).toBeGreaterThan(1.05);
    // And where the thread waits for a CPU, unless it is far below what was done lately.
    expect(growth(1_000, Number.POSITIVE_INFINITY, 'much')).toBeCloseTo(1.01);
    expect(growth(500, Number.POSITIVE_INFINITY, 'much')).toBeGreaterThan(1.05);
  });

  describe('where the thread waits for a CPU', () => {
    const limitOf = (perSecond: number, formerPerSecond = 900): Admission => ({
      is: 'limited',
      perSecond,
      formerPerSecond,
      tooMuchPerSecond: Number.POSITIVE_INFINITY,
      leastLatePerSecond: 450,
      forMs: 5_000,
    });
    const after = (before: Admission, waits: CpuWaits, donePerSecond: number, askedPerSecond: number) =>
      nextAdmission(
        before,
        { pressure: 'free', waits, donePerSecond, usualPerSecond: 0, askedPerSecond },
        1_000,
      );

    test('most of the time, the limit falls as long as less is done than admitted, to half of what can be done', () => {
      const falls = (waits: CpuWaits, done: number, asked = 5_000) =>
        admittedPerSecond(after(limitOf(1_000), waits, done, asked));
      expect(falls('most', 800)).toBeCloseTo(950);
      expect(falls('most', 950)).toBeCloseTo(1_010);
      expect(falls('much', 800)).toBeCloseTo(1_010);
      // All that is asked is done.
      expect(falls('most', 850, 850)).toBeGreaterThanOrEqual(850);
      let admission = limitOf(1_000, 500);
      for (let second = 0; second < 100; second += 1) admission = after(admission, 'most', 300, 5_000);
      expect(admittedPerSecond(admission)).toBeCloseTo(450);
    });

    test('the limit does not end, and takes nothing where it is enough', () => {
      expect(after(limitOf(1_095), 'little', 1_000, 1_000)).toBe(OPEN);
      let admission = limitOf(1_095);
      for (let second = 0; second < 100; second += 1) {
        admission = after(admission, 'much', 1_000, 1_000);
        expect(admittedPerSecond(admission)).toBeGreaterThanOrEqual(1_000);
        expect(admittedPerSecond(admission)).toBeLessThanOrEqual(1_101);
      }
    });
  });

  test('a recording that stands still for a minute says nothing about what can be done', () => {
    const service = new Service();
    service.run(60, 12_000, 4_000);
    const still = { pressure: 'overloaded', waits: 'little', donePerSecond: 0, usualPerSecond: 0 } as const;
    for (let ms = 0; ms < 60_000; ms += STEP_MS)
      service.admission = nextAdmission(service.admission, { ...still, askedPerSecond: 12_000 }, STEP_MS);
    expect(admittedPerSecond(service.admission)).toBe(LEAST_PER_SECOND);
    service.queued = 0;
    const { donePerSecond } = service.run(20, 12_000, 4_000);
    expect(donePerSecond).toBeGreaterThanOrEqual(0.4 * 4_000);
    expect(service.run(10, 12_000, 4_000).donePerSecond).toBeGreaterThanOrEqual(0.8 * 4_000);
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
      waits: fc.constantFrom<CpuWaits>('little', 'much', 'most'),
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
