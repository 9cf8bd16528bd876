import { nkeys } from 'nats';
import { SvcError } from '../errors.ts';
import { Secret } from '../secret.ts';

/** A key of a NATS user. The server knows its public half (`U…`), and its owner knows the seed (`SU…`). */
export type NatsKey = { readonly seed: Secret; readonly publicKey: string };

export function createNatsKey(): NatsKey {
  const pair = nkeys.createUser();
  return { seed: new Secret(Buffer.from(pair.getSeed()).toString()), publicKey: pair.getPublicKey() };
}

/** @throws SvcError `bad-nats-key`; the message does not repeat the text */
export function natsKeyOf(seed: Secret): NatsKey {
  const text = seed.reveal().trim();
  try {
    const publicKey = nkeys.fromSeed(new TextEncoder().encode(text)).getPublicKey();
    if (publicKey.startsWith('U')) return { seed: new Secret(text), publicKey };
  } catch (error) {
    throw new SvcError('bad-nats-key', NO_SEED, { cause: error });
  }
  throw new SvcError('bad-nats-key', NO_SEED);
}

const NO_SEED = 'this is not the seed of a NATS user, which begins with SU';
