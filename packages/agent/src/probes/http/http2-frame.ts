const SETTINGS = 4;
const GOAWAY = 7;
const FRAME_HEAD_BYTES = 9;

export const NEITHER_PROTOCOL = 'the target speaks neither HTTP/1.1 nor HTTP/2 (ALPN)';
export const HTTP2_WITHOUT_TLS =
  'the target speaks HTTP/2 without TLS, which svc does not probe: use an https URL, or let the target speak HTTP/1.1';
export const HTTP2_NOT_AGREED = 'the target speaks HTTP/2 without agreeing to it in the TLS handshake (ALPN)';

/**
 * Whether the first bytes of a connection are those of an HTTP/2 server. Its preface is a SETTINGS frame (RFC
 * 9113, section 3.4); some servers send GOAWAY at once. No answer of HTTP/1.x begins with a zero byte.
 */
export function isHttp2(firstBytes: Uint8Array): boolean {
  if (firstBytes[0] !== 0 || firstBytes.length < FRAME_HEAD_BYTES) return false;
  const isOfConnection = (firstBytes.subarray(5, FRAME_HEAD_BYTES) as Uint8Array).every((byte) => byte === 0);
  return isOfConnection && (firstBytes[3] === SETTINGS || firstBytes[3] === GOAWAY);
}
