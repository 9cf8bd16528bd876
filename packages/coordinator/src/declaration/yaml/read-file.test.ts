import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from '../../../../../test/support/configured-store.ts';
import { readOnThisThread } from '../../../../../test/support/read-declaration.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => folder.remove());

/** Returns the first error of a declaration that inserts the file at this path. */
function errorOf(path: string): string | undefined {
  const file = join(folder.path, 'svc.yaml');
  writeFileSync(
    file,
    `svc_tcp_monitor: { a: { name: "\${file.${path}}", uri: "a.example:1", periodicity: 1m } }\n`,
  );
  return readOnThisThread({ path: file, env: {} }).errors[0]?.message;
}

test.each([
  ['/dev/zero', 'it has more than 1048576 bytes'],
  ['.', 'it is a folder'],
])('%s cannot be inserted, and the error says why', (path, said) => {
  expect(errorOf(path)).toContain(said);
});

test('a file that is too large is not read to its end', () => {
  writeFileSync(join(folder.path, 'large'), Buffer.alloc(1_048_577, 'x'));
  expect(errorOf('large')).toContain('it has more than 1048576 bytes');
});

test('a pipe without a writer does not block the reading', () => {
  execFileSync('mkfifo', [join(folder.path, 'pipe')]);
  expect(errorOf('pipe')).toBe('svc_tcp_monitor.a.name: must not be empty');
});

test('probable mistakes are warnings, as in the API, without secrets', () => {
  const file = join(folder.path, 'svc.json');
  const page = { title: 'p', slug: 'p', password: 'a-password-of-the-page' };
  const short = { title: 'q', slug: 'q', access_type: 'password', password: 'seven-7' };
  const icon = { title: 'r', slug: 'r', icon: 'http://127.0.0.1/icon.png' };
  writeFileSync(file, JSON.stringify({ svc_status_page: { p: page, q: short, r: icon } }));
  const messagesFor = (channelEgressAllow: string[]) =>
    readOnThisThread({ path: file, env: {}, channelEgressAllow }).warnings.map(({ message }) => message);
  const ofPasswords = [
    'svc_status_page.p: password has no effect: access_type is public, not password',
    'svc_status_page.q: password is shorter than 8 characters, so it is soon guessed',
  ];
  expect(messagesFor([])).toEqual([
    ...ofPasswords,
    expect.stringContaining('svc_status_page.r: icon is at 127.0.0.1, which svc does not connect to'),
  ]);
  expect(messagesFor(['127.0.0.1'])).toEqual(ofPasswords);
});
