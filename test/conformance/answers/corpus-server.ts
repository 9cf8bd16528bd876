import { type RawTarget, startRawTarget } from '../../support/raw-target.ts';
import type { Answer } from './answer.ts';

/** A page for browsers to ask from: `fetch` needs one of the same origin. */
const PAGE = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n';
const NOT_FOUND = 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n';

export type CorpusServer = Pick<RawTarget, 'url' | 'close'> & {
  /** Where the answer is asked for. */
  urlOf(answer: Answer): string;
};

/** Sends each answer of the corpus at a path of its own, and closes. */
export async function startCorpusServer(corpus: readonly Answer[]): Promise<CorpusServer> {
  const indexes = new Map(corpus.map((answer, index) => [answer, index]));
  const target = await startRawTarget((socket, request) => {
    const [, index = '', place = ''] = /^\S+ \/(\d+)\/(\S*) /.exec(request) ?? [];
    const answer = corpus[index === '' ? -1 : Number(index)];
    const isFirst = place === '';
    const text = isFirst ? answer?.bytes : answer?.others[place];
    const cookie = /^cookie: (.*?)\r$/im.exec(request)?.[1] ?? '';
    const bytes =
      text?.replace('{cookie}', () => cookie) ?? (request.startsWith('GET / ') ? PAGE : NOT_FOUND);
    const isReset = isFirst && answer?.end === 'reset';
    if (!isReset) socket.end(bytes, 'latin1');
    else if (bytes === '') socket.resetAndDestroy();
    else socket.write(bytes, 'latin1', () => setImmediate(() => socket.resetAndDestroy()));
  });
  return {
    url: target.url,
    close: () => target.close(),
    urlOf: (answer) => `${target.url}/${indexes.get(answer)}/`,
  };
}
