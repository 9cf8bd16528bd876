import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { h1, type NamedContent, sha256Sums } from './checksums.ts';
import { type ZipEntry, zip } from './zip.ts';

/** Windows is left out: Terraform starts only `.exe` files there, and the provider is a script. */
export const PLATFORMS = ['darwin_amd64', 'darwin_arm64', 'linux_amd64', 'linux_arm64'] as const;

/** Hosts at which Terraform and OpenTofu look for `svc/svc`. */
const HOSTS = ['registry.terraform.io', 'registry.opentofu.org'];
const NAMESPACE = 'svc';
const TYPE = 'svc';

const PROTOCOL_VERSIONS = ['6.0'];

export type Packaged = {
  /** Checksum of the unpacked files, as in `.terraform.lock.hcl`. */
  readonly h1: string;
  readonly zips: readonly NamedContent[];
};

export async function packageFor(
  platforms: readonly string[],
  files: readonly ZipEntry[],
  version: string,
): Promise<Packaged> {
  // A provider in JavaScript has the same files everywhere, so one zip gets several names.
  const content = await zip(files);
  const zips = platforms.map((platform) => ({ name: zipName(version, platform), content }));
  return { h1: h1(files), zips };
}

function zipName(version: string, platform: string): string {
  return `terraform-provider-${TYPE}_${version}_${platform}.zip`;
}

/** Writes the files that a provider registry takes, without the signature of the checksums. */
export async function writeRelease(dir: string, { zips }: Packaged, version: string): Promise<void> {
  const manifest = { version: 1, metadata: { protocol_versions: PROTOCOL_VERSIONS } };
  const listed: NamedContent[] = [
    ...zips,
    {
      name: `terraform-provider-${TYPE}_${version}_manifest.json`,
      content: Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`),
    },
  ];
  const sums: NamedContent = {
    name: `terraform-provider-${TYPE}_${version}_SHA256SUMS`,
    content: Buffer.from(sha256Sums(listed)),
  };
  await writeFiles(dir, [...listed, sums]);
}

/**
 * Writes the provider that contains Node to a folder of its own, because a registry has one zip for each
 * platform.
 */
export async function writeStandaloneRelease(dir: string, { zips }: Packaged): Promise<void> {
  const named = zips.map(({ name, content }) => ({
    name: name.replace(/\.zip$/, '_standalone.zip'),
    content,
  }));
  await writeFiles(dir, [...named, { name: 'SHA256SUMS', content: Buffer.from(sha256Sums(named)) }]);
}

/**
 * Writes a folder for `filesystem_mirror`. The packages stay packed: Terraform unpacks them into the project,
 * which then continues to work when the mirror is rebuilt or removed.
 */
export async function writeMirror(dir: string, { zips }: Packaged): Promise<void> {
  for (const host of HOSTS) await writeFiles(join(dir, host, NAMESPACE, TYPE), zips);
}

async function writeFiles(dir: string, files: readonly NamedContent[]): Promise<void> {
  await mkdir(dir, { recursive: true });
  await Promise.all(files.map(({ name, content }) => writeFile(join(dir, name), content)));
}
