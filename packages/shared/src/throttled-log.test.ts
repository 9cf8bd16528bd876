import { pino } from 'pino';
import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { ThrottledLog } from './throttled-log.ts';

function bench(mostLines?: number) {
  const lines: object[] = [];
  const clock = new FakeClock();
  const stream = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const log = new ThrottledLog(pino({ base: null, timestamp: false }, stream), clock, mostLines);
  return { lines, clock, log };
}

test('one line per message and 10 s, with the number of dropped lines', () => {
  const { lines, clock, log } = bench();
  for (let count = 0; count < 5; count += 1) log.warn('dropped', { count });
  log.warn('other', {});
  clock.advance(9_999);
  log.warn('dropped', { count: 5 });
  clock.advance(1);
  log.warn('dropped', { count: 6 });
  expect(lines).toEqual([
    { level: 40, msg: 'dropped', count: 0 },
    { level: 40, msg: 'other' },
    { level: 40, msg: 'dropped', count: 6, leftOut: 5 },
  ]);
});

test('the allowed number of lines, and each number of dropped lines once', () => {
  const { lines, clock, log } = bench(2);
  for (let count = 0; count < 5; count += 1) log.info('there', { count });
  clock.advance(10_000);
  for (let count = 5; count < 10; count += 1) log.error('there', { count });
  expect(lines).toEqual([
    { level: 30, msg: 'there', count: 0 },
    { level: 30, msg: 'there', count: 1 },
    { level: 50, msg: 'there', count: 5, leftOut: 3 },
    { level: 50, msg: 'there', count: 6 },
  ]);
});

test('lines about one subject take no line of another', () => {
  const { lines, log } = bench();
  for (const region of ['hosta-fra', 'hosta-fra', 'hostb-par']) log.warn('gone', { region }, region);
  expect(lines).toMatchObject([{ region: 'hosta-fra' }, { region: 'hostb-par' }]);
});
