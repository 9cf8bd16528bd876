import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { findProgram } from './real-dns-server.ts';

const PROGRAM = process.env.CHROMIUM ?? findProgram('chromium');

/** For `describe.skipIf`: this machine has no Chromium. In CI such a test fails instead of being skipped. */
export const skipsBrowser = PROGRAM === null && process.env.CI !== 'true';
if (PROGRAM === null) console.warn('skipped: chromium is not installed');

/** How a page is looked at. */
export type View = {
  readonly width: number;
  readonly theme: 'light' | 'dark';
  /** Whether scripts run. */
  readonly hasScript: boolean;
};

/** Every view that pages are tested in: widths of a phone, a tablet and a desk; both themes; with and without script. */
export const VIEWS: readonly View[] = [320, 768, 1440].flatMap((width) =>
  (['light', 'dark'] as const).flatMap((theme) =>
    [true, false].map((hasScript) => ({ width, theme, hasScript })),
  ),
);

/** A view on a desk, with scripts. */
export const DESK: View = { width: 1440, theme: 'light', hasScript: true };

/** Name of a view for tests and files: `320-dark-no-script`. */
export function nameOf({ width, theme, hasScript }: View): string {
  return `${width}-${theme}${hasScript ? '' : '-no-script'}`;
}

/** Visitors in whose pages no script runs, not even a check of ours. */
const SCRIPTLESS = new WeakSet<BrowserContext>();

/** A Chromium without a window. Launch one for a test file, and close it in `afterAll`. */
export class TestBrowser {
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async launch(): Promise<TestBrowser> {
    if (PROGRAM === null) throw new Error('chromium is not installed');
    const browser = await chromium.launch({
      executablePath: PROGRAM,
      args: ['--no-sandbox', '--disable-gpu', '--no-proxy-server', '--disable-dev-shm-usage'],
      // A busy machine takes long to start it. The limit of the test ends what hangs.
      timeout: 0,
    });
    return new TestBrowser(browser);
  }

  /** Cookies and settings of one visitor. */
  async visitor({ width, theme, hasScript }: View = DESK): Promise<BrowserContext> {
    const context = await this.#browser.newContext({
      viewport: { width, height: 900 },
      colorScheme: theme,
      javaScriptEnabled: hasScript,
      locale: 'en-GB',
      timezoneId: 'Europe/Berlin',
      reducedMotion: 'reduce',
    });
    context.setDefaultTimeout(0);
    if (!hasScript) SCRIPTLESS.add(context);
    return context;
  }

  async close(): Promise<void> {
    await this.#browser.close();
  }
}

/**
 * What is wrong with the page that is shown, in a line each: rules of axe-core (WCAG 2.2 A and AA and its best
 * practices; only where scripts run), and content wider than the window. A good page has none.
 */
export async function pageProblems(page: Page): Promise<string[]> {
  const found = SCRIPTLESS.has(page.context()) ? [] : await violations(page);
  const overflow = await page
    .locator('html')
    .evaluate((root) => Number(Reflect.get(root, 'scrollWidth')) - Number(Reflect.get(root, 'clientWidth')));
  return overflow > 0 ? [...found, `the page is ${overflow} px wider than the window`] : found;
}

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { axe: rules } = globalThis as unknown as { axe: typeof axe };
    const { violations } = await rules.run({ resultTypes: ['violations'] });
    return violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ html, failureSummary = '' }) => `${id}: ${help}: ${html} ${failureSummary}`),
    );
  });
}

/** Notes every request of a visitor that goes to another host than that of `origin`. */
export function foreignRequests(context: BrowserContext, origin: string): string[] {
  const foreign: string[] = [];
  context.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !url.startsWith('data:')) foreign.push(url);
  });
  return foreign;
}
