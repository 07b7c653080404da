import { execFileSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join, resolve } from 'node:path';
import { spawnReaped } from '../reaped.ts';
import { isSoak } from '../soak.ts';
import { dockerIgnore, imageEnvironment, lastOf, readStages, type Stage } from './dockerfile.ts';

const project = resolve(import.meta.dirname, '../..');

export type Platform = 'amd64' | 'arm64';

/** The files of an image in a folder, and what runs in them. */
export class ImageFiles {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  /** Puts this process's Node where the base image has its own. */
  addNode(): void {
    mkdirSync(this.path('usr/local/bin'), { recursive: true });
    copyFileSync(process.execPath, this.path('usr/local/bin/node'));
  }

  /** Returns where a path of the image is on this machine. */
  path(path: string): string {
    return join(this.root, path);
  }

  /**
   * Runs the entrypoint with `args`, or with the image's own, as the image's user, who can't write anywhere, and with
   * only the image's variables and these.
   */
  start(args: string[] = JSON.parse(lastOf('CMD')) as string[], env: Record<string, string> = {}): ChildProcess {
    return this.exec([...(JSON.parse(lastOf('ENTRYPOINT')) as string[]), ...args], env);
  }

  /** Runs another command in the image, as `docker exec` does. */
  exec([command, ...args]: string[], env: Record<string, string>): ChildProcess {
    const [uid, gid] = lastOf('USER').split(':').map(Number);
    const here = (value: string): string => (value.startsWith('/') ? this.path(value) : value);
    const ofImage = { PATH: '/usr/local/bin', HOME: '/home/node', TMPDIR: '/tmp', ...imageEnvironment() };
    return spawnReaped(command!, args.map(here), {
      cwd: this.path(lastOf('WORKDIR')),
      env: { ...Object.fromEntries(Object.entries(ofImage).map(([name, value]) => [name, here(value)])), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Only root may switch to another user.
      ...(process.getuid?.() === 0 ? { uid: uid!, gid: gid! } : {}),
    });
  }
}

/**
 * Builds what `docker build` would from the Dockerfile, in a folder instead of an image: the same files by the same
 * COPY and RUN lines, with these tests' Node in place of the base image's.
 */
export class Image extends ImageFiles {
  readonly #folder: string;

  /** `platform`: what the builder calls the CPU that the image is for. */
  constructor(platform: Platform = process.arch === 'arm64' ? 'arm64' : 'amd64') {
    const folder = mkdtempSync(join(tmpdir(), 'drover-image-'));
    super(join(folder, 'image'));
    this.#folder = folder;
    chmodSync(folder, 0o755);
    try {
      const stages = new Map<string, string>();
      for (const stage of readStages()) {
        const root = stage.name === undefined ? this.root : join(folder, stage.name);
        build(stage, root, stages, platform);
        if (stage.name !== undefined) stages.set(stage.name, root);
      }
      this.addNode();
    } catch (error) {
      this.remove();
      throw error;
    }
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Resolves with the process's exit code and all its output when it has ended. */
export async function ended(child: ChildProcess): Promise<{ code: number | null; output: string }> {
  let output = '';
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (data: Buffer) => (output += data.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

function build({ instructions }: Stage, root: string, stages: Map<string, string>, platform: Platform): void {
  let folder = root;
  for (const { name, rest } of instructions) {
    if (name === 'WORKDIR') {
      folder = join(root, rest);
      mkdirSync(folder, { recursive: true });
    } else if (name === 'COPY') copy(rest.split(/\s+/), folder, stages);
    else if (name === 'RUN') runLine(rest, folder, platform);
  }
}

function copy(words: string[], folder: string, stages: Map<string, string>): void {
  const from = words[0]!.startsWith('--from=') ? words.shift()!.slice('--from='.length) : undefined;
  const sources = words.slice(0, -1);
  const target = words.at(-1)!;
  for (const source of sources) {
    if (from !== undefined) {
      const path = join(stages.get(from)!, source);
      if (statSync(path).isDirectory()) link(path, join(folder, target));
      else cpSync(path, join(folder, target, basename(source)));
    } else
      for (const file of sentFiles(source))
        cpSync(join(project, file), join(folder, target, source === '.' ? file : basename(file)));
  }
}

/** Copies what a folder holds into another, by hard links. Both are the build's own; a copy takes seconds of CPU. */
function link(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  execFileSync('cp', ['-al', `${from}/.`, to]);
}

/** Returns the files that are sent to the builder: those of a clone that .dockerignore lets through. */
function sentFiles(source: string): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '--', source], {
    cwd: project,
    encoding: 'utf8',
  });
  return listed
    .split('\n')
    .filter((file) => file !== '' && existsSync(join(project, file)))
    .filter(dockerIgnore());
}

function runLine(line: string, cwd: string, platform: Platform): void {
  // A RUN line must not do to this machine what it may do in an image.
  if (/(^|[\s"'=])\//.test(line)) throw new Error(`RUN ${line}: names a path outside of its folder`);
  // These tests run on what npm has installed from the same lock file: to install that again takes six times the CPU.
  if (line.startsWith('npm ci ') && !isSoak) {
    execFileSync('cp', ['-a', join(project, 'node_modules'), cwd]);
    return;
  }
  const { PATH, ...env } = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_|VITEST)/.test(name)),
  );
  const path = [dirname(process.execPath), PATH].join(delimiter);
  execFileSync('sh', ['-c', line], {
    cwd,
    env: { ...env, PATH: path, TARGETARCH: platform, npm_config_prefer_offline: 'true' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}
