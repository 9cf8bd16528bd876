import { expect, test } from 'vitest';
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
  const before = process.cpuUsage();
  for (const text of ['" '.repeat(4_096), '"\\'.repeat(4_096), `${'"" '.repeat(3_000)}x`]) unquotedText(text);
  const { user, system } = process.cpuUsage(before);
  expect(user + system).toBeLessThan(250_000);
});
