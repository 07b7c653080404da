import { accessSync, constants, existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { execFile } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { LockHeld, takeLock } from '../lock.ts';
import { catalog, type Tool, type ToolName } from './catalog.ts';
import { goBuild, type BuildContext } from './go-build.ts';

export interface ResolveOptions extends Omit<BuildContext, 'env'> {
  /** Folder of what is kept between runs. */
  cache: string;
  env?: NodeJS.ProcessEnv;
}

const LOCK_POLL_MS = 500;

/**
 * The path of each tool: the one that the environment names, else one on PATH of a version that will do, else the
 * cache's, else one built into the cache. Throws with a sentence that says what to do.
 */
export async function resolveTools(options: ResolveOptions): Promise<Record<ToolName, string>> {
  const tools = catalog();
  return {
    temporal: await resolveTool(tools.temporal, options),
    etcd: await resolveTool(tools.etcd, options),
    'kube-apiserver': await resolveTool(tools['kube-apiserver'], options),
  };
}

export async function resolveTool(tool: Tool, options: ResolveOptions): Promise<string> {
  const { cache, env = process.env } = options;
  const given = env[tool.variable];
  if (given) {
    if (isExecutable(given)) return given;
    throw new Error(`${tool.variable} is ${given}, which is not a program that can be run; give the path of ${tool.name}, or unset it`);
  }
  const onPath = await findOnPath(tool, env);
  if (onPath !== undefined) return onPath;
  const cached = join(cache, 'tools', `${tool.name}-${tool.version}-${process.platform}-${process.arch}`, tool.name);
  if (isExecutable(cached)) return cached;
  return makeOnce(tool, cached, { ...options, env });
}

/** Puts the tool into the cache, or waits until another process has done so. */
async function makeOnce(tool: Tool, cached: string, options: ResolveOptions & { env: NodeJS.ProcessEnv }): Promise<string> {
  const folder = join(cached, '..');
  const unfinished = `${folder}.unfinished`;
  const lock = await lockCache(tool, `${folder}.lock`, options);
  try {
    if (isExecutable(cached)) return cached;
    rmSync(unfinished, { recursive: true, force: true });
    mkdirSync(unfinished, { recursive: true });
    await goBuild(tool, join(unfinished, tool.name), options);
    rmSync(folder, { recursive: true, force: true });
    renameSync(unfinished, folder);
    return cached;
  } catch (error) {
    throw cacheError(error, options.cache);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
    lock.release();
  }
}

async function lockCache(tool: Tool, file: string, { cache, onProgress, signal }: ResolveOptions): Promise<{ release: () => void }> {
  let told = false;
  for (;;) {
    try {
      mkdirSync(join(file, '..'), { recursive: true });
      return takeLock(file);
    } catch (error) {
      if (!(error instanceof LockHeld)) throw cacheError(error, cache);
      if (!told) onProgress(`waiting for process ${error.holder.pid}, which is making ${tool.name} ready`);
      told = true;
      await sleep(LOCK_POLL_MS, undefined, { signal });
    }
  }
}

/** What a full disk or a folder of someone else's means here. */
function cacheError(error: unknown, cache: string): unknown {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new Error(`the disk of the cache ${cache} is full: make room, or set DROVER_CACHE to a folder on another disk`, { cause: error });
  }
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS' || code === 'ENOTDIR') {
    return new Error(`the cache ${cache} can't be written (${code}): set DROVER_CACHE to a folder that can`, { cause: error });
  }
  return error;
}

async function findOnPath(tool: Tool, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  for (const folder of (env['PATH'] ?? '').split(delimiter)) {
    const candidate = join(folder, tool.name);
    if (folder !== '' && isExecutable(candidate) && (await isSuitable(tool, candidate, env))) return candidate;
  }
  return undefined;
}

/** Runs `<tool> --version`; whatever doesn't answer with a version that will do is passed over. */
async function isSuitable(tool: Tool, path: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  try {
    const { stdout } = await promisify(execFile)(path, ['--version'], { env, timeout: 10_000 });
    const [, major, minor] = tool.versionPattern.exec(stdout) ?? [];
    return Number(major) === tool.least[0] && Number(minor) >= tool.least[1];
  } catch {
    return false;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return existsSync(path) && statSync(path).isFile();
  } catch {
    return false;
  }
}
