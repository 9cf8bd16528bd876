import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { format, inspect } from 'node:util';
import { serialize } from 'node:v8';
import fc from 'fast-check';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allowSecretsInTexts, refuseSecretsInTexts } from '../../../test/support/secrets-in-texts.ts';
import { messageOf, SvcError } from './errors.ts';
import { MASK, Secret } from './secret.ts';

/** Everything that `write` writes to a stream. */
function written(write: (stream: Writable) => void): string {
  const chunks: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  write(stream);
  return chunks.join('');
}

/** Every way in which a value may get into a log, an answer or another thread. */
const PRINTS: Readonly<Record<string, (value: Secret<unknown>) => string>> = {
  String: (value) => String(value),
  'a template': (value) => `${value}`,
  'a sum of texts': (value) => `a ${value.toString()}`,
  join: (value) => [value, value].join(),
  JSON: (value) => JSON.stringify({ value, list: [value], map: { a: { value } } }),
  inspect: (value) => inspect({ value }, { depth: null, showHidden: true, getters: true }),
  'inspect of the secret itself': (value) => inspect(value, { showHidden: true }),
  'inspect without custom functions': (value) => inspect(value, { customInspect: false, showHidden: true }),
  format: (value) => format('%s %o %O %j', value, value, value, value),
  console: (value) => written((stream) => new Console(stream).dir({ value }, { showHidden: true })),
  pino: (value) => written((stream) => pino(stream).error({ value, nested: { value } }, 'a log line')),
  'an error': (value) => inspect(new SvcError('bad-settings', `about ${value}`, { cause: value })),
  messageOf: (value) => messageOf(value),
  'members and keys': (value) => JSON.stringify([Object.entries(value), Reflect.ownKeys(value)].map(String)),
  spread: (value) => inspect({ ...value }),
  'a structured clone': (value) => inspect(structuredClone(value), { showHidden: true, depth: null }),
  'a serialisation of v8': (value) => serialize(value).toString('latin1'),
};

/** A text that is too long to occur in the output by chance. */
const secretText = fc.string({ minLength: 12, unit: fc.constantFrom(...'QXZKJ7') });

describe('in production', () => {
  beforeAll(allowSecretsInTexts);
  afterAll(refuseSecretsInTexts);

  test.each(Object.entries(PRINTS))('%s shows nothing of a secret', (_name, print) => {
    fc.assert(
      fc.property(secretText, (text) => {
        for (const value of [text, Buffer.from(text), { token: text }, [text]]) {
          expect(print(new Secret(value))).not.toContain(text);
        }
      }),
      { numRuns: 30 },
    );
  });

  test('it reads as the mask, and only its one method returns the value', () => {
    const secret = new Secret('hunter2');
    expect([`${secret}`, JSON.stringify(secret), inspect(secret)]).toEqual([MASK, `"${MASK}"`, MASK]);
    expect(secret.reveal()).toBe('hunter2');
  });
});

test('in tests, no text takes a secret', () => {
  const secret = new Secret('hunter2');
  for (const write of [() => `${secret}`, () => String(secret), () => [secret].join()]) {
    expect(write).toThrow('a secret was put into a text');
  }
});

test('tests compare secrets by their values', () => {
  const job = (value: unknown) => ({ id: 1, check: new Secret(value) });
  expect(job({ a: ['b'] })).toEqual(job({ a: ['b'] }));
  for (const other of [job({ a: ['c'] }), { id: 1, check: MASK }, { id: 1, check: {} }]) {
    expect(job({ a: ['b'] })).not.toEqual(other);
    expect(other).not.toEqual(job({ a: ['b'] }));
    expect(job({ a: ['b'] })).not.toMatchObject(other);
  }
});
