import type { Region } from '@svc/shared/regions.ts';

/** Everything about one agent that a file to start it with contains. */
export type AgentSettings = {
  readonly region: Region;
  readonly natsUrl: string;
  /** Seed of the region's key. */
  readonly natsKey: string;
  /** PEM text of the authority of the NATS server; null: the system knows it. */
  readonly ca: string | null;
  /** Name of the container image. */
  readonly image: string;
  /** The address of the single executable for machines, and its checksum in hexadecimal digits. */
  readonly executable: { readonly url: string; readonly sha256: string };
};

/** Path of the authority on the machine, or in the container, of the agent. */
export const CA_PATH = '/etc/svc/ca.pem';

/** The placeholders in the files of the repository, which each operator replaces. */
export function exampleSettings(region: Region): AgentSettings {
  return {
    region,
    natsUrl: 'tls://nats.example.com:4222',
    natsKey: '<key of the region>',
    ca: null,
    image: 'registry.example.com/svc-agent',
    executable: { url: 'https://downloads.example.com/svc-agent', sha256: '<sha256 of svc-agent>' },
  };
}

/** The settings that all forms give to the agent, in their order. */
export function variablesOf({
  region,
  natsUrl,
  natsKey,
  ca,
}: AgentSettings): [name: string, value: string][] {
  return [
    ['SVC_REGION', region],
    ['SVC_NATS_URL', natsUrl],
    ...(ca === null ? [] : [['SVC_NATS_CA', CA_PATH] as [string, string]]),
    ['SVC_NATS_NKEY', natsKey],
  ];
}

/** The lines of a text, indented by so many spaces, for a literal block of YAML. */
export function indented(text: string, spaces: number): string {
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => (line === '' ? '' : ' '.repeat(spaces) + line))
    .join('\n');
}
