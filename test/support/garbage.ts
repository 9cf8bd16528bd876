/** A message that no reader accepts, and what is wrong with it. */
export type Garbage = { what: string; data: Uint8Array };

/** Largest payload a NATS server takes by default. */
const MAX_PAYLOAD = 1_048_576;

const text = (what: string, content: string): Garbage => ({ what, data: Buffer.from(content) });

const padded = (prefix: string, suffix: string, bytes: number): string =>
  `${prefix}${'x'.repeat(bytes - prefix.length - suffix.length)}${suffix}`;

/**
 * Makes messages that are invalid on each subject of the service.
 * `valid` is a valid message, from which invalid ones are made.
 */
export function garbage(valid: object): Garbage[] {
  const json = JSON.stringify(valid);
  const without = (key: string) => JSON.stringify({ ...valid, [key]: undefined });
  return [
    text('nothing', ''),
    text('white space', ' \n\t '),
    { what: 'bytes', data: Uint8Array.from({ length: 1_024 }, (_, index) => (index * 167) % 256) },
    {
      what: 'broken UTF-8',
      data: Buffer.concat([Buffer.from('{"v":1,"agent":"'), Buffer.from([0xc3, 0x28, 0xff])]),
    },
    { what: 'zeros, as long as can be', data: new Uint8Array(MAX_PAYLOAD) },
    text('prose', 'not JSON'),
    ...['null', 'true', '1', '"text"', '[]', '{}', '[[]]', '-0', '1e999'].map((value) => text(value, value)),
    text('JSON cut off', json.slice(0, Math.floor(json.length / 2))),
    text('JSON with a tail', `${json}x`),
    text('JSON in single quotes', json.replaceAll('"', "'")),
    text('a list of messages', `[${json}]`),
    ...[0, -1, 1.5, '1', null, [], {}].map((v) =>
      text(`version ${JSON.stringify(v)}`, JSON.stringify({ ...valid, v })),
    ),
    text('no version', without('v')),
    text('no agent or batch', JSON.stringify({ ...valid, agent: undefined, batch: undefined })),
    text('an agent that is no text', JSON.stringify({ ...valid, agent: 7, batch: 7 })),
    text(
      'an agent with an endless name',
      JSON.stringify({ ...valid, agent: 'a'.repeat(10_000), batch: 'b'.repeat(10_000) }),
    ),
    text('a prototype', '{"__proto__":{"v":1,"kind":"heartbeat","agent":"a"},"constructor":1}'),
    text('deeply nested lists', `${'['.repeat(100_000)}${']'.repeat(100_000)}`),
    text('deeply nested objects', `${'{"v":'.repeat(50_000)}1${'}'.repeat(50_000)}`),
    text('a text as long as can be', padded('"', '"', MAX_PAYLOAD)),
    text('a message as long as can be', padded('{"v":1,"agent":"', '"}', MAX_PAYLOAD)),
  ];
}
