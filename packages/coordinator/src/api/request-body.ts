import { LIMITS } from '@svc/shared/limits.ts';
import { Problem } from './problem.ts';

/**
 * Reads the JSON body of a request, at most {@link LIMITS.apiBodyBytes}. It is parsed on the thread that schedules
 * checks: a body of that size takes some milliseconds.
 *
 * @throws Problem `too-large`, `unsupported-media-type`, `malformed-request`
 */
export async function readBody(request: Request): Promise<unknown> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (Number(request.headers.get('content-length') ?? 0) > LIMITS.apiBodyBytes) throw tooLarge();
  if (type !== 'application/json' && !/^application\/[\w.-]+\+json$/.test(type)) {
    const sent = type === '' ? 'the request has no content-type' : 'the request has another content-type';
    throw new Problem('unsupported-media-type', `send the body as application/json; ${sent}`);
  }
  if (!['', 'identity'].includes(request.headers.get('content-encoding')?.trim().toLowerCase() ?? '')) {
    throw new Problem('unsupported-media-type', 'send the body without a content-encoding');
  }
  const bytes = request.headers.has('content-length') ? await readWhole(request) : await readParts(request);
  return parsedJson(bytes);
}

/** Reads a body whose length is known, and is not too long: a stream would take more time than the rest of a request. */
async function readWhole(request: Request): Promise<ArrayBuffer> {
  try {
    return await request.arrayBuffer();
  } catch {
    throw brokenOff();
  }
}

/** Reads a body that says no length, which ends where it is too long. */
async function readParts(request: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of received(request)) {
    size += chunk.byteLength;
    if (size > LIMITS.apiBodyBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function* received({ body }: Request): AsyncGenerator<Uint8Array> {
  try {
    yield* body ?? [];
  } catch {
    throw brokenOff();
  }
}

/**
 * The value of a JSON text in UTF-8.
 *
 * @throws Problem `malformed-request`, which repeats nothing of the text
 */
export function parsedJson(bytes: Uint8Array | ArrayBuffer): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw malformed('the body is not valid UTF-8');
  }
  if (text.trim() === '') throw malformed('the body is empty');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw malformed(`the body is not JSON${placeOf(error)}`);
  }
  if (isDeeperThan(MOST_LEVELS, value))
    throw malformed(`the body is nested more than ${MOST_LEVELS} levels deep`);
  return value;
}

/** Deepest nesting of a body. No resource has more than four levels, and what walks thousands exhausts its stack. */
const MOST_LEVELS = 32;

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeperThan(levels - 1, member));
}

/** The position of the error. V8's message itself repeats the text around it, which may be a secret. */
function placeOf(error: unknown): string {
  const place = error instanceof Error ? /\(line (\d+) column (\d+)\)/.exec(error.message) : null;
  return place === null ? '' : `: line ${place[1]}, column ${place[2]}`;
}

/** The client broke off, which is not an error of the service. */
function brokenOff(): Problem {
  return malformed('the connection ended before the body was complete');
}

function tooLarge(): Problem {
  return new Problem('too-large', `the body may have at most ${LIMITS.apiBodyBytes} bytes`);
}

function malformed(detail: string): Problem {
  return new Problem('malformed-request', detail, { errors: [{ pointer: '', message: detail }] });
}
