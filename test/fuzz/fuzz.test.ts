/**
 * A short round over all parsers, from a fixed seed and from one that is new
 * every time. `npm run fuzz` runs for longer, and `npm run check` leaves it out:
 * time is measured, and a random finding must not stop work on something else.
 */
import { randomInt } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { threadCpu } from '../support/thread-cpu.ts';
import { fuzz } from './fuzz.ts';
import { leastCpuMs } from './growth.ts';
import { reportOf } from './report.ts';
import { type FuzzTarget, latin1, never } from './target.ts';
import { TARGETS } from './targets.ts';

const MILLISECONDS = 100;
const SEEDS = [1, randomInt(2 ** 32)];

describe.each(SEEDS)('from seed %i', (seed) => {
  test.each(TARGETS.map((target) => [target.name, target] as const))('%s', async (_, target) => {
    const { finding } = await fuzz(target, seed, MILLISECONDS);
    expect(finding === null ? '' : reportOf(finding)).toBe('');
  });
});

/** A parser of lines of words, with a fault. */
const planted = (parse: (text: string) => unknown, more: Partial<FuzzTarget> = {}): FuzzTarget => ({
  name: 'planted',
  corpus: ['one two\nthree', 'four'].map(latin1),
  words: ['<', '>'],
  parse: (input) => parse(input.toString('latin1')),
  isRefusal: never,
  ...more,
});

async function foundIn(target: FuzzTarget) {
  const { cases, finding } = await fuzz(target, 1, 20_000);
  if (finding === null) throw new Error(`nothing was found in ${cases} cases`);
  return finding;
}

describe('the fuzzer', () => {
  test('finds an error that is no refusal, makes its input short, and finds it again by its seed', async () => {
    const target = planted((text) => {
      if (/<[a-z]/.test(text)) throw new RangeError('a letter behind it');
      if (text.includes('>')) throw new SyntaxError('refused');
    });
    const whole = { ...target, isRefusal: (error: unknown) => error instanceof SyntaxError };
    const finding = await foundIn(whole);
    expect(finding.problem).toMatch(/^RangeError: a letter behind it/);
    expect(finding.input.toString()).toMatch(/^<[a-z]$/);
    const again = await fuzz(whole, finding.seed, 0);
    expect(again).toMatchObject({ cases: 1, finding: { seed: finding.seed, input: finding.input } });
    expect(reportOf(finding)).toContain(`npm run fuzz -- --only planted --seed ${finding.seed}`);
  });

  test('finds a property that does not hold', async () => {
    const finding = await foundIn(
      planted((text) => text, {
        check(input) {
          if (input.includes('twotwo')) throw new Error('twice');
        },
      }),
    );
    expect(finding.input.toString()).toBe('twotwo');
  });

  test('finds time that grows with the square of the length', async () => {
    const search = (text: string) => {
      let sum = 0;
      for (let at = text.indexOf('e'); at !== -1; at = text.indexOf('e', at + 1))
        sum += text.indexOf('>', at);
      return sum;
    };
    const target = planted(search, { mostMs: 60_000 });
    expect((await foundIn(target)).problem).toMatch(/of one text repeated$/);
  });

  test('measures a parser that is faster than the clock of a thread', () => {
    const quick = planted((text) => text.split('e').length);
    const input = Buffer.alloc(10_000, 'one ');
    expect(Array.from({ length: 5 }, () => leastCpuMs(quick, input))).not.toContain(0);
  });

  test('finds one input that takes long', async () => {
    const slow = (text: string) => {
      const cpu = threadCpu();
      while (text.includes('>') && cpu() < 8);
    };
    expect((await foundIn(planted(slow, { mostMs: 3 }))).problem).toMatch(/ms of CPU/);
  });

  test('finds one input that takes much memory', async () => {
    const kept: unknown[] = [];
    const target = planted((text) =>
      text.includes('>') ? kept.push(Buffer.allocUnsafeSlow(80_000_000)) : 0,
    );
    const { problem } = await foundIn({
      ...target,
      parse(input) {
        kept.length = 0;
        return target.parse(input);
      },
    });
    expect(problem).toMatch(/MiB of memory/);
  });
});
