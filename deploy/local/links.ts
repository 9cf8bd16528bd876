import { readFile } from 'node:fs/promises';
import { firstToken } from '@svc/shared/api/client-settings.ts';
import { z } from 'zod';

/** Time for the answers, ms: the service runs, and people wait for its addresses. */
const ANSWER_WITHIN_MS = 5_000;

const loginLink = z.object({ url: z.url() });
const pages = z.object({ data: z.array(z.object({ slug: z.string(), published: z.boolean() })) });

export type Links = {
  /** Logs in once, within 15 minutes; without an answer of the API: the login page. */
  readonly dashboard: string;
  /**
   * The first published status page among the first 100 pages; null: there is none, or the API does not
   * answer.
   */
  readonly statusPage: string | null;
};

type Source = {
  /** Address at which this machine reaches the API. */
  readonly apiUrl: string;
  /** Address that people use. */
  readonly publicUrl: string;
  /** Token, or the path of the file that keeps it. */
  readonly token: { readonly text: string } | { readonly file: string };
};

/** The addresses that people want when the service has started. */
export async function linksOf({ apiUrl, publicUrl, token }: Source): Promise<Links> {
  const open = publicUrl.replace(/\/$/, '');
  const ask = async (method: string, path: string): Promise<unknown> => {
    const text = 'text' in token ? token.text : await readFile(token.file, 'utf8');
    const response = await fetch(`${apiUrl}${path}`, {
      method,
      headers: { authorization: `Bearer ${firstToken(text.trim())}` },
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    return response.json();
  };
  // If the API does not answer (this process may not trust its certificate, for example), the address of the
  // login page is used.
  const dashboard = ask('POST', '/v1/login-links').then(
    (answer) => loginLink.parse(answer).url,
    () => `${open}/login`,
  );
  const statusPage = ask('GET', '/v1/status-pages?limit=100').then(
    (answer) => {
      const first = pages.parse(answer).data.find(({ published }) => published);
      return first === undefined ? null : `${open}/status/${first.slug}`;
    },
    () => null,
  );
  return {
    dashboard: await dashboard.catch(() => `${open}/login`),
    statusPage: await statusPage.catch(() => null),
  };
}
