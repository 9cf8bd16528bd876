import { expect, test } from 'vitest';
import { isCausedByStop, paintFor, render, stillStarting } from './output.ts';

const plain = paintFor({ isTTY: false }, {});
const coloured = paintFor({ isTTY: true }, {});
const time = new Date(2026, 0, 1, 12, 34, 56).getTime();
const line = (fields: object) => JSON.stringify({ level: 30, time, part: 'coordinator', ...fields });

test.each([
  [
    'a change of status',
    line({
      event: 'transition',
      monitor: { id: 1, name: 'API' },
      from: 'active',
      to: 'error',
      reason: 'majority-failed',
      detail: 'hosta-fra, hostb-par: connection refused',
      msg: 'status changed',
    }),
    '12:34:56  ● API  up → down  (most regions failed: hosta-fra, hostb-par: connection refused)',
  ],
  [
    'a recovery while a region still fails',
    line({
      event: 'transition',
      monitor: { id: 1, name: 'API' },
      from: 'error',
      to: 'active',
      reason: 'minority-failed',
    }),
    '12:34:56  ● API  down → up  (some regions failed, but too few for "down")',
  ],
  [
    'a change that this version does not know',
    line({
      event: 'transition',
      monitor: { id: 1, name: 'API' },
      from: 'active',
      to: 'asleep',
      reason: 'at-night',
    }),
    '12:34:56  ● API  up → asleep  (at-night)',
  ],
  [
    'a warning with its facts',
    line({ level: 40, msg: 'results were dropped', count: 3, error: { message: 'disk full' } }),
    '12:34:56  warn  coordinator  results were dropped  count=3 error=disk full',
  ],
  [
    'an error with several reasons',
    line({
      level: 50,
      msg: 'declaration refused',
      file: 'svc.yaml',
      errors: ['svc.yaml:1:1: a', 'svc.yaml:2:1: b'],
    }),
    '12:34:56  error coordinator  declaration refused  file=svc.yaml\n          svc.yaml:1:1: a\n          svc.yaml:2:1: b',
  ],
  [
    'the end of a trouble',
    line({ event: 'recovered', msg: 'connected to NATS again' }),
    '12:34:56  ok    coordinator  connected to NATS again',
  ],
  ['an error', line({ level: 50, msg: 'cannot write' }), '12:34:56  error coordinator  cannot write'],
  ['a line of Node', 'Error: cannot find module', '          coordinator  Error: cannot find module'],
])('%s is shown', (_name, input, shown) => {
  expect(render('coordinator', input, plain, false)).toBe(shown);
});

test('uninteresting lines are not shown, unless everything is requested', () => {
  const info = line({ msg: 'listening' });
  expect(render('coordinator', info, plain, false)).toBeNull();
  expect(render('coordinator', info, plain, true)).toBe('12:34:56  info  coordinator  listening');
  expect(render('coordinator', '  ', plain, true)).toBeNull();
});

test('the loss of agents that are being stopped is told from other lines', () => {
  const lost = { level: 50, region: 'hosta-fra', monitors: 1 };
  expect(isCausedByStop(line({ ...lost, event: 'region-without-agent', msg: 'has no agent' }))).toBe(true);
  expect(isCausedByStop(line({ ...lost, msg: 'cannot save the presence of regions' }))).toBe(false);
  expect(isCausedByStop('Error: cannot find module')).toBe(false);
});

test('a slow start shows what each missing part has said last', () => {
  expect(
    stillStarting([
      { name: 'coordinator', lastLine: line({ msg: 'migrated the database', path: 'svc.db' }) },
      { name: 'nats-server', lastLine: '[7] 2026/01/01 12:34:56.000001 [INF]   Restoring 3 streams' },
      { name: 'agent hosta-fra', lastLine: null },
    ]),
  ).toBe(
    'still starting: coordinator (last line: migrated the database), nats-server (last line: [7] 2026/01/01 12:34:56.000001 [INF]   Restoring 3 streams), agent hosta-fra (nothing logged yet)',
  );
});

test('colour only on a terminal that wants it', () => {
  expect(coloured.red('x')).toBe('\u001b[31mx\u001b[0m');
  expect(plain.red('x')).toBe('x');
  expect(paintFor({ isTTY: true }, { NO_COLOR: '1' }).red('x')).toBe('x');
});
