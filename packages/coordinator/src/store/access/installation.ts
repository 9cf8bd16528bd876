import { createHmac, randomBytes } from 'node:crypto';
import { Secret } from '@svc/shared/secret.ts';
import { DerivedIds } from '../../verdict/derived-ids.ts';
import type { Secrets } from '../declaration/secrets.ts';
import { factOrNew } from '../facts.ts';
import type { Store } from '../store.ts';

const ID_BYTES = 8;
const JOB_KEY_BYTES = 32;

/** Values that are made at the first start with a database, and never change. */
export type Installation = {
  /**
   * 16 hexadecimal digits. The id is part of each incident's key, so people who see an incident at a vendor
   * know which installation reported it.
   */
  readonly id: string;
  /** Derives the ids of alerts and other messages, and the keys of incidents. */
  readonly ids: DerivedIds;
  /**
   * 32 bytes. The key signs the tokens of jobs, so that a result can be verified without a record of its job.
   */
  readonly jobKey: Secret<Uint8Array>;
};

/**
 * Reads these values. The first call with a database makes them.
 *
 * @throws StoreError `store-key` when the job key was sealed under another secret key, or was changed
 */
export async function loadInstallation(store: Store, secrets: Secrets): Promise<Installation> {
  return store.transaction(async ({ db }) => {
    const id = await factOrNew(db, 'installation_id', () => randomBytes(ID_BYTES).toString('hex'));
    const sealed = await factOrNew(db, 'job_key', () =>
      Buffer.from(secrets.seal('facts.job_key', randomBytes(JOB_KEY_BYTES).toString('base64'))).toString(
        'base64',
      ),
    );
    const opened = secrets.open('facts.job_key', Buffer.from(sealed, 'base64'));
    const jobKey = new Secret<Uint8Array>(Buffer.from(opened.reveal(), 'base64'));
    return { id, jobKey, ids: new DerivedIds(id, new Secret(keyOfIds(jobKey))) };
  });
}

/** The key from which ids are derived. It has no other use. */
function keyOfIds(jobKey: Secret<Uint8Array>): Uint8Array {
  return createHmac('sha256', jobKey.reveal()).update('svc:ids of alerts').digest();
}
