import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { RegionText } from '@svc/shared/regions.ts';
import type { ApiCalls, Caller } from '../api/in-process.ts';
import { isForTheLog, Problem, problemOf } from '../api/problem.ts';
import { scopeIncludes, type Tokens } from '../store/access/tokens.ts';
import type { Store } from '../store/store.ts';
import { cookieOf, removeCookie, setCookie } from '../web/cookies.ts';
import { formTokenField, guardedForm } from '../web/csrf.ts';
import { Form, type FormRefusal } from '../web/forms.ts';
import { html } from '../web/html.ts';
import { OneTimeLinks } from '../web/one-time-links.ts';
import { Sessions } from '../web/sessions.ts';
import type { Site, Visit } from '../web/site.ts';
import type { DashboardAnswer, DashboardPage, DashboardRequest, PageApi } from './dashboard-page.ts';
import { LoginPages } from './login.ts';
import { dashboardPages } from './pages.ts';
import { ChangeFeed } from './scripts/change-feed.ts';
import { pageResponse, plainPage, redirectResponse, shellPage } from './shell.ts';
import { type LoggedIn, Viewers } from './viewers.ts';

type DashboardParts = {
  readonly calls: ApiCalls;
  readonly store: Store;
  readonly tokens: Tokens;
  readonly regionText: RegionText;
  readonly clock: Clock;
  readonly log: Logger;
};

/** Paths of the API. The dashboard has no pages below them. */
const OF_THE_API = /^\/(?:v1|docs|healthz|readyz|metrics)(?:\/|$)/;

/** A request to a page, after the session and the form were checked. */
type Asked = {
  readonly visit: Visit;
  readonly page: DashboardPage;
  readonly ids: Readonly<Record<string, number>>;
  readonly viewer: LoggedIn;
  readonly form: Form;
};

/**
 * The dashboard. It answers only under the service's own hosts, so a foreign name that leads here (DNS
 * rebinding) gets no page.
 */
export class Dashboard implements Site {
  readonly #parts: DashboardParts;
  readonly #changes: ChangeFeed;
  readonly #pages: readonly DashboardPage[];
  readonly #routes: Routes;
  readonly #viewers: Viewers;
  readonly #login: LoginPages;

  constructor(parts: DashboardParts) {
    this.#parts = parts;
    this.#changes = new ChangeFeed(parts);
    this.#pages = dashboardPages({ changes: this.#changes });
    this.#routes = new Routes(this.#pages);
    this.#viewers = new Viewers({ ...parts, sessions: new Sessions(parts) });
    this.#login = new LoginPages({ ...parts, viewers: this.#viewers, links: new OneTimeLinks(parts) });
  }

  async answer(visit: Visit): Promise<Response | null> {
    const { pathname } = visit.url;
    if (!visit.isOwnHost || OF_THE_API.test(pathname)) return null;
    try {
      return await this.#answer(visit);
    } catch (error) {
      return this.#failed(visit, error);
    }
  }

  stop(): void {
    this.#changes.stop();
  }

  async #answer(visit: Visit): Promise<Response | null> {
    const { pathname } = visit.url;
    if (pathname === '/login') return this.#answerLogin(visit);
    const found = pathname === '/logout' ? null : this.#routes.findPage(visit.method, pathname);
    // A program that accepts no HTML gets the 404 of the API.
    if (pathname !== '/logout' && found === null && !wantsHtml(visit)) return null;
    const viewer = await this.#viewers.findViewer(visit);
    if (viewer === null) return loginFirst(visit);
    if (pathname === '/logout') return this.#logOut(visit, viewer);
    if (found === null) throw new Problem('not-found', 'There is no such page.');
    return this.#open(visit, found, viewer);
  }

  #answerLogin(visit: Visit): Promise<Response> {
    if (visit.method === 'GET') return this.#login.showForm(visit);
    if (visit.method === 'POST') return this.#login.takeForm(visit);
    throw wrongMethod(['GET', 'POST']);
  }

  async #logOut(visit: Visit, viewer: LoggedIn): Promise<Response> {
    if (visit.method !== 'POST') throw wrongMethod(['POST']);
    const form = await guardedForm(visit, viewer.secret);
    if (!(form instanceof Form)) return this.#refuse(visit, viewer, form);
    const cookie = await this.#viewers.closeSession(visit);
    this.#parts.calls.noteLogout(viewer.token, visit);
    return redirectResponse('/login', [cookie]);
  }

  async #open(visit: Visit, found: Found, viewer: LoggedIn): Promise<Response> {
    if ('allow' in found) throw wrongMethod(found.allow);
    const { page, ids } = found;
    const form = page.method === 'GET' ? new Form() : await guardedForm(visit, viewer.secret);
    if (!(form instanceof Form)) return this.#refuse(visit, viewer, form);
    if (!scopeIncludes(viewer.token.scope, page.scope)) {
      const message = `This page needs a token of scope ${page.scope}.`;
      return this.#refuse(visit, viewer, { status: 403, message });
    }
    const asked = { visit, page, ids, viewer, form };
    return this.#respond(asked, await page.handle(this.#requestOf(asked)));
  }

  /** Refuses a request before it calls the API, and writes the refusal into the audit trail. */
  #refuse(visit: Visit, { token }: LoggedIn, { status, message }: FormRefusal): Response {
    const action = visit.method === 'GET' ? 'open' : 'send';
    const { pathname: path } = visit.url;
    this.#parts.calls.noteRefusal({ token, action, path, status, message }, visit);
    return errorPage(status, message);
  }

  #requestOf({ visit, ids, viewer, form }: Asked): DashboardRequest {
    const { token, secret } = viewer;
    return {
      ids,
      query: visit.url.searchParams,
      path: `${visit.url.pathname}${visit.url.search}`,
      form,
      api: createPageApi(this.#parts.calls, { token, peer: visit.peer }, visit.request.signal),
      formToken: formTokenField(secret),
      token,
      isSessionOpen: () => this.#viewers.isSessionOpen(viewer),
      hasScope: (scope) => scopeIncludes(token.scope, scope),
      canOpen: (path, method = 'GET') => {
        const found = this.#routes.findPage(method, path);
        return found !== null && 'page' in found && scopeIncludes(token.scope, found.page.scope);
      },
      regionText: this.#parts.regionText,
      now: this.#parts.clock.wall(),
      signal: visit.request.signal,
    };
  }

  #respond({ visit, viewer }: Asked, answer: DashboardAnswer): Response {
    if ('response' in answer) return forMethod(visit, answer.response);
    if ('redirect' in answer) {
      const { redirect, notice } = answer;
      return redirectResponse(redirect, notice === undefined ? [] : [noticeCookie(visit, notice)]);
    }
    const notice = takeNotice(visit);
    const { token, secret } = viewer;
    const frame = { name: token.name, scope: token.scope, formToken: formTokenField(secret) };
    const text = shellPage(this.#pages, frame, {
      ...answer,
      notice: notice?.text ?? null,
      path: visit.url.pathname,
    });
    const cookies = notice === null ? [] : [notice.cookie];
    return pageResponse(text, { status: answer.status ?? 200, cookies });
  }

  /**
   * Renders the page of an error. The page shows no internal
   * details. The log has the details under the request id.
   */
  #failed({ requestId, url }: Visit, error: unknown): Response {
    const known = problemOf(error);
    if (isForTheLog(error)) {
      const stack = error instanceof Error ? error.stack : undefined;
      this.#parts.log.error({ error: messageOf(error), stack, requestId, path: url.pathname }, 'page failed');
    }
    const message = known?.message ?? `This is a defect of svc. The log has the details under ${requestId}.`;
    const page = errorPage(known?.status ?? 500, message);
    for (const [name, value] of Object.entries(known?.headers ?? {})) page.headers.set(name, value);
    return page;
  }
}

/**
 * Makes the API that pages call. It uses the token of one session.
 *
 * @param signal aborted when the visitor closes the connection
 */
function createPageApi(calls: ApiCalls, caller: Caller, signal: AbortSignal): PageApi {
  const call: PageApi['call'] = (endpoint, parameters, sent = {}) =>
    calls.call(caller, endpoint, parameters, { ...sent, signal });
  return {
    call,
    async read(endpoint, parameters) {
      const called = await call(endpoint, parameters);
      if (called.problem !== null) throw called.problem;
      return called.body;
    },
  };
}

/** Redirects to the login. After the login the visitor returns to the requested page. A sent form is lost. */
function loginFirst({ method, url }: Visit): Response {
  const next = method === 'GET' && url.pathname !== '/' ? `${url.pathname}${url.search}` : null;
  return redirectResponse(next === null ? '/login' : `/login?next=${encodeURIComponent(next)}`);
}

function wrongMethod(allow: readonly string[]): Problem {
  const headers = { allow: allow.join(', ') };
  return new Problem('method-not-allowed', `This path takes only ${headers.allow}.`, { headers });
}

/** Removes the body from the answer to a HEAD request. A stream would stay open without a reader. */
function forMethod({ request }: Visit, response: Response): Response {
  if (request.method !== 'HEAD') return response;
  void response.body?.cancel();
  return new Response(null, response);
}

function wantsHtml({ request }: Visit): boolean {
  return (request.headers.get('accept') ?? '').includes('text/html');
}

const HEADINGS: Readonly<Record<number, string>> = {
  403: 'Not allowed',
  404: 'Not found',
  429: 'Too many requests',
  503: 'Not available at the moment',
};

function errorPage(status: number, message: string): Response {
  const title = HEADINGS[status] ?? (status < 500 ? 'This did not work' : 'Something went wrong');
  const body = html`<h1>${title}</h1><p>${message}</p><p><a href="/">To the overview</a></p>`;
  return pageResponse(plainPage({ title, body }), { status });
}

type Route = { readonly page: DashboardPage; readonly pattern: RegExp };

type Found =
  | { readonly page: DashboardPage; readonly ids: Readonly<Record<string, number>> }
  /** The path exists, but not for the request's method. `allow` has the methods of the path. */
  | { readonly allow: readonly string[] };

/** Finds pages by method and path. */
class Routes {
  readonly #routes: readonly Route[];

  constructor(pages: readonly DashboardPage[]) {
    this.#routes = pages.map((page) => ({ page, pattern: patternOf(page.path) }));
  }

  /** Finds the page for a method and a path; null: the dashboard has no such path. */
  findPage(method: string, path: string): Found | null {
    const allow: string[] = [];
    for (const { page, pattern } of this.#routes) {
      const match = pattern.exec(path);
      if (match === null) continue;
      if (page.method === method) return { page, ids: idsOf(match.groups) };
      allow.push(page.method);
    }
    return allow.length === 0 ? null : { allow };
  }
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/\{(\w+)\}/g, '(?<$1>[1-9][0-9]{0,14})')}$`);
}

function idsOf(groups: Readonly<Record<string, string>> = {}): Record<string, number> {
  return Object.fromEntries(Object.entries(groups).map(([name, text]) => [name, Number(text)]));
}

/** Name of the cookie that carries a notice across a redirect. */
const NOTICE_COOKIE = 'svc-notice';
/** Maximum length of a notice, characters. */
const LONGEST = 500;
/** Lifetime of the cookie, seconds. If the browser requests the next page later, it shows no notice. */
const LIFE_S = 60;

/** The `Set-Cookie` header that passes a notice to the next page. */
function noticeCookie(visit: Visit, notice: string): string {
  const value = Buffer.from(notice.slice(0, LONGEST)).toString('base64url');
  return setCookie(visit, NOTICE_COOKIE, value, LIFE_S);
}

/**
 * The notice for this page, and the `Set-Cookie` header that removes its cookie; null: there is no notice.
 */
function takeNotice(visit: Visit): { readonly text: string; readonly cookie: string } | null {
  const value = cookieOf(visit, NOTICE_COOKIE);
  if (value === null || value === '') return null;
  const text = Buffer.from(value, 'base64url').toString().slice(0, LONGEST);
  return { text, cookie: removeCookie(visit, NOTICE_COOKIE) };
}
