import { expect, test } from 'vitest';
import { Secrets } from '../declaration/secrets.ts';
import { openAlert, readMasked, resealedAlert } from './stored-alerts.ts';

test.each([
  ['text that is not JSON', '{"monitor":'],
  ['JSON of something else', '[]'],
])('%s is no alert, and stops no other alert', (_name, text) => {
  const secrets = new Secrets(new Uint8Array(32));
  expect([openAlert(secrets, text), readMasked(text), resealedAlert(secrets, text)]).toEqual([
    null,
    null,
    null,
  ]);
});
