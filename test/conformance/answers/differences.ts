import type { Answer } from './answer.ts';

/** The reasons for which the probe and another client react differently to some answers. */
export type Difference = { about: string; why: string; covers: (answer: Answer) => boolean };

const isRefused = ({ expected }: Answer): boolean => 'refused' in expected;
const refusedFor =
  (reason: string) =>
  ({ expected }: Answer): boolean =>
    'refused' in expected && expected.refused.source.includes(reason);
const named =
  (pattern: RegExp) =>
  ({ id }: Answer): boolean =>
    pattern.test(id);

/** The first that covers an answer is its reason. */
export const DIFFERENCES: readonly Difference[] = [
  {
    about: 'NUL in the head',
    why: 'curl and Chromium refuse it, so visitors do not see the page.',
    covers: (answer) => refusedFor('NUL byte')(answer) || /reason ".*\\x00/.test(answer.id),
  },
  {
    about: 'Two readers would see different bodies',
    why: 'One client skips the line, another obeys it, or each takes another length for the right one: a proxy and a client that disagree let one answer hide in another. Here all read the same only because the connection ends after five bytes. RFC 9112, section 6.3, calls lengths that differ unrecoverable. Whoever sends such lines has a fault that some visitors see.',
    covers: (answer) =>
      refusedFor('about its length')(answer) ||
      (refusedFor('not one number')(answer) &&
        !/"(?:|\+5|5\.0|5e0|0x5|five|-5|-0|9+|18446744073709551621)"$/.test(answer.id)) ||
      answer.id === 'line ends: \\r alone before the length',
  },
  {
    about: 'Lengths that are no number',
    why: 'RFC 9112, section 6.3, makes them an error. Clients that go on do not know whether the body is whole, and a cut body is to be a failure.',
    covers: refusedFor('not one number'),
  },
  {
    about: 'Transfer codings that nobody asked for',
    why: 'The request names none, so the answer may have only `chunked`. The clients disagree whether the body is coded, in chunks, or neither.',
    covers: refusedFor('Transfer-Encoding is not understood'),
  },
  {
    about: '`chunked` in HTTP/1.0, repeated, or beside another length',
    why: 'Chunks are read wherever `chunked` is named: what reads them as they are would take the sizes for a part of the body. HTTP/1.0 proxies hand on the header of a newer server with its chunks. RFC 9112, section 6.3: `Transfer-Encoding` wins over `Content-Length`.',
    covers: named(/^Transfer-Encoding: ".*chunked/),
  },
  {
    about: 'No transfer coding at all',
    why: '`identity`, a comma and nothing name no coding, so `Content-Length` counts. curl then reads until the close, and Go refuses them.',
    covers: named(/^Transfer-Encoding: /),
  },
  {
    about: 'A length said twice in one line',
    why: 'RFC 9112, section 6.3, rule 5, lets a list of equal lengths count as one.',
    covers: named(/^Content-Length: "5, ?5"$/),
  },
  {
    about: 'Status lines that are none',
    why: 'An answer begins with `HTTP/`, a version, blanks and three digits. Without them the port may speak another protocol, and which status is meant is a guess: Chromium searches the first bytes for `HTTP` and takes what it cannot read for 200.',
    covers: (answer) => answer.family === 'status line' && isRefused(answer),
  },
  {
    about: 'Odd versions',
    why: 'Chromium shows such pages, and the version changes nothing about how they are read.',
    covers: named(/^status line: version/),
  },
  {
    about: 'Status 407',
    why: 'A status like any other to a probe; browsers take it for the word of their proxy.',
    covers: named(/status "407"/),
  },
  {
    about: 'Carriage returns for line ends',
    why: 'A line ends with a line feed. What a lone CR ends is read by each client in its own way.',
    covers: (answer) => answer.family === 'line ends' && isRefused(answer),
  },
  {
    about: 'Lone line feeds in chunks',
    why: 'They are taken there as in the head; Go looks for the exact bytes.',
    covers: named(/^(?:line ends: chunks with|chunks: trailers "X:blanky\\n")/),
  },
  {
    about: 'Odd header lines',
    why: 'Chromium skips them and shows the page; nothing depends on them.',
    covers: named(/^(?:header lines|redirects: Location next)/),
  },
  {
    about: 'Chunk sizes',
    why: 'Zeros before a size and blanks after it change nothing, and are read however many there are. A size followed by anything else is refused, as by Chromium and Go. A line of more than 4 KiB is refused.',
    covers: named(/^chunks: (?:size|a last chunk of many zeros)/),
  },
  {
    about: 'Trailers',
    why: 'Nothing is read from trailers, so odd ones do no harm.',
    covers: named(/^chunks: trailers/),
  },
  {
    about: 'Cut off',
    why: 'An answer that ends before its end is a failure, also where a client shows the part that it got.',
    covers: (answer) =>
      isRefused(answer) &&
      /^(?:cut off|chunks): |, cut off$|(?:first byte of another|half a) member$/.test(answer.id),
  },
  {
    about: 'No body to be framed',
    why: 'Answers to HEAD, 204, 304 and followed redirects have no body that is read (RFC 9112, section 6.3), so the lines about one do not matter.',
    covers: named(/^(?:no body|redirects: with)/),
  },
  {
    about: 'Locations that differ',
    why: 'Where visitors get to depends on their client: Chromium refuses, curl and Go take the first.',
    covers: refusedFor('several Location'),
  },
  {
    about: 'Statuses that curl alone follows',
    why: 'The Fetch standard knows 301, 302, 303, 307 and 308 as redirects.',
    covers: named(/^redirects: status 3/),
  },
  {
    about: 'Odd Locations',
    why: 'They are read as URLs and header lines are elsewhere: folded lines are joined by a blank, `http:next` is relative, and a line with a blank before its colon is skipped.',
    covers: named(/^redirects: /),
  },
  {
    about: 'Cookies',
    why: 'As RFC 6265 and Chromium have them, with two differences: `Secure` holds on loopback as well, and nothing outlives the attempt. blackbox_exporter keeps cookies by the older rules of Go.',
    covers: named(/^cookies of a redirect: /),
  },
  {
    about: 'Bodies that cannot be decoded',
    why: 'A body assertion cannot be judged. Without one the check passes, as the body is not decoded. blackbox_exporter does not decode unless it is told to.',
    covers: refusedFor('cannot be decoded'),
  },
  {
    about: 'Decoded bodies',
    why: 'The probe decodes what browsers decode, all members of a gzip file (RFC 1952), and ignores what comes after its end. It leaves the bytes as they are where a coding is not known. curl refuses unknown codings with `--compressed`; blackbox_exporter does not decode unless it is told to.',
    covers: named(/^Content-Encoding: /),
  },
  {
    about: 'The size of the head',
    why: 'It is bounded by 1,000 lines and 256 KiB, so that a target cannot use up the memory of an agent. Chromium has the same 256 KiB; curl bounds one line at 100 KiB and all at 300 KiB.',
    covers: named(/^size of the head: /),
  },
  {
    about: 'Interim responses',
    why: 'They are bounded with the head by 256 KiB; Go takes five.',
    covers: named(/^interim responses: \d+ of them$/),
  },
  {
    about: 'Status 101',
    why: 'It is the last answer in HTTP, with no body. No client was asked to switch. With an assertion on 101 the check passes, and without one the failure names it.',
    covers: named(/^interim responses: 101/),
  },
];
