import { AGENT_SETTINGS } from '@svc/agent/config.ts';
import { CLI_SETTINGS } from '@svc/cli/cli-settings.ts';
import { COORDINATOR_SETTINGS } from '@svc/coordinator/config.ts';
import { isRequired, type SettingsTable } from '@svc/shared/settings/environment.ts';
import { SETTINGS_NOT_YET } from '@svc/shared/settings/not-yet.ts';
import { fileVariantOf, isSecretSetting } from '@svc/shared/settings/setting-names.ts';

/** `docs/reference/settings.md`, from the tables with which the processes read their settings. */
export function settingsPage(): string {
  return [
    '# Settings',
    '',
    '<!-- Written by `npm run docs`; do not edit. -->',
    '',
    'Settings are environment variables. An empty variable counts as unset. An invalid value stops the start, with a list of everything',
    'that is wrong. svc warns of a variable that begins with `SVC_` and that no part of svc knows, and names the nearest known variable.',
    '',
    '## Coordinator (`npm run coordinator`)',
    '',
    ...table(COORDINATOR_SETTINGS),
    '',
    '## Agent (`npm run agent`)',
    '',
    ...table(AGENT_SETTINGS),
    '',
    '## `npm start`',
    '',
    '`SVC_REGIONS` (default `hosta-fra,hostb-par,hostc-us-east4`) names the regions of its agents, also own ones of `SVC_EXTRA_REGIONS`. `SVC_NATS_SERVER` is the path of a',
    'nats-server binary. With `SVC_NATS_URL` it starts no server of its own. The default of `SVC_CONFIG` is `deploy/local/svc.yaml`;',
    '`none` starts without a declared file. The coordinator and the agents get the other settings.',
    '',
    '## Command line (`npm run svc`)',
    '',
    ...table(CLI_SETTINGS),
    ...withoutEffect(),
    '',
  ].join('\n');
}

/** Names that are known, so that they do not count as misspelt, but that no part reads yet. */
function withoutEffect(): string[] {
  if (SETTINGS_NOT_YET.size === 0) return [];
  const rows = [...SETTINGS_NOT_YET].map(([name, reason]) => `| \`${name}\` | this version ${reason} |`);
  return [
    '',
    '## Without effect yet',
    '',
    'If one of these is set, the coordinator and the agent warn at the start.',
    '',
    '| variable | reason |',
    '| --- | --- |',
    ...rows,
  ];
}

function table(settings: SettingsTable): string[] {
  const rows = Object.values(settings)
    .filter((setting) => setting.isInternal !== true)
    .map((setting) => {
      const fallback = setting.defaultShown ?? setting.default;
      const shown = fallback === undefined || fallback === '' ? 'none' : `\`${fallback}\``;
      const file = isSecretSetting(setting.name) ? ` Also as \`${fileVariantOf(setting.name)}\`.` : '';
      return `| \`${setting.name}\` | ${isRequired(setting) ? 'none: required' : shown} | ${setting.description}.${file} |`;
    });
  return ['| variable | default | meaning |', '| --- | --- | --- |', ...rows];
}
