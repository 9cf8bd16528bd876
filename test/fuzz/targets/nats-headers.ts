import { equal, ok } from 'node:assert/strict';
import { headerBytes, isNoResponders, messageIdIn, messageIdOf } from '@svc/shared/nats/headers.ts';
import { type Msg, headers as natsHeaders } from 'nats';
import { MsgImpl } from 'nats/lib/nats-base-client/msg.js';
import { type FuzzTarget, latin1, never } from '../target.ts';

/** A message with these headers, as the client makes it from the server's bytes. */
function messageWith(headers: Buffer, data = ''): Msg {
  const subject = Buffer.from('svc.results.hosta-fra');
  const info = {
    subject,
    reply: Buffer.alloc(0),
    sid: 1,
    hdr: headers.length,
    size: headers.length + data.length,
  };
  const payload = Buffer.concat([headers, Buffer.from(data)]);
  return new MsgImpl(info as ConstructorParameters<typeof MsgImpl>[0], payload, null as never) as Msg;
}

const encoded = (entries: Readonly<Record<string, string>>): Buffer => {
  const headers = natsHeaders();
  for (const [name, value] of Object.entries(entries)) headers.set(name, value);
  return Buffer.from((headers as unknown as { encode(): Uint8Array }).encode());
};

export const NATS_HEADERS: FuzzTarget = {
  name: 'nats-headers',
  corpus: [
    encoded({ 'Nats-Msg-Id': 'agent-1/7' }),
    encoded({ 'Nats-Msg-Id': 'a', 'Nats-Expected-Stream': 'SVC_RESULTS', X: 'y' }),
    latin1('NATS/1.0 503\r\n\r\n'),
    latin1('NATS/1.0 404 No Messages\r\n\r\n'),
    latin1('NATS/1.0\r\nnats-msg-id:x\r\nNats-Msg-Id: y\r\n\r\n'),
  ],
  words: [
    'NATS/1.0',
    '503',
    '\r\n',
    ':',
    ' ',
    'Nats-Msg-Id',
    'nats-msg-id: a\r\n',
    'a b: c\r\n',
    '\r\n\r\n',
    'Status',
  ],
  parse(input) {
    const message = messageWith(input);
    return [messageIdIn(input), messageIdOf(message), isNoResponders(message)];
  },
  isRefusal: never,
  check(input) {
    const [message, withData] = [messageWith(input), messageWith(input, 'data')];
    equal(headerBytes(message), input.length, 'bytes of the headers');
    equal(headerBytes(withData), input.length, 'bytes of the headers beside data');
    equal(messageIdOf(withData), messageIdOf(message), 'the id beside data');
    if (input.length > 0) equal(messageIdIn(input), messageIdOf(message), 'the id of a stored message');
    ok(!isNoResponders(withData), 'a message with data from whom nobody hears');
  },
};
