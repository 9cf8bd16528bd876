import type { Random } from '../simulation/random.ts';
import type { FuzzTarget } from './target.ts';
import { latin1, MOST_BYTES } from './target.ts';

type Mutation = (input: Buffer, random: Random, target: FuzzTarget) => Buffer;

/** An input of the target's corpus with some mutations, the same for the same random numbers. */
export function mutatedInput(target: FuzzTarget, random: Random): Buffer {
  const { corpus, mutate, mostBytes = MOST_BYTES } = target;
  let input = random.pick(corpus);
  const mutations = random.logarithmic(1, 12) - 1;
  for (let count = 0; count < mutations; count += 1) {
    input =
      mutate !== undefined && random.chance(0.5)
        ? byGrammar(mutate, input, random)
        : mutated(input, random, target);
    if (input.length > mostBytes) input = input.subarray(0, mostBytes);
  }
  return input;
}

function byGrammar(mutate: NonNullable<FuzzTarget['mutate']>, input: Buffer, random: Random): Buffer {
  try {
    return mutate(input, random);
  } catch {
    return input; // Nested too deeply to be written again.
  }
}

function mutated(input: Buffer, random: Random, target: FuzzTarget): Buffer {
  return random.pick(MUTATIONS)(input, random, target);
}

/** `[start, end)`, mostly short. */
function span(input: Buffer, random: Random): [start: number, end: number] {
  const start = random.between(0, input.length);
  return [start, Math.min(input.length, start + random.logarithmic(1, Math.max(2, input.length)) - 1)];
}

function replaced(input: Buffer, [start, end]: readonly [number, number], by: Buffer): Buffer {
  return Buffer.concat([input.subarray(0, start), by, input.subarray(end)]);
}

const inserted = (input: Buffer, random: Random, what: Buffer): Buffer => {
  const at = random.between(0, input.length);
  return replaced(input, [at, at], what);
};

/** Bytes and characters with a special meaning for parsers. */
const ODD = [
  '\0',
  '\t',
  '\n',
  '\v',
  '\r',
  '\r\n',
  ' ',
  '"',
  "'",
  '\\',
  '/',
  '%',
  '#',
  '&',
  '*',
  ',',
  '-',
  '.',
  ':',
  ';',
  '=',
  '@',
  '[',
  ']',
  '{',
  '}',
  '|',
  '~',
  '\x7f',
  '\x80',
  '\x85',
  '\xa0',
  '\xff',
  '\xc0\xaf',
  '\xed\xa0\x80',
  ...['ü', '😀', '\u2028', '\ufeff', '\u0130'].map((text) => Buffer.from(text).toString('latin1')),
];

const NUMBERS = [
  '0',
  '-0',
  '-1',
  '1',
  '00',
  '007',
  '1e3',
  '1e999',
  '1e-999',
  '0x10',
  '+5',
  '0.1',
  '.5',
  '5.',
  'NaN',
  'Infinity',
  ...[255, 256, 65_535, 65_536, 2 ** 31, 2 ** 32, 2 ** 53, 2 ** 53 + 2, 2 ** 63, 2 ** 64].map(String),
  '9'.repeat(40),
];

const flipBit: Mutation = (input, random) => {
  if (input.length === 0) return input;
  const copy = Buffer.from(input);
  const at = random.between(0, copy.length - 1);
  copy[at] = (copy[at] as number) ^ (1 << random.between(0, 7));
  return copy;
};
const insertOdd: Mutation = (input, random) => inserted(input, random, latin1(random.pick(ODD)));
const replaceByOdd: Mutation = (input, random) =>
  replaced(input, span(input, random), latin1(random.pick(ODD)));
const insertWord: Mutation = (input, random, { words }) =>
  words.length === 0 ? input : inserted(input, random, latin1(random.pick(words)));
const replaceByWord: Mutation = (input, random, { words }) =>
  words.length === 0 ? input : replaced(input, span(input, random), latin1(random.pick(words)));
const remove: Mutation = (input, random) => replaced(input, span(input, random), Buffer.alloc(0));
const truncate: Mutation = (input, random) => input.subarray(0, random.between(0, input.length));
const behead: Mutation = (input, random) => input.subarray(random.between(0, input.length));
const repeat: Mutation = (input, random) => {
  const [start, end] = span(input, random);
  const times = random.logarithmic(1, 300);
  return replaced(input, [end, end], Buffer.concat(Array(times).fill(input.subarray(start, end))));
};
const copyElsewhere: Mutation = (input, random) =>
  inserted(input, random, input.subarray(...span(input, random)));
const cross: Mutation = (input, random, { corpus }) => {
  const other = random.pick(corpus);
  return replaced(input, span(input, random), other.subarray(...span(other, random)));
};
const otherNumber: Mutation = (input, random) => {
  const numbers = [...input.toString('latin1').matchAll(/\d+/g)];
  if (numbers.length === 0) return input;
  const { index, 0: digits } = random.pick(numbers);
  return replaced(input, [index, index + digits.length], latin1(random.pick(NUMBERS)));
};
const otherLineEnds: Mutation = (input, random) => {
  const text = input.toString('latin1');
  return latin1(random.chance(0.5) ? text.replaceAll(/\r?\n/g, '\r\n') : text.replaceAll('\r\n', '\n'));
};
const otherCase: Mutation = (input, random) => {
  const [start, end] = span(input, random);
  const text = input.toString('latin1', start, end);
  return replaced(input, [start, end], latin1(random.chance(0.5) ? text.toUpperCase() : text.toLowerCase()));
};

const MUTATIONS: readonly Mutation[] = [
  ...[flipBit, insertOdd, replaceByOdd, insertWord, insertWord, replaceByWord, replaceByWord, remove],
  ...[truncate, behead, repeat, copyElsewhere, cross, otherNumber, otherLineEnds, otherCase],
];
