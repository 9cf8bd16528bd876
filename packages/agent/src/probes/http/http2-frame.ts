const SETTINGS = 4;
const GOAWAY = 7;
const FRAME_HEAD_BYTES = 9;

/**
 * Whether a connection's first bytes are those of a server that speaks HTTP/2: its preface is a SETTINGS frame
 * (RFC 9113, section 3.4), and some go away at once. No answer of HTTP/1.x begins with a zero byte.
 */
export function isHttp2(firstBytes: Uint8Array): boolean {
  if (firstBytes[0] !== 0 || firstBytes.length < FRAME_HEAD_BYTES) return false;
  const isOfConnection = (firstBytes.subarray(5, FRAME_HEAD_BYTES) as Uint8Array).every((byte) => byte === 0);
  return isOfConnection && (firstBytes[3] === SETTINGS || firstBytes[3] === GOAWAY);
}
