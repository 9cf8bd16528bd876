import type { Phases } from '@svc/shared/messages/check-result.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { roundMs, roundPhases } from './rounding.ts';

const tenths = (phases: Phases): number =>
  Object.values(phases).reduce<number>((sum, value) => sum + Math.round((value ?? 0) * 10), 0);

describe('milliseconds', () => {
  test.each([
    [0, 0],
    [-3, 0],
    [1.04, 1],
    [1.05, 1.1],
    [800.04, 800],
    [1e12, 86_400_000],
  ])('%d is shown as %d', (exact, shown) => expect(roundMs(exact)).toBe(shown));
});

describe('phases', () => {
  test('the tenth that rounding loses goes to the phase that lost most', () => {
    expect(roundPhases(1, { connect: 0.35, first_byte: 0.36, transfer: 0.29 })).toEqual({
      connect: 0.3,
      first_byte: 0.4,
      transfer: 0.3,
    });
  });

  test('time between the phases goes to the longest', () => {
    expect(roundPhases(100, { dns: 10, connect: 50 })).toEqual({ dns: 10, connect: 90 });
  });

  test('phases longer than the latency are cut', () => {
    expect(roundPhases(10, { dns: 8, connect: 8 })).toEqual({ dns: 8, connect: 2 });
  });

  test('no phases stay no phases', () => expect(roundPhases(5, {})).toEqual({}));

  test('they always add up to the shown latency, each at most a tenth away from its measurement', () => {
    const phase = fc.double({ min: 0, max: 60_000, noNaN: true });
    fc.assert(
      fc.property(
        fc.record({ dns: phase, connect: phase, tls: phase, first_byte: phase, transfer: phase }),
        (exact) => {
          const latency = Object.values(exact).reduce((sum, value) => sum + value, 0);
          const rounded = roundPhases(latency, exact);
          expect(tenths(rounded)).toBe(Math.round(roundMs(latency) * 10));
          for (const name of ['dns', 'connect', 'tls', 'first_byte', 'transfer'] as const) {
            expect(Math.abs((rounded[name] ?? 0) - exact[name])).toBeLessThanOrEqual(0.1 + 1e-6);
          }
        },
      ),
    );
  });

  test('they add up for any measurement', () => {
    const phase = fc.option(fc.double({ min: -5, max: 1e6, noNaN: true }), { nil: undefined });
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e6, noNaN: true }), phase, phase, (latency, dns, transfer) => {
        const given = {
          ...(dns === undefined ? {} : { dns }),
          ...(transfer === undefined ? {} : { transfer }),
        };
        const rounded = roundPhases(latency, given);
        if (Object.keys(given).length === 0) expect(rounded).toEqual({});
        else expect(tenths(rounded)).toBe(Math.round(roundMs(latency) * 10));
        for (const value of Object.values(rounded)) expect(value).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});
