/**
 * Name of the Terraform provider in its `User-Agent`. The API knows by it that an attribute that the
 * request leaves out is one that this version of the provider does not know.
 */
export const TERRAFORM_PROVIDER = 'terraform-provider-svc';

/**
 * The fault of an address of the API, as text that follows the setting's name; null when the address is good.
 */
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

/**
 * Whether others can read a token on its way to this address: the address uses plain HTTP, and its host is
 * not {@link isThisMachine}.
 */
export function isReadableOnTheWay(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === 'http:' && !isThisMachine(hostname);
}

/**
 * Whether a host name, as `URL` writes it, is `localhost`, in 127.0.0.0/8, or `[::1]`. Other names of this
 * machine are not known.
 */
export function isThisMachine(hostname: string): boolean {
  return /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

/**
 * Returns the token that a client uses from a token file. The file holds two lines while a new token replaces
 * an old one.
 */
export function firstToken(text: string): string {
  return text.split(/\r?\n/)[0] ?? '';
}

/**
 * The fault of a token, as text that follows the setting's name; null when the token is good. The
 * text never contains the token.
 */
export function tokenProblem(token: string): string | null {
  if (token === '') return 'is empty';
  if (!/^[\u0021-\u007e]*$/.test(token)) {
    return 'contains a blank, a line break or a character outside ASCII, which no token has';
  }
  return token.length > 1_024 ? 'has more than 1024 characters' : null;
}
