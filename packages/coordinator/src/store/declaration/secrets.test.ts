import { randomBytes } from 'node:crypto';
import { Secret } from '@svc/shared/secret.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { temporaryStore } from '../../../../../test/support/configured-store.ts';
import { testDatabase } from '../../../../../test/support/database.ts';
import { loadInstallation } from '../access/installation.ts';
import { readFact, writeFact } from '../facts.ts';
import { checkSecretKey, generateSecretKey, parseSecretKey, Secrets } from './secrets.ts';

const secrets = new Secrets(randomBytes(32));

describe('sealing', () => {
  test('every text opens, and no two seals of it are equal', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const sealed = secrets.seal('monitors.http', text);
        expect(secrets.open('monitors.http', sealed).reveal()).toBe(text);
        expect(Buffer.from(secrets.seal('monitors.http', text)).equals(sealed)).toBe(false);
      }),
    );
  });

  test('a change of any byte is noticed', () => {
    const sealed = secrets.seal('monitors.http', 'hush');
    for (let index = 0; index < sealed.length; index += 1) {
      const changed = Uint8Array.from(sealed);
      changed[index] = (changed[index] ?? 0) ^ 1;
      expect(() => secrets.open('monitors.http', changed)).toThrow('cannot open the secret');
    }
  });

  test.each([
    ['another purpose', () => secrets.open('monitors.tcp', secrets.seal('monitors.http', 'hush'))],
    ['another key', () => new Secrets(randomBytes(32)).open('a.b', secrets.seal('a.b', 'hush'))],
    ['too few bytes', () => secrets.open('a.b', secrets.seal('a.b', 'hush').subarray(0, 5))],
    ['no bytes', () => secrets.open('a.b', new Uint8Array())],
  ])('%s does not open it', (_, open) => {
    expect(open).toThrow(
      /^cannot open the secret sealed for \S+: it was sealed with another key, or changed$/,
    );
  });
});

test('a secret key is 32 bytes in base64', () => {
  const text = generateSecretKey();
  expect(Buffer.from(parseSecretKey(new Secret(`${text}\n`)).reveal()).toString('base64')).toBe(text);
  for (const wrong of ['', 'short', Buffer.alloc(31).toString('base64')]) {
    expect(() => parseSecretKey(new Secret(wrong))).toThrow('SVC_SECRET_KEY must be 32 bytes in base64');
  }
});

test('a database opens with its first key and refuses another', async () => {
  const { store, dispose } = await temporaryStore();
  await checkSecretKey(store, secrets);
  await checkSecretKey(store, secrets);
  const other = new Secrets(randomBytes(32));
  await expect(checkSecretKey(store, other)).rejects.toThrow(
    'SVC_SECRET_KEY is not the key of this database',
  );
  await dispose();
});

test('the installation is made once, and its job key is not kept in clear', async () => {
  const database = await testDatabase();
  const first = await database.open();
  const made = await loadInstallation(first, secrets);
  expect(made.id).toMatch(/^[0-9a-f]{16}$/);
  const jobKey = Buffer.from(made.jobKey.reveal());
  expect(jobKey).toHaveLength(32);
  await first.close();
  const second = await database.open();
  const again = await loadInstallation(second, secrets);
  expect(again.id).toBe(made.id);
  expect(Buffer.from(again.jobKey.reveal())).toEqual(jobKey);
  expect(again.ids.incidentKey(12, 1_000)).toBe(made.ids.incidentKey(12, 1_000));
  const stored = Buffer.from((await readFact(second.read, 'job_key')) ?? '', 'base64');
  expect(stored.includes(Buffer.from(jobKey.toString('base64')))).toBe(false);
  await second.transaction(({ db }) => writeFact(db, 'declared_digest', 'a'));
  await second.transaction(({ db }) => writeFact(db, 'declared_digest', 'b'));
  expect(await readFact(second.read, 'declared_digest')).toBe('b');
  await second.close();
  await database.remove();
});
