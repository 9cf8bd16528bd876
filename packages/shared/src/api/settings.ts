/** What is wrong with an address of the API, to follow its name; null when nothing is. */
export function baseUrlProblem(text: string): string | null {
  if (/[\u0000-\u0020\u007f]/.test(text)) return 'must not contain blanks or control characters';
  const url = URL.parse(text);
  if (url === null || !/^https?:\/\//i.test(text)) {
    return 'must be a URL that starts with http:// or https://, like https://svc.example.com';
  }
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  if (text.includes('?') || text.includes('#')) return 'must not have a query or fragment';
  return null;
}

/** Whether a token sent to this address can be read on its way: plain HTTP, and not to this machine. */
export function isReadableOnTheWay(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === 'http:' && !isThisMachine(hostname);
}

/** Whether a host name of a URL means this machine. */
export function isThisMachine(hostname: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

/** The token that a client takes of a file: while one takes the place of another, it holds two in two lines. */
export function firstToken(text: string): string {
  return text.split(/\r?\n/)[0] ?? '';
}

/** What is wrong with a token, to follow its name; null when nothing is. Never tells the token. */
export function tokenProblem(token: string): string | null {
  if (token === '') return 'is empty';
  if (!/^[\u0021-\u007e]*$/.test(token)) {
    return 'contains blanks, line ends or characters that are not ASCII, which no token does';
  }
  return token.length > 1_024 ? 'has more than 1024 characters' : null;
}
