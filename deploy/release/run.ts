import { execFileSync, spawnSync } from 'node:child_process';

/** Thrown if the release must not be made; one sentence says why, and what would be right. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

/** Runs a program and returns what it printed. Throws `Refused` with its last words if it fails. */
export function run(cwd: string, program: string, ...args: string[]): string {
  try {
    return execFileSync(program, args, {
      cwd,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 2 ** 28,
    });
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string };
    const output = stderr.trim().split('\n').slice(-3).join(' ') || message;
    throw new Refused(`\`${[program, ...args].join(' ')}\` failed: ${output}`, { cause: error });
  }
}

export const succeeds = (cwd: string, program: string, ...args: string[]): boolean =>
  spawnSync(program, args, { cwd, stdio: 'ignore' }).status === 0;

/** Whether there is a program of this name. */
export const isThere = (program: string): boolean =>
  spawnSync(program, ['--help'], { stdio: 'ignore' }).error === undefined;
