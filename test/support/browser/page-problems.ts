import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { RunOptions } from 'axe-core';
import type { Page } from 'playwright-core';
import { HEIGHT, viewOf, WIDTHS } from '../browser.ts';

/**
 * The source of axe-core. The minified file is half as large, and it is sent to the browser for each page.
 */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const UNREACHABLE = readFileSync(new URL('unreachable.js', import.meta.url), 'utf8');

/** Maximum number of bytes that the scripts of a page have as they are sent. */
const MOST_SCRIPT_BYTES = 30_000;

/**
 * All rules for WCAG 2.2 A and AA and the best practices. The size of targets belongs to WCAG 2.2 too, but
 * axe-core checks it only on request. Frames and media, which `preload` would load, are on no page.
 */
const ALL_RULES: RunOptions = { rules: { 'target-size': { enabled: true } } };

/** The rules that depend on the theme. Styles use the theme only in `light-dark()`, which chooses colours. */
const RULES_OF_COLOURS: RunOptions = { runOnly: ['color-contrast', 'link-in-text-block'] };

/** The look of each visible element: its place in the page, and what its contrast depends on in a theme. */
const LOOKS = `[...document.querySelectorAll('body, body *')].flatMap((element, index) => {
  if (!element.checkVisibility()) return [];
  const { color, backgroundColor, opacity, fontSize, fontWeight } = getComputedStyle(element);
  return [[index, color, backgroundColor, opacity, fontSize, fontWeight].join(' ')];
})`;

/**
 * The problems of the shown page, one line each; none for a good page. The page is inspected in each width,
 * beginning with that of the window, without another load: the server does not know the width, and no script
 * reads it. The window keeps the last width, so later steps of the test happen in another width.
 *
 * - Content is wider than the window, or a visible control cannot be reached.
 * - If scripts run: rules of axe-core that it breaks; those about colours also in the other theme, in each width in
 *   which an element is visible that had another look, or was hidden, in the widths before; elements that have moved
 *   since the page was opened or since the last call, although nobody touched it; scripts that are too large.
 */
export async function pageProblems(page: Page): Promise<string[]> {
  const { hasScript } = viewOf(page);
  const found: string[] = [];
  if (hasScript) {
    await page.waitForLoadState();
    found.push(...(await shiftsOf(page)), ...(await scriptsOf(page)));
    if (!(await page.evaluate<boolean>('"axe" in globalThis'))) await page.evaluate(AXE);
  }
  const now = page.viewportSize()?.width ?? 0;
  const first = WIDTHS.indexOf(now);
  const looks = new Set<string>();
  for (const width of [...WIDTHS.slice(first), ...WIDTHS.slice(0, first)]) {
    if (width !== now) await page.setViewportSize({ width, height: HEIGHT });
    const problems = await misplaced(page);
    if (hasScript) {
      problems.push(...(await violations(page, ALL_RULES)));
      const before = looks.size;
      for (const look of await page.evaluate<string[]>(LOOKS)) looks.add(look);
      if (looks.size > before) problems.push(...(await violationsInOtherTheme(page)));
    }
    found.push(...problems.map((problem) => `${width} px: ${problem}`));
  }
  // Drops the elements that these inspections have moved.
  if (hasScript) await shiftsOf(page);
  return found;
}

/**
 * A line that says by how much the content of the page is wider
 * than the window. The list is empty if the content fits.
 */
export async function overflowOf(page: Page): Promise<string[]> {
  const px = await page.evaluate<number>(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  return px > 0 ? [`the page is ${px} px wider than the window`] : [];
}

async function misplaced(page: Page): Promise<string[]> {
  const unreachable = await page.evaluate<string[]>(UNREACHABLE);
  return [...(await overflowOf(page)), ...unreachable.map((control) => `not reached: ${control}`)];
}

async function violationsInOtherTheme(page: Page): Promise<string[]> {
  const { theme } = viewOf(page);
  const other = theme === 'light' ? 'dark' : 'light';
  await page.emulateMedia({ colorScheme: other });
  const problems = await violations(page, RULES_OF_COLOURS);
  await page.emulateMedia({ colorScheme: theme });
  return problems.map((problem) => `${problem} (${other})`);
}

/** The elements that have moved without an action since the page was opened or since the last call. */
export async function shiftsOf(page: Page): Promise<string[]> {
  const shifts = await page.evaluate<string[]>('takeShifts()');
  return shifts.map((shift) => `moved by itself: ${shift}`);
}

async function scriptsOf(page: Page): Promise<string[]> {
  const bytes = await page.evaluate<number>(`performance.getEntriesByType('resource')
    .filter(({ name }) => new URL(name).pathname.endsWith('.js'))
    .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`);
  return bytes > MOST_SCRIPT_BYTES ? [`its scripts have ${bytes} bytes`] : [];
}

async function violations(page: Page, options: RunOptions): Promise<string[]> {
  return page.evaluate(async (given) => {
    const { axe } = globalThis as unknown as { axe: typeof import('axe-core') };
    const { violations } = await axe.run({
      ...given,
      resultTypes: ['violations'],
      selectors: false,
      iframes: false,
      preload: false,
    });
    return violations.flatMap(({ id, help, nodes }) =>
      nodes
        // The buttons of a form stay in view, and cover the content below until the visitor scrolls.
        .filter(({ failureSummary = '' }) => !failureSummary.includes('it is partially obscured'))
        .map(({ html, failureSummary = '' }) => `${id}: ${help}: ${html} ${failureSummary}`),
    );
  }, options);
}
