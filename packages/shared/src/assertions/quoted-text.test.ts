import { expect, test } from 'vitest';
import { threadCpu } from '../../../../test/support/thread-cpu.ts';
import { unquotedText } from './quoted-text.ts';

test.each<[string, string | null]>([
  ['"v=spf1 -all"', 'v=spf1 -all'],
  ['  "v=spf1 -all"  ', 'v=spf1 -all'],
  ['"v=spf1 " "-all"', 'v=spf1 -all'],
  ['"a"\t"b"  "c"', 'abc'],
  ['""', ''],
  ['"say \\"hi\\" \\\\ now"', 'say "hi" \\ now'],
  ['"semi\\;colon"', 'semi;colon'],
  ['"b\\195\\188cher"', 'bücher'],
  ['"bücher 🙂"', 'bücher 🙂'],
  ['v=spf1 -all', null],
  ['', null],
  ['"', null],
  ['"a', null],
  ['a"', null],
  ['"a" b', null],
  ['"a""b"', null],
  ['"a"b"', null],
  ['"ends in \\', null],
])('%s is %j', (written, text) => {
  expect(unquotedText(written)).toBe(text);
});

test('long texts of quotes take no longer than others', () => {
  const cpuMs = threadCpu();
  for (const text of ['" '.repeat(4_096), '"\\'.repeat(4_096), `${'"" '.repeat(3_000)}x`]) unquotedText(text);
  expect(cpuMs()).toBeLessThan(250);
});
