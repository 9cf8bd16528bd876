import { expect, test } from 'vitest';
import { countAlarms } from './false-alarms.ts';

test('failures that never coincided raise at least 71 % fewer alarms, and no outage is announced later for it', () => {
  const setting = { seed: 1, slots: 20_000, badShare: 0.5 };
  const well = countAlarms({ ...setting, dueSlots: null });
  expect(well.without.apart).toBeGreaterThan(5);
  expect(well.withRule.apart).toBeLessThanOrEqual(0.29 * well.without.apart);
  const ill = countAlarms({ ...setting, dueSlots: 2 });
  expect(ill.outages).toBeGreaterThan(800);
  expect(ill.withRule.late).toBe(ill.without.late);
});
