import { readFileSync } from 'node:fs';
import { type AgentSettings, CA_PATH, indented, variablesOf } from './agent-settings.ts';

const UNIT = readFileSync(new URL('../systemd/svc-agent@.service', import.meta.url), 'utf8');

/**
 * The user data of a virtual machine, for cloud-init: it sets up
 * the agent as a service of systemd, from the single executable.
 */
export function userData(settings: AgentSettings): string {
  const { region, ca } = settings;
  const variables = variablesOf(settings).map(([name, value]) => `${name}=${value}`);
  return [
    '#cloud-config',
    `# An agent of svc in ${region}: the user data of a virtual machine with systemd and cloud-init (x86-64).`,
    '# Written from one template for all regions (deploy/hosts). It holds the key of the region: keep it secret.',
    'write_files:',
    ...file(`/etc/svc/agent-${region}.env`, '0600', variables.join('\n')),
    ...(ca === null ? [] : file(CA_PATH, '0644', ca)),
    ...file('/etc/systemd/system/svc-agent@.service', '0644', UNIT),
    ...file('/usr/lib/svc/install-agent', '0755', installScript(settings)),
    'runcmd:',
    '  - [/usr/lib/svc/install-agent]',
    '',
  ].join('\n');
}

function file(path: string, mode: string, content: string): string[] {
  return [
    `  - path: ${path}`,
    '    owner: root:root',
    `    permissions: "${mode}"`,
    '    content: |',
    indented(content, 6),
  ];
}

function installScript({ region, executable }: AgentSettings): string {
  return [
    '#!/bin/sh',
    'set -eu',
    'draft=$(mktemp)',
    `curl --fail --silent --show-error --location --retry 10 --retry-all-errors --output "$draft" '${executable.url}'`,
    `echo '${executable.sha256}' "$draft" | sha256sum --check --quiet`,
    'install -m 0755 "$draft" /usr/lib/svc/svc-agent',
    'rm "$draft"',
    'systemctl daemon-reload',
    `systemctl enable --now svc-agent@${region}.service`,
  ].join('\n');
}
