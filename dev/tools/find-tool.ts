import { execFile } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import type { Tool } from './catalog.ts';

/** Returns the tool's path in the environment; undefined if unset. Throws if it isn't an executable file. */
export function givenPath(tool: Pick<Tool, 'variable'> & { name: string }, env: NodeJS.ProcessEnv): string | undefined {
  const given = env[tool.variable];
  if (!given || isProgram(given)) return given || undefined;
  throw new Error(
    `${tool.variable} is ${given}, which is not a program that can be run; give the path of ${tool.name}, or unset it`,
  );
}

/** Returns the first program on PATH of a suitable version; undefined if there is none. */
export async function findOnPath(tool: Tool, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  for (const folder of (env['PATH'] ?? '').split(delimiter)) {
    const candidate = join(folder, tool.name);
    if (folder !== '' && isProgram(candidate) && (await isSuitable(tool, candidate))) return candidate;
  }
  return undefined;
}

/** Runs `<tool> --version` and reports whether it prints a suitable version. */
export async function isSuitable(tool: Tool, path: string): Promise<boolean> {
  try {
    const { stdout } = await promisify(execFile)(path, ['--version'], { timeout: 10_000 });
    const [, major, minor] = tool.versionPattern.exec(stdout) ?? [];
    return Number(major) === tool.least[0] && Number(minor) >= tool.least[1];
  } catch {
    return false;
  }
}

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
