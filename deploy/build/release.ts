import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { h1, type NamedContent, sha256Sums } from './checksums.ts';
import { type ZipEntry, zip } from './zip.ts';

/** Windows starts only `.exe` files, and ours is a script. */
export const PLATFORMS = ['darwin_amd64', 'darwin_arm64', 'linux_amd64', 'linux_arm64'] as const;

/** Where Terraform and OpenTofu look for `svc/svc` without a host. */
const HOSTS = ['registry.terraform.io', 'registry.opentofu.org'];
const NAMESPACE = 'svc';
const TYPE = 'svc';

const PROTOCOL_VERSIONS = ['6.0'];

export type Packaged = {
  /** Also of the unpacked files: what `.terraform.lock.hcl` says. */
  readonly h1: string;
  readonly zips: readonly NamedContent[];
};

export async function packageFor(
  platforms: readonly string[],
  files: readonly ZipEntry[],
  version: string,
): Promise<Packaged> {
  // A provider in JavaScript has the same files everywhere, so one zip under several names.
  const content = await zip(files);
  const zips = platforms.map((platform) => ({ name: zipName(version, platform), content }));
  return { h1: h1(files), zips };
}

function zipName(version: string, platform: string): string {
  return `terraform-provider-${TYPE}_${version}_${platform}.zip`;
}

/** The set of files that a provider registry takes, but for the signature of the checksums. */
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

/** The provider with Node in it, apart from the others: a registry has one zip for each platform. */
export async function writeStandaloneRelease(dir: string, { zips }: Packaged): Promise<void> {
  const named = zips.map(({ name, content }) => ({
    name: name.replace(/\.zip$/, '_standalone.zip'),
    content,
  }));
  await writeFiles(dir, [...named, { name: 'SHA256SUMS', content: Buffer.from(sha256Sums(named)) }]);
}

/**
 * A folder for `filesystem_mirror`. Packed: Terraform unpacks it into the project, which then goes on working
 * when the mirror is built anew or removed.
 */
export async function writeMirror(dir: string, { zips }: Packaged): Promise<void> {
  for (const host of HOSTS) await writeFiles(join(dir, host, NAMESPACE, TYPE), zips);
}

async function writeFiles(dir: string, files: readonly NamedContent[]): Promise<void> {
  await mkdir(dir, { recursive: true });
  await Promise.all(files.map(({ name, content }) => writeFile(join(dir, name), content)));
}
