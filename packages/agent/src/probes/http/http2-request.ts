/** A request for HTTP/2: the fields in order, pseudo-header fields first, and the body. */
export type Http2Request = { readonly fields: readonly string[]; readonly body: string };

/**
 * Converts the rendered HTTP/1.1 request to HTTP/2, so that only one function decides what is sent. `Host`
 * becomes `:authority`, names become lower case, and headers of an HTTP/1.1 connection are dropped (RFC 9113,
 * section 8).
 *
 * @param text text as `renderRequest` made it
 */
export function http2RequestOf(text: string): Http2Request {
  const headEnd = text.indexOf('\r\n\r\n');
  const [requestLine = '', ...lines] = text.slice(0, headEnd).split('\r\n');
  const [method = '', path = ''] = requestLine.split(' ');
  let authority = '';
  const fields: string[] = [];
  for (const line of lines) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).toLowerCase();
    const value = utf8AsBytes(line.slice(colon + 1).trim());
    if (name === 'host') authority = value;
    else if (name !== 'connection') fields.push(name, value);
  }
  return {
    fields: [':method', method, ':scheme', 'https', ':authority', authority, ':path', path, ...fields],
    body: text.slice(headEnd + 4),
  };
}

/**
 * Writes one character per byte. Node writes the values of fields as Latin-1, but the rendered request is
 * UTF-8.
 */
function utf8AsBytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}
