/** `pageProblems` must find each fault in the only width and theme that has it. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';
import { pageProblems } from '../support/browser/page-problems.ts';
import { nameOf, skipsBrowser, TestBrowser, VIEWS } from '../support/browser.ts';

/** The media query for each width in which pages are checked. */
const MEDIA = { 320: 'width < 30rem', 768: '30rem < width < 60rem', 1440: '60rem < width' } as const;
const PALE = '#f4f4f4';
const DARK = '#222';

/** Adds elements and style rules to a page. */
async function plant(page: Page, markup: string, rules: readonly string[]): Promise<void> {
  await page.locator('main').evaluate(
    (main, given) => {
      Reflect.get(main, 'insertAdjacentHTML').call(main, 'beforeend', given.markup);
      const [sheet] = Reflect.get(globalThis, 'document').styleSheets;
      for (const rule of given.rules) sheet.insertRule(rule, sheet.cssRules.length);
    },
    { markup, rules },
  );
}

const inWidth = (width: string, rule: string) => `@media (${MEDIA[Number(width) as 320]}) { ${rule} }`;
const WIDTHS = Object.keys(MEDIA);

describe.skipIf(skipsBrowser)('the problems of a page', () => {
  let api: RunningApi;
  let browser: TestBrowser;
  beforeAll(async () => {
    api = await startApi();
    browser = await TestBrowser.launch();
  });
  afterAll(async () => {
    await browser?.close();
    await api?.dispose();
  });

  test.each(VIEWS.map((view) => [nameOf(view), view] as const))(
    'is found in each width %s',
    async (_, view) => {
      const visitor = await browser.visitor(view);
      const page = await visitor.newPage();
      await page.goto(`${api.url}/login`);
      expect(await pageProblems(page)).toEqual([]);
      const wide = WIDTHS.map((width) => `<div class="wide-${width}">wide</div>`);
      const covered = WIDTHS.map(
        (width) => `<div class="cover-${width}"><a href="/x-${width}">covered</a><i></i></div>`,
      );
      await plant(page, [...wide, ...covered].join(''), [
        ...WIDTHS.map((width) => inWidth(width, `.wide-${width} { width: 200vw }`)),
        ...WIDTHS.map((width) => `.cover-${width} { position: relative }`),
        ...WIDTHS.map((width) => inWidth(width, `.cover-${width} > i { position: absolute; inset: 0 }`)),
      ]);
      const found = (await pageProblems(page)).filter((problem) => /wider|not reached/.test(problem));
      for (const width of WIDTHS) {
        const here = found.filter((problem) => problem.startsWith(`${width} px: `));
        expect(here, width).toHaveLength(2);
        expect(here[0]).toContain('wider than the window');
        expect(here[1]).toContain(`href="/x-${width}"`);
      }
      await visitor.close();
    },
  );

  test('are found in each width and theme that has them', async () => {
    const visitor = await browser.visitor();
    const page = await visitor.newPage();
    await page.goto(`${api.url}/login`);
    const faults = WIDTHS.map(
      (width) => `<div>
        <p class="light-${width}">light ${width}</p><p class="dark-${width}">dark ${width}</p>
        <p><a class="small" href="/a-${width}">a</a><a class="small" href="/b-${width}">b</a></p>
        <button type="button"><span class="gone-${width}">gone ${width}</span></button>
      </div>`,
    );
    await plant(page, faults.join(''), [
      '.small { display: inline-block; width: 30px; height: 30px }',
      ...WIDTHS.flatMap((width) => [
        inWidth(
          width,
          `.light-${width} { background: light-dark(#fff, #000); color: light-dark(${PALE}, #fff) }`,
        ),
        inWidth(
          width,
          `.dark-${width} { background: light-dark(#fff, #000); color: light-dark(#000, ${DARK}) }`,
        ),
        inWidth(width, `[href$="-${width}"] { width: 9px; height: 9px; overflow: hidden }`),
        inWidth(width, `.gone-${width} { display: none }`),
      ]),
    ]);
    const problems = await pageProblems(page);
    const lineOf = (problem: string) => problem.replaceAll(/\s+/g, ' ');
    const found = problems.map(lineOf).filter((problem) => /-(?:320|768|1440)/.test(problem));
    for (const width of WIDTHS) {
      const here = found.filter((problem) => problem.startsWith(`${width} px: `));
      expect(
        here.every((problem) => problem.includes(`-${width}`)),
        width,
      ).toBe(true);
      const has = (...texts: string[]) =>
        here.some((problem) => texts.every((text) => problem.includes(text)));
      expect(has('color-contrast', `light-${width}`), `light ${width}`).toBe(true);
      expect(has('color-contrast', `dark-${width}`, '(dark)'), `dark ${width}`).toBe(true);
      expect(has('target-size', `/a-${width}`), `target ${width}`).toBe(true);
      expect(has('button-name', `gone-${width}`), `name ${width}`).toBe(true);
      expect(has('(dark)', `light-${width}`), `not in the dark ${width}`).toBe(false);
    }
    await visitor.close();
  });
});
