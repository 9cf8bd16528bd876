import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SELF_SIGNED } from '../self-signed.ts';
import { TEST_AUTHORITY, TRUSTED } from './certificates.ts';

/** The paths of a certificate of the tests' authority, in files that `remove` removes. */
export function certificateFiles() {
  const folder = mkdtempSync(join(tmpdir(), 'svc-certificates-'));
  const written = (name: string, text: string) => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  return {
    authority: written('authority.pem', TEST_AUTHORITY),
    certificate: written('certificate.pem', TRUSTED.cert),
    key: written('key.pem', TRUSTED.key),
    /** Path of the key of another certificate. */
    otherKey: written('other-key.pem', SELF_SIGNED.key),
    remove: () => rmSync(folder, { recursive: true }),
  };
}
