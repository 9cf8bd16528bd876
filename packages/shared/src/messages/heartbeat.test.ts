import { expect, test } from 'vitest';
import { type Heartbeat, heartbeat, sicknessesOf } from './heartbeat.ts';

const HEARTBEAT: Heartbeat = {
  v: 1,
  kind: 'heartbeat',
  agent: 'a',
  boot: 'b',
  version: '0.1.0',
  capacity: 1,
  running: 0,
  held: 0,
  loop_delay_ms: 0,
  clock: 1,
  started_at: 1,
  draining: false,
};

test('capabilities that a newer agent announces are read', () => {
  const read = heartbeat.parse({ ...HEARTBEAT, v: 3, understands: ['telepathy'] });
  expect(read.understands).toEqual(['telepathy']);
});

test.each([
  ['too many names', Array(33).fill('x')],
  ['a name without end', ['x'.repeat(65)]],
  ['a number', [1]],
  ['no list', 'telepathy'],
])('%s in what it understands: the heartbeat is refused', (_, value) => {
  expect(heartbeat.safeParse({ ...HEARTBEAT, understands: value }).success).toBe(false);
});

test('known faults of an agent are read, unknown ones are dropped', () => {
  expect(sicknessesOf(heartbeat.parse(HEARTBEAT))).toEqual([]);
  const read = heartbeat.parse({ ...HEARTBEAT, machine: 'probe-1', sick: ['starved', 'homesick'] });
  expect(read.machine).toBe('probe-1');
  expect(sicknessesOf(read)).toEqual(['starved']);
});
