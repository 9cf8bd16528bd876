import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';

export type KubernetesObject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Record<string, string>;
  };
};

/** The objects of a manifest, in its order. */
export function objectsIn(manifest: string): KubernetesObject[] {
  return parseAllDocuments(manifest).map((document) => document.toJS() as KubernetesObject);
}

/**
 * The objects of the files that a kustomization lists. Objects
 * that the kustomization itself generates are left out.
 */
export function listedObjects(folder: string): KubernetesObject[] {
  const { resources } = parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8')) as {
    resources: string[];
  };
  return resources
    .filter((name) => name.endsWith('.yaml'))
    .flatMap((name) => objectsIn(readFileSync(join(folder, name), 'utf8')));
}

export type PodSpec = {
  readonly automountServiceAccountToken?: boolean;
  readonly enableServiceLinks?: boolean;
  readonly securityContext: { readonly runAsUser: number; readonly runAsGroup: number };
  readonly containers: readonly Container[];
  readonly volumes: readonly { readonly name: string; readonly [kind: string]: unknown }[];
};

export type Container = {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly envFrom?: readonly { readonly secretRef: { readonly name: string } }[];
  readonly volumeMounts: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly subPath?: string;
  }[];
};

/** The pod of an object that runs pods; null: it runs none. */
export function podOf(object: KubernetesObject): PodSpec | null {
  const { spec } = object as { spec?: { template?: { spec?: PodSpec } } };
  return spec?.template?.spec ?? null;
}
