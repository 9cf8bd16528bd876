import type { DashboardPage } from './page.ts';

type Route = { readonly page: DashboardPage; readonly pattern: RegExp };

export type Found =
  | { readonly page: DashboardPage; readonly ids: Readonly<Record<string, number>> }
  /** The path exists, and takes only these methods. */
  | { readonly allow: readonly string[] };

/** The pages by their paths. */
export class Routes {
  readonly #routes: readonly Route[];

  constructor(pages: readonly DashboardPage[]) {
    this.#routes = pages.map((page) => ({ page, pattern: patternOf(page.path) }));
  }

  /** Null: the dashboard has no such path. */
  find(method: string, path: string): Found | null {
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
