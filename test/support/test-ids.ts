import { Secret } from '@svc/shared/secret.ts';
import { DerivedIds } from '../../packages/coordinator/src/verdict/derived-ids.ts';

/** Ids of an installation of tests. */
export const TEST_IDS = new DerivedIds('7e57000000000000', new Secret(Buffer.alloc(32, 1)));
