import type { ApiParts } from '@svc/coordinator/api/api-parts.ts';
import { createSendMail } from '@svc/coordinator/outgoing/smtp/mail.ts';
import { Secret } from '@svc/shared/secret.ts';
import { type RunningApi, startApi } from './api.ts';
import { FakeClock } from './fake-clock.ts';
import { MailServer, type ReceivedMail } from './vendors/smtp.ts';

export type Answered = { readonly status: number; readonly headers: Headers; readonly text: string };

type Asking = {
  readonly method?: 'GET' | 'POST' | 'HEAD';
  /** The fields of the form that the request sends. */
  readonly form?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Status pages over a real listener, with a real mail server. */
export class VisitedPages {
  readonly api: RunningApi;
  readonly mailServer: MailServer;

  private constructor(api: RunningApi, mailServer: MailServer) {
    this.api = api;
    this.mailServer = mailServer;
  }

  static async start(more: Partial<ApiParts> = {}): Promise<VisitedPages> {
    const mailServer = await MailServer.start();
    const relay = { host: '127.0.0.1', port: mailServer.port, tls: 'none', credentials: null } as const;
    const operator = { smtpUrl: new Secret(relay), mailFrom: { name: 'svc', address: 'svc@example.com' } };
    const sendMail = createSendMail({ clock: new FakeClock() });
    return new VisitedPages(await startApi(more, { operator, sendMail }), mailServer);
  }

  /** A visitor with cookies of its own. */
  visitor(headers: Readonly<Record<string, string>> = {}): Visitor {
    return new Visitor(this.api.url, headers);
  }

  async dispose(): Promise<void> {
    await this.api.dispose();
    await this.mailServer.close();
  }
}

/** A visitor that reads pages like a browser: it keeps cookies, and follows no redirect by itself. */
export class Visitor {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly cookies = new Map<string, string>();

  constructor(url: string, headers: Readonly<Record<string, string>>) {
    this.#url = url;
    this.#headers = headers;
  }

  async ask(path: string, { method, form, headers = {} }: Asking = {}): Promise<Answered> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(`${this.#url}${path}`, {
      method: method ?? (form === undefined ? 'GET' : 'POST'),
      redirect: 'manual',
      headers: { ...(cookie === '' ? {} : { cookie }), ...this.#headers, ...headers },
      ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
    });
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (value === '') this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Opens the page of a form, and sends it with these fields beside its hidden ones. */
  async submit(path: string, fields: Readonly<Record<string, string>> = {}): Promise<Answered> {
    const { text } = await this.ask(path);
    const action = /<form[^>]* action="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? path;
    return this.ask(action, { form: { ...hiddenFields(text), ...fields } });
  }
}

/** The hidden fields of the first form of a page. */
export function hiddenFields(markup: string): Record<string, string> {
  const inputs = markup.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g);
  return Object.fromEntries([...inputs].map(([, name = '', value = '']) => [name, value]));
}

/** Path and query of the button in a mail. */
export function linkOf(mail: ReceivedMail | undefined, what = /token=/): string {
  const text = mail?.parsed.parts[0]?.text ?? '';
  const found = [...text.matchAll(/https?:\/\/\S+/g)].map(([url]) => url).find((url) => what.test(url));
  if (found === undefined) throw new Error(`the mail has no link: ${text}`);
  const { pathname, search } = new URL(found);
  return `${pathname}${search}`;
}
