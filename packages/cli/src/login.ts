import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { baseUrlProblem, tokenProblem } from '@svc/shared/api/client-settings.ts';
import { isCode, messageOf } from '@svc/shared/errors.ts';
import { z } from 'zod';
import { replaceFile } from './replace-file.ts';
import { UsageError } from './usage-error.ts';

/** The address and the token that `svc login` keeps, for commands whose settings name neither. */
const login = z.object({
  base_url: z.string().refine((text) => baseUrlProblem(text) === null),
  token: z.string().refine((text) => tokenProblem(text) === null),
});
export type Login = z.infer<typeof login>;

/** Path of the file, by the XDG Base Directory Specification; null: the environment names no home. */
export function loginFile({ XDG_CONFIG_HOME, HOME }: NodeJS.ProcessEnv): string | null {
  const folder = XDG_CONFIG_HOME || (HOME ? join(HOME, '.config') : '');
  return folder === '' ? null : join(folder, 'svc', 'login.json');
}

/** The kept login; null: nobody logged in. @throws UsageError where the file cannot be read */
export function keptLogin(environment: NodeJS.ProcessEnv): Login | null {
  const path = loginFile(environment);
  if (path === null) return null;
  try {
    return login.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    if (isCode(error, 'ENOENT')) return null;
    const why =
      error instanceof z.ZodError || error instanceof SyntaxError
        ? 'it is no file of "svc login"'
        : messageOf(error);
    throw new UsageError(`cannot read ${path}: ${why}; call "svc login" again, or remove it`, {
      cause: error,
    });
  }
}

/** Only the owner may read the file. */
export async function keepLogin(path: string, kept: Login): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replaceFile(path, `${JSON.stringify(kept, null, 2)}\n`);
}
