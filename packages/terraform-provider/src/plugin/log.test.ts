import { expect, test } from 'vitest';
import { createPluginLog, framesOf, panicText } from './log.ts';

test('a line in the form that Terraform reads', () => {
  const lines: string[] = [];
  createPluginLog((line) => lines.push(line))('warn', 'careful', { why: 'a' });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/\}\n$/);
  expect(JSON.parse(lines[0]!)).toEqual({
    '@level': 'warn',
    '@message': 'careful',
    '@module': 'provider',
    '@timestamp': expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
    why: 'a',
  });
});

test('the last output of a crash is one line and the stack frames', () => {
  const text = panicText(new TypeError('no such\n    at attribute'));
  expect(text).toMatch(/^panic: TypeError: no such at attribute\n\n {4}at .*log\.test\.ts/);
  expect(panicText('thrown')).toBe('panic: something other than an Error was thrown\n\n\n');
});

test('the message of a parser that quotes its input is not repeated', () => {
  const broken = (): unknown => JSON.parse('{"token": secret');
  const error = (() => {
    try {
      return broken();
    } catch (caught) {
      return caught;
    }
  })();
  expect((error as Error).message).toContain('secret');
  expect(panicText(error)).not.toContain('secret');
  expect(framesOf(error)).not.toContain('secret');
});
