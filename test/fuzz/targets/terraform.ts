import { deepEqual, equal } from 'node:assert/strict';
import { encode } from '@msgpack/msgpack';
import { systemClock } from '@svc/shared/clock.ts';
import { decodeValue, encodeValue, ValueError } from '@svc/terraform-provider/plugin/dynamic-value.ts';
import { decodeMessage, encodeMessage } from '@svc/terraform-provider/plugin/messages.ts';
import { upgradeState } from '@svc/terraform-provider/plugin/state-upgrade.ts';
import type { Schema } from '@svc/terraform-provider/schema.ts';
import { svcProvider } from '@svc/terraform-provider/svc-provider.ts';
import { VALID } from '../../support/resources.ts';
import { mutatedValue, parsed } from '../json-mutations.ts';
import { type FuzzTarget, json, latin1 } from '../target.ts';

const { resources } = svcProvider({
  environment: {},
  version: '0.0.0-test',
  clock: systemClock,
  random: () => 0,
  limits: {},
  onRetry: () => {},
});
const SCHEMAS: readonly Schema[] = Object.values(resources).map(({ schema }) => schema);
/** A schema with strings, numbers, booleans, a set and blocks. */
const MONITOR = resources.svc_http_monitor?.schema as Schema;

const OBJECTS = [
  ...Object.values(VALID),
  {
    ...VALID.svc_http_monitor,
    timeout: 2 ** 40,
    retry: 0.1,
    headers: [{ key: 'a', value: 'b' }],
    regions: ['hosta-fra'],
  },
];
const isRefusal = (error: unknown): boolean => error instanceof ValueError;

/** JSON if it begins like JSON, else MessagePack. */
const messageOf = (input: Buffer) => (input[0] === 0x7b ? { json: input } : { msgpack: input });

export const TERRAFORM_VALUE: FuzzTarget = {
  name: 'terraform-value',
  corpus: [...OBJECTS.map((value) => Buffer.from(encode(value))), ...OBJECTS.map(json)],
  words: [
    '\xc0',
    '\xc1',
    '\xc3',
    '\xd4\x00\x00',
    '\xc7\x05\x0c\x82\x01\xc3',
    '\xdd\xff\xff\xff\xff',
    '\xdd\x01\x00\x00\x00',
    '\xdf\xff\xff\xff\xff',
    '\xdb\xff\xff\xff\xff',
    '\xc6\x7f\xff\xff\xff',
    '\x91',
    '\x81\xa1a',
    '\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a',
    '\xcf\xff\xff\xff\xff\xff\xff\xff\xff',
    '\xd3\x80\x00\x00\x00\x00\x00\x00\x00',
    '\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00',
    ...['1e999999999', '-1e-999999999', '0.1', '9'.repeat(400), '\xa9__proto__', '[[[[[[[[[[', '\xffa'],
  ],
  mutate(input, random) {
    const value = parsed(input);
    if (value === undefined) return input;
    const other = mutatedValue(value, random);
    return random.chance(0.5) ? json(other) : Buffer.from(encode(other));
  },
  parse: (input) => decodeValue(MONITOR, messageOf(input)),
  isRefusal,
  check(input) {
    for (const schema of SCHEMAS) {
      const value = accepted(() => decodeValue(schema, messageOf(input)));
      if (value === null) continue;
      const { value: written, problems } = encodeValue(schema, value);
      equal(problems.length, 0, 'problems with what was read');
      deepEqual(decodeValue(schema, written), value, 'a value that is read again');
    }
    if (input[0] === 0x7b) upgradeState('svc_http_monitor', MONITOR, 0, { json: input });
  },
};

export const TERRAFORM_MESSAGE: FuzzTarget = {
  name: 'terraform-message',
  corpus: [
    encodeMessage('ApplyRequest', {
      type_name: 'svc_http_monitor',
      config: { msgpack: encode(VALID.svc_http_monitor) },
      planned_private: latin1('{"workspace":"default"}'),
    }),
    encodeMessage('ApplyRequest', {}),
  ],
  words: ['\x0a', '\x12', '\xff\xff\xff\xff\x0f', '\xff'.repeat(10), '\x0b', '\x0c', '\x80', '\x0a\x04a'],
  parse: (input) => decodeMessage('ApplyRequest', input),
  // Any error of protobuf is allowed: gRPC turns it into the answer.
  isRefusal: (error) => error instanceof Error && !/call stack/.test(error.message),
};

/** Null: it is refused, or means that there is no object. */
function accepted<T>(read: () => T | null): T | null {
  try {
    return read();
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return null;
  }
}
