import { scopeIncludes, type TokenScope } from '../store/access/tokens.ts';
import type { Asset } from '../web/assets.ts';
import { type PageHeaderOptions, pageHeaders } from '../web/headers.ts';
import { type Html, html, NO_HTML } from '../web/html.ts';
import { renderPage } from '../web/page-frame.ts';
import { TIMES_SCRIPT } from '../web/web-assets.ts';
import { DASHBOARD_STYLE, LIVE_SCRIPT, PALETTE_SCRIPT } from './dashboard-assets.ts';
import { type DashboardPage, NAVIGATION_GROUPS } from './dashboard-page.ts';

/** The attributes of the session that the frame of a page needs. */
type Viewer = {
  readonly name: string;
  readonly scope: TokenScope;
  readonly formToken: Html;
};

type Shown = {
  readonly title: string;
  readonly body: Html;
  readonly notice: string | null;
  /** Path of the request. */
  readonly path: string;
  readonly styles?: readonly Asset[];
  readonly scripts?: readonly Asset[];
  readonly isLive?: boolean;
};

/** Renders a page in the dashboard's frame, with navigation, session and notice. */
export function shellPage(pages: readonly DashboardPage[], viewer: Viewer, shown: Shown): string {
  const { title, body, notice, path, styles = [], scripts = [], isLive = false } = shown;
  return renderPage({
    language: 'en',
    title: `${title} · svc`,
    theme: 'system',
    kind: 'dashboard',
    styles: [DASHBOARD_STYLE, ...styles],
    scripts: [TIMES_SCRIPT, PALETTE_SCRIPT, ...(isLive ? [LIVE_SCRIPT] : []), ...scripts],
    body: html`<a class="skip-link" href="#content">Skip to the content</a>
<header class="top no-print">
<a class="brand" href="/">svc</a>
<button class="palette-button" type="button" data-palette hidden>Go to <kbd>/</kbd></button>
${navigation(pages, viewer, path)}
<form class="session" method="post" action="/logout">${viewer.formToken}
<span class="soft small">${viewer.name}</span><button class="button-quiet">Log out</button></form>
</header>
<main id="content" tabindex="-1">
${notice === null ? NO_HTML : html`<p class="notice" role="status">${notice}</p>`}
${body}
</main>`,
  });
}

/** Renders a page without navigation and session, such as the login page or an error. */
export function plainPage({ title, body }: { readonly title: string; readonly body: Html }): string {
  return renderPage({
    language: 'en',
    title: `${title} · svc`,
    theme: 'system',
    kind: 'plain',
    styles: [DASHBOARD_STYLE],
    body: html`<main id="content">
<p class="brand">svc</p>
${body}
</main>`,
  });
}

function navigation(pages: readonly DashboardPage[], viewer: Viewer, path: string): Html {
  const entries = pages.filter(
    (page) => page.navigation !== undefined && scopeIncludes(viewer.scope, page.scope),
  );
  const current = currentEntry(entries, path);
  return html`<nav class="scrolls" aria-label="Main">${NAVIGATION_GROUPS.map((group) => {
    const members = entries.filter(({ navigation }) => navigation?.group === group);
    if (members.length === 0) return NO_HTML;
    return html`<p class="group">${group}</p><ul class="plain-list">${members.map(
      (page) =>
        html`<li><a href="${page.path}"${page === current ? html` aria-current="page"` : NO_HTML}>${page.navigation?.label}</a></li>`,
    )}</ul>`;
  })}</nav>`;
}

/**
 * The navigation entry that the page at a path belongs to. `/channels/1`
 * belongs to the entry `/channels`. If several entries fit, the one with the
 * longest path is returned. The pages of monitors belong to the overview.
 */
function currentEntry(entries: readonly DashboardPage[], path: string): DashboardPage | undefined {
  const holds = (page: DashboardPage) =>
    path === page.path ||
    (page.path === '/' ? path.startsWith('/monitors') : path.startsWith(`${page.path}/`));
  return entries.filter(holds).sort((a, b) => b.path.length - a.path.length)[0];
}

type PageResponseOptions = PageHeaderOptions & {
  readonly status?: number;
  /** Values of the headers `Set-Cookie`. */
  readonly cookies?: readonly string[];
};

/** The response for a rendered page. */
export function pageResponse(text: string, options: PageResponseOptions = {}): Response {
  const headers = new Headers(pageHeaders(options));
  for (const cookie of options.cookies ?? []) headers.append('set-cookie', cookie);
  return new Response(text, { status: options.status ?? 200, headers });
}

/**
 * Redirects the browser to a page of this site. The browser opens the page with GET.
 *
 * @param path begins with `/`; a path from outside must have passed `localPath`
 */
export function redirectResponse(path: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({
    location: path,
    'cache-control': 'no-store',
    'referrer-policy': 'same-origin',
  });
  for (const cookie of cookies) headers.append('set-cookie', cookie);
  return new Response(null, { status: 303, headers });
}
