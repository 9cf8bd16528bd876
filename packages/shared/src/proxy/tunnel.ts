import type { Socket } from 'node:net';
import type { HttpProxy } from './proxy.ts';

const MAX_HEAD_BYTES = 64 * 1_024;
const STATUS_LINE = /^HTTP\/1\.[01] (\d{3})(?: ([^\r\n]*))?\r?\n/;

export type TunnelEnd =
  /** The socket now leads to the target. It is paused, and bytes that came already can be read from it. */
  | { kind: 'open' }
  /** The proxy's answer. */
  | { kind: 'refused'; statusCode: number; reason: string }
  /** The proxy did not answer like a proxy. The socket is destroyed. */
  | { kind: 'broken'; message: string };

/**
 * Asks a proxy once for a tunnel over a connected socket (RFC 9110, section 9.3.6). There is no time-out: a
 * caller that gives up destroys the socket.
 *
 * @param host name or IP literal without brackets; the proxy resolves a name
 */
export function openTunnel(
  socket: Socket,
  { authorization }: Pick<HttpProxy, 'authorization'>,
  target: { host: string; port: number },
  done: (end: TunnelEnd) => void,
): void {
  const host = target.host.includes(':') ? `[${target.host}]` : target.host;
  const authority = `${host}:${target.port}`;
  let head = Buffer.alloc(0);
  const finish = (end: TunnelEnd) => {
    socket.off('data', read).off('error', failed).off('close', closed);
    socket.pause();
    if (end.kind !== 'open') socket.on('error', () => {}).destroy();
    done(end);
  };
  const read = (bytes: Buffer) => {
    head = Buffer.concat([head, bytes]);
    const headEnd = head.indexOf('\r\n\r\n');
    if (headEnd === -1) {
      if (head.length > MAX_HEAD_BYTES) finish({ kind: 'broken', message: 'its answer has no end' });
      return;
    }
    const end = judge(head.subarray(0, headEnd + 4).toString('latin1'));
    const rest = head.subarray(headEnd + 4);
    if (end.kind === 'open' && rest.length > 0) {
      socket.pause();
      socket.off('data', read);
      socket.unshift(rest);
    }
    finish(end);
  };
  const failed = (error: Error) => finish({ kind: 'broken', message: error.message });
  const closed = () => finish({ kind: 'broken', message: 'it closed the connection without an answer' });
  socket.on('data', read).on('error', failed).on('close', closed);
  const credentials = authorization === null ? '' : `Proxy-Authorization: ${authorization.reveal()}\r\n`;
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${credentials}\r\n`);
}

function judge(head: string): TunnelEnd {
  const [, status, reason = ''] = STATUS_LINE.exec(head) ?? [];
  if (status === undefined) return { kind: 'broken', message: 'its answer is not HTTP' };
  const statusCode = Number(status);
  if (statusCode >= 200 && statusCode <= 299) return { kind: 'open' };
  return { kind: 'refused', statusCode, reason: printable(reason) };
}

function printable(text: string): string {
  return text.replace(/[^\u0020-\u007e]/g, '·').slice(0, 60);
}
