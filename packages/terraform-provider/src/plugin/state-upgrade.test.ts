import { expect, test } from 'vitest';
import type { Schema } from '../schema.ts';
import { upgradeState } from './state-upgrade.ts';

const about = { setting: 'optional', sensitive: false, description: '' } as const;
const SCHEMA: Schema = {
  version: 2,
  description: '',
  attributes: { name: { ...about, type: 'string' }, added: { ...about, type: 'number' } },
  blocks: { blocks: { maximumItems: 1, description: '', attributes: { key: { ...about, type: 'string' } } } },
};

const upgrade = (json: string, version = 2) =>
  upgradeState('svc_thing', SCHEMA, version, { json: Buffer.from(json) });

test('removed attributes are dropped, new ones are not set', () => {
  expect(upgrade('{"name":"a","removed":[1],"blocks":[{"key":"k","old":1}]}', 0)).toEqual({
    state: { name: 'a', added: null, blocks: [{ key: 'k' }] },
    diagnostics: [],
  });
  expect(upgrade('{}')).toEqual({ state: { name: null, added: null, blocks: [] }, diagnostics: [] });
});

test('a value that cannot be used is not set, with a warning', () => {
  const { state, diagnostics } = upgrade('{"name":{"a":"secret"},"added":"12"}');
  expect(state).toEqual({ name: null, added: 12, blocks: [] });
  expect(diagnostics).toEqual([
    {
      severity: 'warning',
      summary: 'A stored value is not used',
      detail: 'name: a string is required, not an object. It counts as not set until the object is read.',
    },
  ]);
});

test.each([
  ['a newer provider', '{}', 3, 'schema version 3; this provider knows up to 2'],
  ['what is not JSON', '{"name":secret', 2, '14 bytes are not JSON'],
  ['another kind of JSON', '["secret"]', 2, 'an object is required, not a list'],
  ['nothing', '', 2, 'not stored as JSON'],
])('a state of %s is refused', (_, json, version, expected) => {
  const { state, diagnostics } = upgrade(json, version);
  expect(state).toBeNull();
  expect(diagnostics).toHaveLength(1);
  expect(diagnostics[0]).toMatchObject({ severity: 'error', detail: expect.stringContaining(expected) });
  expect(JSON.stringify(diagnostics)).not.toContain('secret');
});
