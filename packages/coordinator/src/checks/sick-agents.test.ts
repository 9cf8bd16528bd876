import { DISPATCH_COUNTERS } from '@svc/shared/metrics/dispatch-instruments.ts';
import { createTotals } from '@svc/shared/metrics/values.ts';
import { ThrottledLog } from '@svc/shared/throttled-log.ts';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { type SickAgent, SickAgents } from './sick-agents.ts';

type Line = { level: number; msg: string; machine?: string; sick?: string };

function bench() {
  const clock = new FakeClock();
  const counters = createTotals(DISPATCH_COUNTERS);
  const lines: Line[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const agents = new SickAgents({ clock, log: new ThrottledLog(log, clock, 20), counters });
  const alarms = () => lines.filter(({ level }) => level >= 50);
  return { clock, counters, lines, alarms, agents };
}

const agent = (more: Partial<SickAgent> = {}): SickAgent => ({
  id: 'a1',
  bootId: 'b1',
  region: 'hosta-fra',
  machine: 'probe-1',
  sicknesses: [],
  ...more,
});

test('two agents with one id are distinguished', () => {
  const { agents, lines } = bench();
  agents.trackSicknesses(agent({ sicknesses: ['starved'] }));
  agents.trackSicknesses(agent({ bootId: 'b2' }));
  expect(agents.countSicknesses()).toMatchObject({ starved: 1 });
  expect(lines.filter(({ msg }) => msg === 'an agent has recovered')).toEqual([]);
});

test('an agent that begins to be sick raises the alarm once, which names its machine', () => {
  const { agents, alarms, counters, lines } = bench();
  agents.trackSicknesses(agent());
  for (let beat = 0; beat < 5; beat += 1) agents.trackSicknesses(agent({ sicknesses: ['starved'] }));
  expect(alarms()).toHaveLength(1);
  expect(alarms()[0]).toMatchObject({
    machine: 'probe-1',
    sick: 'starved',
    region: 'hosta-fra',
    agent: 'a1',
  });
  agents.trackSicknesses(agent({ sicknesses: ['starved', 'network-down'] }));
  expect(alarms().map(({ sick }) => sick)).toEqual(['starved', 'network-down']);
  expect(agents.countSicknesses()).toEqual({ starved: 1, 'network-down': 1 });
  agents.trackSicknesses(agent());
  expect(lines.at(-1)?.msg).toBe('an agent has recovered');
  expect(agents.countSicknesses()).toEqual({ starved: 0, 'network-down': 0 });
  expect(counters.sicknesses).toEqual({ starved: 1, 'network-down': 1 });
});

test('a sickness that comes and goes is counted each time and logged once a minute', () => {
  const { agents, alarms, counters, clock } = bench();
  for (let minute = 0; minute < 2; minute += 1) {
    for (let time = 0; time < 10; time += 1) {
      agents.trackSicknesses(agent({ sicknesses: ['network-down'] }));
      agents.trackSicknesses(agent());
    }
    clock.advance(60_000);
  }
  expect(counters.sicknesses).toEqual({ starved: 0, 'network-down': 20 });
  expect(alarms()).toHaveLength(2);
});

test('agents are distinguished by region too, and an agent that is gone is not sick any more', () => {
  const { agents, alarms } = bench();
  agents.trackSicknesses(agent({ sicknesses: ['starved'] }));
  agents.trackSicknesses(agent({ region: 'hostb-par', machine: 'probe-2', sicknesses: ['starved'] }));
  expect(alarms().map(({ machine }) => machine)).toEqual(['probe-1', 'probe-2']);
  agents.forgetAgent(agent());
  expect(agents.countSicknesses().starved).toBe(1);
});
