import { spawnSync } from 'node:child_process';

/** Thrown if nothing must be released; one sentence says why, and what would be right. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

/** Runs a program and returns what it printed. Throws `Refused` with its last words if it fails. */
export const run = (cwd: string, program: string, ...args: string[]): string => ended(cwd, program, args).stdout;

/** The same, with what the program said beside it. */
export function saidBy(cwd: string, program: string, ...args: string[]): string {
  const { stdout, stderr } = ended(cwd, program, args);
  return stdout + stderr;
}

function ended(cwd: string, program: string, args: string[]): { stdout: string; stderr: string } {
  const { status, error, stdout, stderr } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 2 ** 28,
  });
  if (status === 0) return { stdout, stderr };
  // npm ends each error with the name of a log.
  const lines = (stderr ?? '').trim().split('\n');
  const last = lines.filter((line) => line.trim() !== '' && !line.includes('A complete log of this run')).slice(-3);
  throw new Refused(
    `\`${[program, ...args].join(' ')}\` failed: ${last.join(' ') || (error?.message ?? 'it was killed')}`,
  );
}

export const succeeds = (cwd: string, program: string, ...args: string[]): boolean =>
  spawnSync(program, args, { cwd, stdio: 'ignore' }).status === 0;

/** Does what a command line asks for; what it can't do ends with one sentence. */
export function orRefuse(release: () => void): void {
  try {
    release();
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (!(error instanceof Refused) && !code.startsWith('ERR_PARSE_ARGS_')) throw error;
    process.stderr.write(`not released: ${message}\n`);
    process.exitCode = 1;
  }
}
