import { Secret } from '@svc/shared/secret.ts';
import { expect, test } from 'vitest';
import { publicIdsOf } from './public-ids.ts';

const KEY = new Secret(new Uint8Array(32).fill(7));

test('ids never change, and differ by page, kind, number and installation', () => {
  const ids = [
    publicIdsOf(KEY, 1)('incident', 5),
    publicIdsOf(KEY, 2)('incident', 5),
    publicIdsOf(KEY, 1)('update', 5),
    publicIdsOf(KEY, 1)('incident', 6),
    publicIdsOf(new Secret(new Uint8Array(32)), 1)('incident', 5),
  ];
  expect(ids[0]).toBe('fT5JAso7OFR8');
  expect(new Set(ids).size).toBe(5);
  for (const id of ids) expect(id).toMatch(/^[\w-]{12}$/);
});
