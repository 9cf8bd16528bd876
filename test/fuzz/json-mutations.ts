import type { Random } from '../simulation/random.ts';
import { json } from './target.ts';

const ODD_VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  0.5,
  1e12,
  2 ** 53,
  1e308,
  '',
  ' ',
  'x',
  '7',
  '__proto__',
  'constructor',
  'ü😀',
  '\0',
  ...['\ud800', 'x'.repeat(300), 'x'.repeat(3_000), [], {}, [[]], [null], { a: 1 }, { v: 1 }],
];
const ODD_KEYS = ['__proto__', 'constructor', 'toString', '', ' ', '<<', 'a.b', 'ü', '0', 'v', 'kind'];

/**
 * A JSON text with one changed value: replaced, removed, renamed, repeated or wrapped. A text that is not JSON stays.
 */
export function mutatedJson(input: Buffer, random: Random): Buffer {
  const value = parsed(input);
  return value === undefined ? input : json(mutatedValue(value, random));
}

export function parsed(input: Buffer): unknown {
  try {
    return JSON.parse(input.toString());
  } catch {
    return undefined; // Nothing of its grammar is left.
  }
}

/** @returns a copy */
export function mutatedValue(value: unknown, random: Random): unknown {
  if (typeof value !== 'object' || value === null || random.chance(0.15)) return changed(value, random);
  if (Array.isArray(value)) return inList(value, random);
  const entries = Object.entries(value);
  if (entries.length === 0) return { [random.pick(ODD_KEYS)]: random.pick(ODD_VALUES) };
  const at = random.between(0, entries.length - 1);
  const [key, member] = entries[at] as [string, unknown];
  const other: [string, unknown][] = random.pick([
    () => [[key, mutatedValue(member, random)] as [string, unknown]],
    () => [[key, mutatedValue(member, random)] as [string, unknown]],
    () => [],
    () => [[random.pick(ODD_KEYS), member] as [string, unknown]],
    () =>
      [
        [key, member],
        [random.pick(ODD_KEYS), random.pick(ODD_VALUES)],
      ] as [string, unknown][],
  ])();
  return Object.fromEntries(entries.toSpliced(at, 1, ...other));
}

function inList(list: readonly unknown[], random: Random): unknown {
  if (list.length === 0) return [random.pick(ODD_VALUES)];
  const at = random.between(0, list.length - 1);
  const member = list[at];
  return random.pick([
    () => list.toSpliced(at, 1, mutatedValue(member, random)),
    () => list.toSpliced(at, 1, mutatedValue(member, random)),
    () => list.toSpliced(at, 1),
    () => list.toSpliced(at, 1, ...Array(random.logarithmic(1, 600)).fill(member)),
  ])();
}

function changed(value: unknown, random: Random): unknown {
  if (typeof value === 'string' && random.chance(0.4)) {
    const at = random.between(0, value.length);
    return (
      value.slice(0, at) + String(random.pick(ODD_VALUES)) + value.slice(random.between(at, value.length))
    );
  }
  if (typeof value === 'number' && random.chance(0.4)) {
    return random.pick([-value, value + 1, value + 0.5, value * 1e9, 1 / (value + 1)]);
  }
  return random.pick([random.pick(ODD_VALUES), [value], { value }]);
}
