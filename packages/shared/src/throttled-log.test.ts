import { pino } from 'pino';
import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { ThrottledLog } from './throttled-log.ts';

test('one line per message and 10 s, with the number of those that it stands for', () => {
  const lines: string[] = [];
  const clock = new FakeClock();
  const stream = { write: (line: string) => void lines.push(line) };
  const log = new ThrottledLog(pino({ base: null, timestamp: false }, stream), clock);
  for (let count = 0; count < 5; count += 1) log.warn('dropped', { number: count });
  log.warn('other', {});
  clock.advance(9_999);
  log.warn('dropped', { number: 5 });
  clock.advance(1);
  log.warn('dropped', { number: 6 }, { count: 3 });
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { level: 40, msg: 'dropped', number: 0, count: 1 },
    { level: 40, msg: 'other', count: 1 },
    { level: 40, msg: 'dropped', number: 6, count: 8 },
  ]);
});
