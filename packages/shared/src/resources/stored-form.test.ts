import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { channelSettings } from '../../../../test/support/channel-samples.ts';
import { VALID } from '../../../../test/support/resources.ts';
import { CHANNEL_KINDS } from '../channels/settings.ts';
import { DEFINITIONS, parseResource, RESOURCE_KINDS, type ResourceKind } from './registry.ts';
import { parseStored, storedChannel } from './stored-form.ts';

/** Normalized attributes after they were written as JSON and read again. */
function stored(kind: ResourceKind, members: object = {}): Record<string, unknown> {
  const parsed = parseResource(kind, { ...VALID[kind], ...members }, 'api');
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  return JSON.parse(JSON.stringify(parsed.value));
}

describe.each(RESOURCE_KINDS)('a stored %s', (kind) => {
  test('is read as it was written', () => {
    expect(parseStored(kind, stored(kind)).data).toEqual(stored(kind));
  });

  test('gets the default of an attribute that is newer than the row', () => {
    const { attributes, arrange } = DEFINITIONS[kind];
    // For a channel, everything except its settings is stored in columns.
    if (arrange !== undefined) return;
    const whole = stored(kind);
    for (const [name, { presence, default: fallback = null }] of Object.entries(attributes)) {
      if (presence !== 'optional' && presence !== 'default') continue;
      const { [name]: _left, ...rest } = whole;
      expect(parseStored(kind, rest).data, name).toEqual({ ...whole, [name]: fallback });
    }
  });

  test('is refused when a member has another form, and read without unknown members', () => {
    const anything = fc.oneof(fc.jsonValue(), fc.constantFrom('', 0, null, [], {}, [null], [{}]));
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(stored(kind))), anything, (name, value) => {
        const changed = { ...stored(kind), [name]: value };
        const read = parseStored(kind, changed);
        // Because of the unknown member, the slow parser is used. Its result must be the same.
        const atLength = parseStored(kind, { ...changed, 'not known': 1 });
        expect({ isRead: read.success, data: read.data }).toEqual({
          isRead: atLength.success,
          data: atLength.data,
        });
      }),
    );
    expect(parseStored(kind, { ...stored(kind), [Object.keys(stored(kind))[0] ?? '']: [{}] }).success).toBe(
      false,
    );
  });
});

test.each(CHANNEL_KINDS)('the settings of a stored %s are read as they were written', (kind) => {
  const notification = {
    name: null,
    provider_type: kind,
    monitor_ids: ['1'],
    group_alerts: true,
    notify_unknown: true,
    remind_every: null,
    settings: channelSettings(kind, 0),
  };
  expect(parseStored('svc_notification', notification).data).toEqual(notification);
  const read = storedChannel.parse({ kind, settings: channelSettings(kind, 0) });
  expect({ kind: read.kind, settings: read.settings.reveal() }).toEqual({
    kind,
    settings: channelSettings(kind, 0),
  });
  expect(storedChannel.safeParse({ kind, settings: { other: 1 } }).success).toBe(false);
});

test('settings of an unknown kind are refused', () => {
  expect(storedChannel.safeParse({ kind: 'pigeon', settings: {} }).success).toBe(false);
});
