import { deepEqual, equal } from 'node:assert/strict';
import { request } from 'node:http';
import { Duplex } from 'node:stream';
import { KeptBodies, NoRoomError } from '@svc/agent/probes/http/kept-bodies.ts';
import { ResponseError, type ResponseHead } from '@svc/agent/probes/http/response-head.ts';
import { ResponseParser } from '@svc/agent/probes/http/response-parser.ts';
import { CORPUS } from '../../conformance/answers/corpus.ts';
import { inPieces } from '../pieces.ts';
import { type FuzzTarget, latin1 } from '../target.ts';

/** One case out of this number is also given to node's own client. */
const NODE_EVERY = 20;
const MEMORY = 64 * 1_024 * 1_024;
const INTERIM = 1;

type Read = {
  head: ResponseHead | null;
  body: string;
  isComplete: boolean;
  /** The message without its quotation, whose length depends on the pieces. */
  refusal: string | null;
};

function read(pieces: readonly Buffer[], method: 'GET' | 'HEAD'): Read {
  const found: Read = { head: null, body: '', isComplete: false, refusal: null };
  const memory = new KeptBodies(MEMORY);
  const parser = new ResponseParser(
    method,
    {
      onHead(head) {
        found.head = head;
      },
      onBody(bytes, start, end) {
        found.body += bytes.toString('latin1', start, end);
      },
      onComplete() {
        found.isComplete = true;
      },
    },
    memory,
  );
  try {
    for (const piece of pieces) parser.push(piece);
    parser.end();
  } catch (error) {
    if (!isRefusal(error)) throw error;
    found.refusal = error.message.replace(/".*$/s, '"');
  }
  parser.stop();
  equal(memory.freeBytes, MEMORY, 'memory that was not given back');
  return found;
}

const isRefusal = (error: unknown): error is Error =>
  error instanceof ResponseError || error instanceof NoRoomError;

export const HTTP_RESPONSE: FuzzTarget = {
  name: 'http-response',
  corpus: CORPUS.map(({ bytes }) => latin1(bytes)).filter(({ length }) => length < 20_000),
  words: [
    'HTTP/1.1 200 OK\r\n',
    'HTTP/1.0 204\n',
    'HTTP/1.1 101 \r\n',
    'HTTP/1.1 103 x\r\n\r\n',
    '\r\n',
    '\n',
    '\r',
    '\n\n',
    'Transfer-Encoding: chunked\r\n',
    'Content-Length: 5\r\n',
    'Content-Length',
    'Transfer-Encoding',
    'identity',
    ', ',
    'Set-Cookie: a=b\r\n',
    'Location: /\r\n',
    ' folded\r\n',
    '\t',
    '0\r\n\r\n',
    '5\r\nhello\r\n',
    '5;a="b"\r\nhello\r\n',
    'Connection: close\r\n',
    'Content-Encoding: gzip\r\n',
    '000000000000005',
    'ffffffffffffff',
    ':',
    ': ',
    'a: b\r\n',
  ],
  parse: (input) => read([input], 'GET'),
  isRefusal,
  async check(input, random) {
    const method = random.chance(0.9) ? 'GET' : 'HEAD';
    const whole = read([input], method);
    for (const pieces of inPieces(input, random)) deepEqual(read(pieces, method), whole, 'other pieces');
    if (method === 'GET' && random.between(1, NODE_EVERY) === 1) await asNodeReads(input, whole);
  },
};

/** If both read an answer to its end, they read the same. */
async function asNodeReads(input: Buffer, ours: Read): Promise<void> {
  const theirs = await readByNode(input);
  if (theirs === null || ours.refusal !== null || ours.head === null || !ours.isComplete) return;
  if (Math.floor(theirs.status / 100) === INTERIM) return;
  equal(ours.head.statusCode, theirs.status, "the status that node's client reads");
  equal(ours.body, theirs.body, "the body that node's client reads");
}

/** Null: node refuses it, or waits for more. */
function readByNode(input: Buffer): Promise<{ status: number; body: string } | null> {
  return new Promise((resolve) => {
    const socket = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
    const asked = request({ createConnection: () => socket, host: 'a.example' });
    asked.on('error', () => resolve(null));
    asked.on('upgrade', () => resolve(null));
    asked.on('close', () => resolve(null));
    asked.on('response', (response) => {
      let body = '';
      response.setEncoding('latin1');
      response.on('data', (text: string) => {
        body += text;
      });
      response.on('error', () => resolve(null));
      response.on('close', () =>
        resolve(response.complete ? { status: response.statusCode ?? 0, body } : null),
      );
    });
    asked.end();
    socket.push(input);
    socket.push(null);
  });
}
