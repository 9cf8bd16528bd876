import { isRegion } from '@svc/shared/regions.ts';
import type { NatsFolder } from './folder.ts';
import type { Part } from './state.ts';

/**
 * The settings with which the coordinator, or an agent of the region, reaches NATS: the text of an env file, as
 * systemd, Docker and `node --env-file` read it. It holds the key.
 */
export async function clientSettings(folder: NatsFolder, part: Part): Promise<string> {
  const { url, ca } = folder.state;
  const seed = await folder.seedOf(part);
  const of = isRegion(part) ? `an agent of svc in ${part}` : `the ${part} of svc`;
  return [
    `# Settings of ${of}. Keep this secret: it has a key.`,
    `SVC_NATS_URL=${url}`,
    ...(ca === null ? [] : [`SVC_NATS_CA=${ca}`]),
    `SVC_NATS_NKEY=${seed.reveal()}`,
    ...(isRegion(part) ? [`SVC_REGION=${part}`] : []),
    '',
  ].join('\n');
}
