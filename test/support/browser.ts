import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContext, type CDPSession, chromium, type Page } from 'playwright-core';
import { findProgram } from './real-dns-server.ts';

/** The path of the browser. The headless shell, which has no windows on a screen, needs less CPU time. */
const PROGRAM = process.env.CHROMIUM ?? findProgram('chromium-headless-shell') ?? findProgram('chromium');

/** For `describe.skipIf`: this machine has no Chromium. In CI such a test fails instead of being skipped. */
export const skipsBrowser = PROGRAM === null && process.env.CI !== 'true';
if (PROGRAM === null) console.warn('skipped: chromium is not installed');

/** Widths of a phone, a tablet and a desk, CSS pixels. */
export const WIDTHS: readonly number[] = [320, 768, 1440];

/** How a visitor opens pages. */
export type View = {
  readonly width: number;
  readonly theme: 'light' | 'dark';
  /** Whether scripts run. */
  readonly hasScript: boolean;
  /** Zone of the browser; left out: Europe/Berlin. */
  readonly zone?: string;
};

/**
 * Views with and without scripts. `pageProblems` inspects each
 * width in both themes, and leaves the window at the next width.
 */
export const VIEWS: readonly View[] = [
  { width: 320, theme: 'light', hasScript: true },
  { width: 1440, theme: 'dark', hasScript: false },
];

/** A view on a desk, with scripts. */
export const DESK: View = { width: 1440, theme: 'light', hasScript: true };

/** Name of a view for tests. */
export function nameOf({ hasScript }: View): string {
  return hasScript ? 'with script' : 'without script';
}

/** Height of every window, CSS pixels. */
export const HEIGHT = 900;
const NOTE_SHIFTS = readFileSync(fileURLToPath(new URL('browser/note-shifts.js', import.meta.url)), 'utf8');

/** A window of the browser with its cookies. Several visitors use it, one after the other. */
type Window = {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly session: CDPSession;
  readonly hasScript: boolean;
  readonly zone: string;
};

/** The views of the visitors whose windows are open. */
const VIEW_OF = new WeakMap<BrowserContext, View>();

/** The view in which the visitor opens pages. */
export function viewOf(page: Page): View {
  const view = VIEW_OF.get(page.context());
  if (view === undefined) throw new Error('this is the page of no visitor');
  return view;
}

type Sessions = Map<string, ReadonlyMap<string, string>>;

/** A visitor with cookies of their own. */
export class BrowserVisitor {
  readonly context: BrowserContext;
  /** Cookies of sessions, by the subject of the session. Every visitor of this browser may use them. */
  readonly sessions: Sessions;
  readonly #window: Window;
  readonly #pages: Page[] = [];
  readonly #leave: () => void;

  constructor(window: Window, sessions: Sessions, leave: () => void) {
    this.context = window.context;
    this.sessions = sessions;
    this.#window = window;
    this.#leave = leave;
  }

  /** An empty page. */
  async newPage(): Promise<Page> {
    const page = this.#pages.length === 0 ? this.#window.page : await this.context.newPage();
    this.#pages.push(page);
    return page;
  }

  /** Resets the window to the state of a new one. */
  async close(): Promise<void> {
    await this.context.clearCookies();
    await this.#window.session.send('Network.clearBrowserCache');
    for (const page of this.#pages.slice(1)) await page.close();
    this.#window.page.removeAllListeners();
    await this.#window.page.unrouteAll();
    await this.#window.page.goto('about:blank');
    this.#leave();
  }
}

/** A Chromium without windows on the screen. Launch one for a test file, and close it in `afterAll`. */
export class TestBrowser {
  readonly #browser: Browser;
  /** Windows that no visitor uses. They are kept, because opening a window takes longer than most pages. */
  readonly #idle: Window[] = [];
  readonly #foreign = new Set<string>();
  readonly #sessions: Sessions = new Map();

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async launch(): Promise<TestBrowser> {
    if (PROGRAM === null) throw new Error('chromium is not installed');
    const browser = await chromium.launch({
      executablePath: PROGRAM,
      args: ['--no-sandbox', '--disable-gpu', '--no-proxy-server', '--disable-dev-shm-usage'],
      // A busy machine takes long to start it. The time limit of the test ends a start that hangs.
      timeout: 0,
    });
    return new TestBrowser(browser);
  }

  async visitor(view: View = DESK): Promise<BrowserVisitor> {
    const { hasScript, zone = 'Europe/Berlin' } = view;
    const at = this.#idle.findIndex((idle) => idle.hasScript === hasScript && idle.zone === zone);
    const window = this.#idle.splice(at, at === -1 ? 0 : 1)[0] ?? (await this.#open(hasScript, zone));
    await window.page.setViewportSize({ width: view.width, height: HEIGHT });
    await window.page.emulateMedia({ colorScheme: view.theme, media: null });
    VIEW_OF.set(window.context, view);
    return new BrowserVisitor(window, this.#sessions, () => this.#idle.push(window));
  }

  async #open(hasScript: boolean, zone: string): Promise<Window> {
    const context = await this.#browser.newContext({
      javaScriptEnabled: hasScript,
      locale: 'en-GB',
      timezoneId: zone,
      reducedMotion: 'reduce',
    });
    context.setDefaultTimeout(0);
    context.on('request', (request) => {
      const { protocol, hostname } = new URL(request.url());
      if (protocol !== 'data:' && hostname !== '127.0.0.1') this.#foreign.add(request.url());
    });
    if (hasScript) await context.addInitScript(NOTE_SHIFTS);
    const page = await context.newPage();
    return { context, page, session: await context.newCDPSession(page), hasScript, zone };
  }

  /** @throws Error when a page has sent a request to another host */
  async close(): Promise<void> {
    await this.#browser.close();
    if (this.#foreign.size > 0) throw new Error(`pages asked other hosts: ${[...this.#foreign].join(', ')}`);
  }
}
