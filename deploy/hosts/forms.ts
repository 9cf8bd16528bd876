import { SvcError } from '@svc/shared/errors.ts';
import { isFixedRegion, REGIONS, type Region } from '@svc/shared/regions.ts';
import { type AgentSettings, exampleSettings } from './agent-settings.ts';
import { composeFile } from './compose-file.ts';
import { kubernetesManifest } from './kubernetes-manifest.ts';
import { userData } from './virtual-machine.ts';

/** The forms of a file with which one agent is started, by what the host offers. */
export const FORMS = {
  vm: userData,
  compose: composeFile,
  kubernetes: (settings: AgentSettings) => kubernetesManifest(settings, { hasSecrets: true }),
} as const;

export type Form = keyof typeof FORMS;

/** The assumed form of each host. The option `--form` of `main.ts` chooses another one. */
const HOSTS = { hosta: 'vm', hostb: 'compose', hostc: 'kubernetes' } as const satisfies Record<string, Form>;

type Host = keyof typeof HOSTS;

export function hostOf(region: Region): Host {
  const [host = ''] = region.split('-');
  if (isFixedRegion(region)) return host as Host;
  throw new SvcError('usage', `--form is missing: svc does not know where ${region} runs`);
}

export const formOf = (region: Region): Form => HOSTS[hostOf(region)];

/** Regions of the kustomization in `deploy/kubernetes/agents`. */
const IN_CLUSTER = ['hosta-fra', 'hostb-par', 'hostc-us-east4'] as const satisfies readonly Region[];

/** The files of the repository that are made of the templates, by their paths from `deploy/`. */
export function generatedFiles(): Map<string, string> {
  const files = new Map<string, string>();
  for (const region of REGIONS) {
    files.set(`hosts/${hostOf(region)}/${region}.yaml`, FORMS[formOf(region)](exampleSettings(region)));
  }
  for (const region of IN_CLUSTER) {
    files.set(
      `kubernetes/agents/${region}.yaml`,
      kubernetesManifest(exampleSettings(region), { hasSecrets: false }),
    );
  }
  return files;
}
