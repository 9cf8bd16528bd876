import { expect, test } from 'vitest';
import { interpolate } from './interpolate.ts';

const sources = {
  env: { NAME: 'a name', env: 'no', DOLLARS: `$& $1 \${env.NAME}` },
  readFile: (path: string) => `content of ${path}\n`,
};

test.each([
  [`a \${env.NAME} b`, 'a a name b'],
  [`\${file.a.txt}\${file.b}`, 'content of a.txtcontent of b'],
  [`$\${env.NAME}`, `\${env.NAME}`],
  [`$$\${env.NAME}`, `$\${env.NAME}`],
  [`$$\${\${env.NAME}$\${`, `$\${a name\${`],
  [`\${env.NAME}$\${env.NAME}`, `a name\${env.NAME}`],
  [`\${env.DOLLARS}`, `$& $1 \${env.NAME}`],
  ['} $ { $', '} $ { $'],
])('%s', (text, expected) => {
  expect(interpolate(text, sources)).toEqual({ ok: true, text: expected });
});

test.each([
  [`\${envs}`, 'is unknown'],
  [`\${file1}`, 'is unknown'],
  [`\${env}`, 'is unknown'],
  [`\${}`, 'is unknown'],
  [`a \${svc_x}`, 'must be the whole string'],
  [`\${env.NONE} \${vault.a} \${`, 'the environment variable NONE is not set'],
  [`\${env.NAME} \${`, 'has no closing'],
])('%s is refused', (text, message) => {
  expect(interpolate(text, sources)).toEqual({ ok: false, message: expect.stringContaining(message) });
});

test('a text with many insertions without an end is searched once', () => {
  const text = `\${env.`.repeat(500_000);
  expect(interpolate(text, sources)).toMatchObject({ ok: false });
});
