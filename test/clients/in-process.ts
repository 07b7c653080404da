import { vi } from 'vitest';
import { runLine } from '../../clients/cli/run-program.ts';
import { droverProgram } from '../../clients/program.ts';
import type { Outcome } from './drover.ts';

/**
 * Runs a command line that needs no server in the process of the test: a process of its own would take a hundred times
 * as long.
 */
export async function droverHere(args: string[]): Promise<Omit<Outcome, 'signal'>> {
  const stdout = catchWrites(process.stdout);
  const stderr = catchWrites(process.stderr);
  const listeners = new Set(process.listeners('SIGINT'));
  try {
    const code = await runLine(droverProgram(), args);
    return { code, stdout: stdout.texts.join(''), stderr: stderr.texts.join('') };
  } finally {
    stdout.end();
    stderr.end();
    // Many commands would add up to a warning.
    for (const listener of process.listeners('SIGINT'))
      if (!listeners.has(listener)) process.removeListener('SIGINT', listener);
  }
}

function catchWrites(stream: NodeJS.WriteStream): { texts: string[]; end: () => void } {
  const texts: string[] = [];
  const writing = vi.spyOn(stream, 'write').mockImplementation((text) => texts.push(String(text)) > 0);
  return { texts, end: () => writing.mockRestore() };
}
