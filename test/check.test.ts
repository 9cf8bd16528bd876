import { expect, test } from 'vitest';
import { runAtOnce } from './support/at-once.ts';

const node = (script: string) => `"${process.execPath}" -e "${script}"`;

test('what runs at once is told apart, and each that fails is named', async () => {
  const written: string[] = [];
  const failed = await runAtOnce(
    [
      { name: 'good', command: node("console.log('one'); console.error('two')") },
      { name: 'bad', command: node("console.log('three'); process.exit(3)") },
      { name: 'killed', command: 'kill -KILL $$' },
    ],
    (text) => written.push(text),
  );
  expect(failed).toEqual(['bad', 'killed']);
  expect(written).toHaveLength(3);
  const of = (name: string) => written.find((text) => text.includes(`${name}: `));
  expect(of('good')).toMatch(/^(one\ntwo|two\none)\ngood: passed after \d+\.\d s\n$/);
  expect(of('bad')).toMatch(/^three\nbad: FAILED after /);
});

test('a part that is shown as it comes writes to this process, and its end is told', async () => {
  const written: string[] = [];
  const parts = [{ name: 'long', command: node('process.exit(4)'), isShownAsItComes: true }];
  expect(await runAtOnce(parts, (text) => written.push(text))).toEqual(['long']);
  expect(written).toEqual([expect.stringMatching(/^long: FAILED after \d+\.\d s\n$/)]);
});
