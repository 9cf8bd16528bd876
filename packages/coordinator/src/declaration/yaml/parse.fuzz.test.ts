import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyText } from '../../../../../test/support/any-text.ts';
import { parseDeclaration } from '../../../../../test/support/read-declaration.ts';
import { interpolate } from './interpolate.ts';

const SAMPLE = readFileSync(new URL('../../../../../deploy/local/svc.yaml', import.meta.url), 'utf8');
const env = {
  SVC_PUBLIC_URL: 'http://127.0.0.1:8080',
  SVC_NATS_URL: 'nats://127.0.0.1:4222',
  SVC_NATS_ADDRESS: '127.0.0.1:4222',
};
const sources = { env, readFile: (path: string) => path };

/** Whether all errors are at a line of the text, or at the line after it. Throws if the parser throws. */
function isAnswer(text: string): boolean {
  const { errors } = parseDeclaration(text, 'svc.yaml', sources);
  const lines = text.split(/\r\n|\r|\n/).length;
  return errors.every(({ line, column }) => line >= 1 && line <= lines + 1 && column >= 1);
}

test('the sample file is valid', () => {
  const { entries, errors } = parseDeclaration(SAMPLE, 'svc.yaml', sources);
  expect(errors).toEqual([]);
  expect(entries.length).toBeGreaterThan(0);
});

test('the sample with any part replaced by another text has a result', () => {
  const position = fc.nat(SAMPLE.length);
  const inserted = fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.constantFrom(
      '{',
      '[',
      '&a ',
      '*a',
      '<<: ',
      '!!set ',
      '\t',
      '? ',
      '- ',
      '"',
      "'",
      '|',
      '%',
      '\0',
      `\${`,
    ),
  );
  fc.assert(
    fc.property(position, position, inserted, (a, b, text) =>
      isAnswer(SAMPLE.slice(0, Math.min(a, b)) + text + SAMPLE.slice(Math.max(a, b))),
    ),
    { numRuns: 300 },
  );
});

test('any text has a result', () => {
  fc.assert(fc.property(anyText(), isAnswer), { numRuns: 300 });
});

test('a text without a dollar sign stays as it is, and escaping a text restores it', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      // A brace is special only after a dollar sign.
      fc.pre(!text.includes('$'));
      expect(interpolate(text, sources)).toEqual({ ok: true, text });
      expect(interpolate(`$\${${text}`, sources)).toEqual({ ok: true, text: `\${${text}` });
    }),
  );
});
