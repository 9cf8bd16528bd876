import { type AgentSettings, indented, variablesOf } from './agent-settings.ts';

/** A compose file with one agent, like `compose/agent.yaml`, that contains everything the agent needs. */
export function composeFile(settings: AgentSettings): string {
  const { region, image, ca } = settings;
  return [
    `# An agent of svc in ${region}: docker compose --file ${region}.yaml up --detach`,
    '# Written from one template for all regions (deploy/hosts). It holds the key of the region: keep it secret.',
    `name: svc-agent-${region}`,
    '',
    'services:',
    '  agent:',
    `    image: ${image}`,
    '    restart: unless-stopped',
    '    user: "65532:65532"',
    '    read_only: true',
    '    tmpfs:',
    '      - /tmp:mode=1777,size=64m,noexec,nosuid,nodev',
    '    cap_drop: [ALL]',
    '    security_opt: ["no-new-privileges:true"]',
    '    pids_limit: 256',
    '    mem_limit: 384m',
    '    # Checks in progress have 10 s to end.',
    '    stop_grace_period: 20s',
    '    logging:',
    '      driver: json-file',
    '      options: { max-size: 10m, max-file: "5" }',
    '    environment:',
    ...variablesOf({ ...settings, ca: null }).map(
      ([name, value]) => `      ${name}: ${JSON.stringify(value)}`,
    ),
    // The authority is not given as a file: Compose copies the content of a config into the container, which
    // a read-only root refuses.
    ...(ca === null ? [] : ['      SVC_NATS_CA: |', indented(ca, 8)]),
    '',
  ].join('\n');
}
