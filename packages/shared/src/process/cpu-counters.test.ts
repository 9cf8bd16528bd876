import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { cpuStatPaths, openCpuCounters, pressedMsIn, throttledMsIn, waitedMsIn } from './cpu-counters.ts';

describe('what the kernel writes', () => {
  test('schedstat', () => {
    expect(waitedMsIn('416389 137935000 1\n')).toBe(137.935);
    expect(waitedMsIn('416389 0 1\n')).toBe(0);
    // This kernel can count, but was not started with `delayacct`.
    expect(waitedMsIn('0 0 0\n')).toBeNull();
    expect(waitedMsIn('')).toBeNull();
  });

  test('cpu.stat of cgroup 2, of cgroup 1, and of the root that has no quota', () => {
    const second =
      'usage_usec 9\nuser_usec 7\nnr_periods 20\nnr_throttled 19\nthrottled_usec 1900500\nnr_bursts 0\n';
    expect(throttledMsIn(second)).toBe(1_900.5);
    expect(throttledMsIn('nr_periods 20\nnr_throttled 19\nthrottled_time 1900500000\n')).toBe(1_900.5);
    expect(throttledMsIn('usage_usec 9\nuser_usec 7\n')).toBeNull();
  });

  test('pressure', () => {
    const text = 'some avg10=22.44 avg60=28.55 avg300=30.07 total=4159212101\nfull avg10=0.00 total=7\n';
    expect(pressedMsIn(text)).toBe(4_159_212.101);
    expect(pressedMsIn('')).toBeNull();
  });
});

describe('where cpu.stat lies', () => {
  test('cgroup 2', () => {
    expect(cpuStatPaths('0::/system.slice/svc-agent.service\n')[0]).toBe(
      '/sys/fs/cgroup/system.slice/svc-agent.service/cpu.stat',
    );
    expect(cpuStatPaths('0::/\n')[0]).toBe('/sys/fs/cgroup/cpu.stat');
  });

  test('cgroup 1, alone and beside cgroup 2', () => {
    const paths = cpuStatPaths('9:name=systemd:/\n4:cpu,cpuacct:/docker/abc\n0::/docker/abc\n');
    expect(paths).toContain('/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.stat');
    expect(paths).toContain('/sys/fs/cgroup/cpu/docker/abc/cpu.stat');
    expect(paths.indexOf('/sys/fs/cgroup/cpu/docker/abc/cpu.stat')).toBeLessThan(
      paths.indexOf('/sys/fs/cgroup/docker/abc/cpu.stat'),
    );
  });

  test('nothing beyond the tree is looked for', () => {
    expect(cpuStatPaths('0::/../../other\nnonsense\n')).toEqual([]);
  });
});

test('this process is counted where the system is Linux, and nothing grows backwards', () => {
  const source = openCpuCounters(pino({ level: 'silent' }));
  const before = source.read();
  const after = source.read();
  source.close();
  for (const name of ['waitedMs', 'throttledMs', 'pressedMs', 'idleMs'] as const) {
    const [first, second] = [before[name], after[name]];
    if (first !== null) expect(second).toBeGreaterThanOrEqual(first);
  }
  if (process.platform === 'linux') expect(before.waitedMs).not.toBeNull();
  expect(source.read()).toEqual({
    waitedMs: null,
    throttledMs: null,
    pressedMs: null,
    idleMs: expect.any(Number),
  });
});
