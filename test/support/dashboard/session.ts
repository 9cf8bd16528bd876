import type { RunningApi } from '../api.ts';

type Fields = Readonly<Record<string, string | readonly string[]>>;

export type Opened = {
  readonly status: number;
  readonly location: string | null;
  readonly text: string;
  /** What the next page says about it once; null: nothing. */
  readonly notice: string | null;
};

/**
 * A visitor of the dashboard without a browser. It keeps its
 * cookie, and sends forms as a browser without scripts does.
 */
export class DashboardSession {
  readonly #url: string;
  readonly #cookie: string;

  private constructor(url: string, cookie: string) {
    this.#url = url;
    this.#cookie = cookie;
  }

  /**
   * Opens a session.
   *
   * @param authorization header with the token of the session; default: the operator's token
   */
  static async open(
    api: Pick<RunningApi, 'url' | 'operator'>,
    { authorization = `Bearer ${api.operator}` }: Record<string, string> = {},
  ): Promise<DashboardSession> {
    const form = await fetch(`${api.url}/login`);
    const body = filledIn(await form.text(), '/login', { token: authorization.replace('Bearer ', '') });
    const answer = await fetch(`${api.url}/login`, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie: cookiesOf(form) },
      body,
    });
    if (answer.status !== 303) throw new Error(`the login answered ${answer.status}`);
    return new DashboardSession(api.url, cookiesOf(answer));
  }

  async get(path: string): Promise<Opened> {
    return this.#opened(
      await fetch(`${this.#url}${path}`, {
        redirect: 'manual',
        headers: { cookie: this.#cookie, accept: 'text/html' },
      }),
    );
  }

  /**
   * The fields that a browser would send for the form with this action on a page, with these fields filled
   * in.
   */
  async filled(path: string, action: string, fields: Fields): Promise<URLSearchParams> {
    return filledIn((await this.get(path)).text, action, fields);
  }

  async post(action: string, body: URLSearchParams): Promise<Opened> {
    return this.#opened(
      await fetch(`${this.#url}${action}`, {
        method: 'POST',
        redirect: 'manual',
        headers: { cookie: this.#cookie, accept: 'text/html' },
        body,
      }),
    );
  }

  /** Opens a page, fills in its form with this action, and sends it. */
  async send(path: string, action: string, fields: Fields = {}): Promise<Opened> {
    return this.post(action, await this.filled(path, action, fields));
  }

  async #opened(response: Response): Promise<Opened> {
    const { status, headers } = response;
    const cookie = headers.getSetCookie().find((each) => each.startsWith('svc-notice='));
    const notice = /=([^;]*)/.exec(cookie ?? '')?.[1] ?? null;
    return {
      ...{ status, location: headers.get('location'), text: await response.text() },
      notice: notice === null ? null : Buffer.from(notice, 'base64url').toString(),
    };
  }
}

/**
 * The fields that a browser would send for the form with this action, with these fields filled in. An empty
 * list sends none.
 */
export function filledIn(page: string, action: string, fields: Fields): URLSearchParams {
  const body = new URLSearchParams(controlsOf(page, action));
  for (const [name, value] of Object.entries(fields)) {
    body.delete(name);
    for (const each of [value].flat()) body.append(name, each);
  }
  return body;
}

const cookiesOf = (response: Response) =>
  response.headers
    .getSetCookie()
    .map((each) => each.split(';', 1)[0])
    .join('; ');

/** The controls of the form with this action that a browser would send, without its buttons. */
function controlsOf(page: string, action: string): [string, string][] {
  const start = page.indexOf(`action="${escaped(action)}"`);
  if (start === -1) throw new Error(`the page has no form for ${action}: ${page.slice(0, 2_000)}`);
  const form = page.slice(start, page.indexOf('</form>', start));
  const found: [string, string][] = [];
  const controls =
    /<(input)\b([^>]*)>|<(textarea)\b([^>]*)>(.*?)<\/textarea>|<(select)\b([^>]*)>(.*?)<\/select>/gs;
  for (const [
    ,
    input,
    attributes = '',
    area,
    ofArea = '',
    text = '',
    ,
    ofSelect = '',
    options = '',
  ] of form.matchAll(controls)) {
    if (area !== undefined) add(found, ofArea, text.replace(/^\n/, ''));
    else if (input === undefined) add(found, ofSelect, chosenOf(options));
    else if (!/type="(?:checkbox|radio)"/.test(attributes) || /\bchecked\b/.test(attributes))
      add(found, attributes, attributeOf(attributes, 'value') ?? '');
  }
  return found;
}

function add(found: [string, string][], attributes: string, value: string): void {
  const name = attributeOf(attributes, 'name');
  if (name !== null) found.push([name, unescaped(value)]);
}

function chosenOf(options: string): string {
  const all = [...options.matchAll(/<option value="([^"]*)"( selected)?>/g)];
  return (all.find(([, , selected]) => selected !== undefined) ?? all[0])?.[1] ?? '';
}

function attributeOf(attributes: string, name: string): string | null {
  return new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? null;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;');
}

function unescaped(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}
