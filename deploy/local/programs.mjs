// Finds programs that are not part of svc. It is plain JavaScript with Node's own modules only, because it
// runs on Node 20 before anything is installed.
import { access, constants } from 'node:fs/promises';

/**
 * A program is missing, and svc could not get it. It is not an error class of `@svc/shared/errors.ts`,
 * because this file runs on Node 20, before packages are installed.
 */
export class ProgramMissing extends Error {
  /** @param {'no-nats-server' | 'no-postgresql'} code */
  constructor(code, /** @type {string} */ message) {
    super(message);
    this.code = code;
  }
}

export async function isProgram(/** @type {string} */ path) {
  try {
    await access(path, constants.X_OK);
    return true;
  } catch {
    return false; // Not there, or not for this user.
  }
}

/** The last lines of what a program or a download says about its failure, 200 characters at most. */
export function reasonOf(/** @type {unknown} */ error) {
  const { message, stderr, cause } = /** @type {{ message: string, stderr?: string, cause?: Error }} */ (
    error
  );
  const text = stderr?.trim() || cause?.message || message;
  return text.split('\n').slice(-2).join(' ').slice(0, 200);
}
