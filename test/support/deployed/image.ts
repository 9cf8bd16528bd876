import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, linkSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Confinement, startConfined } from './confined.ts';

/** An image as a folder, with what its Containerfile declares for the process of a container. */
export type Image = {
  readonly root: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly uid: number;
  readonly gid: number;
  readonly entrypoint: readonly string[];
  readonly healthcheck: readonly string[];
};

type Instruction = { readonly name: string; readonly rest: string };
type Stage = { readonly name: string; readonly from: string; readonly instructions: readonly Instruction[] };

/** The stages of a Containerfile, with the names that it gives to them. */
export function stagesOf(containerfile: string): Stage[] {
  const lines = containerfile
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n/g, ' ')
    .split('\n');
  const instructions = lines.flatMap((line): Instruction[] => {
    const [, name, rest] = /^([A-Z]+) +(.*)$/.exec(line) ?? [];
    return name === undefined || rest === undefined ? [] : [{ name, rest }];
  });
  const stages: Stage[] = [];
  for (const [index, { name, rest }] of instructions.entries()) {
    if (name !== 'FROM') continue;
    const [, from = '', as = ''] = /^(\S+)(?: AS (\S+))?$/.exec(rest) ?? [];
    const next = instructions.findIndex((one, at) => at > index && one.name === 'FROM');
    stages.push({
      name: as,
      from,
      instructions: instructions.slice(index + 1, next === -1 ? undefined : next),
    });
  }
  return stages;
}

export type ImageBuild = {
  /** Text of the Containerfile. */
  readonly containerfile: string;
  /** Folder of the repository, which is the build context. */
  readonly context: string;
  /** Folder that replaces `dist/` of the build context. */
  readonly dist: string;
  /** Folder for the images. */
  readonly out: string;
  /** Path of the Node of the base image. */
  readonly node: string;
};

/**
 * Builds the images of a Containerfile as folders, without a container engine: this machine replaces the base
 * image (a Debian, whose Node is `node`), and commands run on it as they would there. It knows the
 * instructions that `deploy/container/Containerfile` uses.
 */
export async function buildImages(build: ImageBuild): Promise<ReadonlyMap<string, Image>> {
  const images = new Map<string, Image>();
  for (const stage of stagesOf(build.containerfile))
    images.set(stage.name, await buildStage(build, stage, images));
  return images;
}

async function buildStage(
  build: ImageBuild,
  stage: Stage,
  earlier: ReadonlyMap<string, Image>,
): Promise<Image> {
  const root = join(build.out, stage.name);
  mkdirSync(root, { recursive: true });
  let image: Image = { root, environment: {}, uid: 0, gid: 0, entrypoint: [], healthcheck: [] };
  for (const instruction of stage.instructions) {
    if (instruction.name === 'RUN') await runInBase(build, root, instruction.rest);
    else image = applied(build, image, instruction, earlier);
  }
  return image;
}

function applied(
  build: ImageBuild,
  image: Image,
  { name, rest }: Instruction,
  earlier: ReadonlyMap<string, Image>,
): Image {
  switch (name) {
    case 'COPY':
      copy(build, image.root, rest, earlier);
      return image;
    case 'ENV':
      return { ...image, environment: { ...image.environment, ...assignmentsIn(rest) } };
    case 'USER': {
      const [uid = 0, gid = 0] = rest.split(':').map(Number);
      return { ...image, uid, gid };
    }
    case 'ENTRYPOINT':
      return { ...image, entrypoint: JSON.parse(rest) as string[] };
    case 'HEALTHCHECK':
      return { ...image, healthcheck: JSON.parse(/CMD (.*)$/.exec(rest)?.[1] ?? '[]') as string[] };
    case 'ARG':
    case 'EXPOSE':
    case 'VOLUME':
      return image;
    default:
      throw new Error(`nothing is known of the instruction ${name}`);
  }
}

const assignmentsIn = (text: string): Record<string, string> =>
  Object.fromEntries(text.split(/ +/).map((pair) => pair.split('=', 2) as [string, string]));

function copy(build: ImageBuild, root: string, rest: string, earlier: ReadonlyMap<string, Image>): void {
  const [, from, paths = ''] = /^(?:--from=(\S+) )?(.*)$/.exec(rest) ?? [];
  const names = paths.split(/ +/);
  const target = join(root, names.pop() ?? '');
  for (const name of names) {
    if (from !== undefined) {
      const { root: source } = earlier.get(from) ?? { root: '' };
      // The copy keeps owners and modes, as engines do between stages.
      run('cp', ['-a', `${join(source, 'built', name)}/.`, target]);
      continue;
    }
    mkdirSync(target, { recursive: true });
    const file = name.startsWith('dist/')
      ? join(build.dist, name.slice('dist/'.length))
      : join(build.context, name);
    cpSync(file, join(target, basename(name)));
  }
}

/** Runs a command of the stage `files` as root, in this machine with the Node of the build. */
async function runInBase({ node }: ImageBuild, root: string, command: string): Promise<void> {
  const base = join(root, 'base');
  const built = join(root, 'built', 'image');
  mkdirSync(built, { recursive: true });
  const confinement: Confinement = {
    command: ['/bin/sh', '-c', command],
    environment: {},
    uid: 0,
    gid: 0,
    root: base,
    overMachine: ['usr', 'etc'],
    mounts: [
      ...['bin', 'sbin', 'lib', 'lib64'].map((path) => ({ from: `/${path}`, to: `/${path}` })),
      { from: built, to: '/image', isWritable: true },
    ],
    temporary: ['/tmp'],
  };
  mkdirSync(join(base, 'usr/local/bin'), { recursive: true });
  placeFile(node, join(base, 'usr/local/bin/node'));
  const child = startConfined(confinement);
  const [said, [code]] = await Promise.all([text(child.stderr!), once(child, 'exit')]);
  if (code !== 0) throw new Error(`RUN ended with ${code}:\n${said}`);
  rmSync(base, { recursive: true });
}

/** Creates a hard link to a large file if that is possible, else a copy. */
function placeFile(from: string, to: string): void {
  if (existsSync(to)) return;
  try {
    linkSync(from, to);
  } catch {
    cpSync(from, to);
  }
}

function run(command: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} failed: ${stderr}`);
}

/** Total size of the files of a folder, bytes. */
export function sizeOf(folder: string): number {
  const { stdout } = spawnSync('du', ['--summarize', '--bytes', folder], { encoding: 'utf8' });
  return Number.parseInt(stdout, 10);
}

/** The settings of a container, in addition to its image. */
export type ContainerOptions = {
  readonly environment: Readonly<Record<string, string>>;
  readonly command?: readonly string[];
  readonly uid: number;
  readonly gid: number;
  readonly mounts: NonNullable<Confinement['mounts']>;
  readonly temporary: readonly string[];
  readonly networkOf?: number;
};

/**
 * Makes a container with a read-only root. Engines give a container
 * the names of the machines; `hosts` is a file with such names.
 */
export function containerOf(image: Image, options: ContainerOptions, hosts: string): Confinement {
  const { environment, command = image.entrypoint, mounts, ...rest } = options;
  return {
    ...rest,
    command,
    environment: { ...image.environment, ...environment },
    root: image.root,
    mounts: [
      { from: hosts, to: '/etc/hosts', isFile: true },
      { from: '/etc/resolv.conf', to: '/etc/resolv.conf', isFile: true },
      ...mounts.map((mount) => ({ ...mount, isFile: !statSync(mount.from).isDirectory() })),
    ],
  };
}

/** The text of the Containerfile in a checkout of the repository. */
export const containerfileIn = (repository: string): string =>
  readFileSync(join(repository, 'deploy/container/Containerfile'), 'utf8');
