import { rowsFields } from '@svc/coordinator/dashboard/forms/editing.ts';
import { rowsAt } from '@svc/coordinator/dashboard/forms/entries.ts';
import type { ResourceForm } from '@svc/coordinator/dashboard/forms/fields.ts';
import { entriesOf } from '@svc/coordinator/dashboard/forms/to-entries.ts';
import type { Locator, Page } from 'playwright-core';

/** The input with this name in the page that is shown. */
export function inputOf(page: Page, name: string): Locator {
  return page.locator(`[name="${name}"]`).first();
}

/** Fills in the form that is shown with a resource, by its inputs and buttons. */
export async function fillForm(
  page: Page,
  form: ResourceForm,
  resource: Readonly<Record<string, unknown>>,
): Promise<void> {
  const wanted = entriesOf(form, resource, 'shown');
  for (const { path } of rowsFields(form)) {
    for (const _ of rowsAt(wanted, path)) {
      await unfold(page);
      const before = await page.locator(`[id^="field-${path}."].rows-row`).count();
      await page.locator(`button[value="add ${path}"]`).click();
      await page.locator(`[id="field-${path}.${before}"]`).waitFor();
    }
  }
  await unfold(page);
  const controls = await controlsOf(page);
  for (const [name, values] of wanted) {
    const control = controls.get(name);
    if (name.includes('~') || name === form.chooser || control === undefined) continue;
    await give(page, name, control, values);
  }
  await uncheckOthers(page, new Set(wanted.keys()));
}

/** Opens what is folded, as a person does before filling it in. */
async function unfold(page: Page): Promise<void> {
  const folded = page.locator('.resource-form details:not([open]) > summary');
  while ((await folded.count()) > 0) await folded.first().click();
}

type Control = 'checkbox' | 'select' | 'text';

/** The page's controls, by their names. */
async function controlsOf(page: Page): Promise<ReadonlyMap<string, Control>> {
  const found = await page.locator('[name]').evaluateAll((all) =>
    all.map((element): [string, Control] => {
      const { localName, name, type } = element as unknown as Record<string, string>;
      return [name ?? '', localName === 'select' ? 'select' : type === 'checkbox' ? 'checkbox' : 'text'];
    }),
  );
  // The first control of a name, as in `inputOf`.
  return new Map(found.toReversed());
}

async function give(page: Page, name: string, control: Control, values: readonly string[]): Promise<void> {
  if (control === 'checkbox') {
    for (const value of values) await page.locator(`[name="${name}"][value="${value}"]`).check();
    return;
  }
  const input = inputOf(page, name);
  if (control === 'select') await input.selectOption(values[0] ?? '');
  else await input.fill(values[0] ?? '');
}

/** Clears every box for which the resource has no value, whatever the form began with. */
async function uncheckOthers(page: Page, wanted: ReadonlySet<string>): Promise<void> {
  const boxes = page.locator('.resource-form input[type="checkbox"]:checked');
  const names = await boxes.evaluateAll((all) => all.map((box) => String(Reflect.get(box, 'name'))));
  for (const name of names.filter((each) => !wanted.has(each))) await inputOf(page, name).uncheck();
}

/** Sends the form by its main button, and waits for the page that follows. */
export async function save(page: Page): Promise<void> {
  await page.locator('.form-actions button[value="save"]').click();
  await page.waitForLoadState();
}

/** The messages that a form shows at its fields, by the names of their inputs. */
export async function messagesAtFields(page: Page): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const error of await page.locator('[id$="-error"]').all()) {
    const id = (await error.getAttribute('id')) ?? '';
    found[id.replace(/^field-|-error$/g, '')] = (await error.innerText()).trim();
  }
  return found;
}
