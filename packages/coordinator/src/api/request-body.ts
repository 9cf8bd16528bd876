import { LIMITS } from '@svc/shared/limits.ts';
import { Problem } from './problem.ts';

/**
 * Reads the text of a request with a JSON body, at most 1 MiB.
 *
 * @throws Problem `too-large`, `unsupported-media-type`, `malformed-request`
 */
export async function readBodyText(request: Request): Promise<string> {
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
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw malformed('the body is not valid UTF-8');
  }
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
