import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { runAtOnce } from './support/at-once.ts';
import { ROOT } from './support/process.ts';

const run = promisify(execFile);

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

test('what is shown goes to the output of this process, and only its end is written', async () => {
  const script = `import { runAtOnce } from './test/support/at-once.ts';
    await runAtOnce([{ name: 'long', command: 'echo shown; exit 1', isShown: true }], (text) => process.stdout.write(text));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { cwd: ROOT });
  expect(stdout).toMatch(/^shown\nlong: FAILED after \d+\.\d s\n$/);
});
