import type { Command as Completed } from '@bomb.sh/tab';
import tab from '@bomb.sh/tab/commander';
import type { Command } from 'commander';
import { candidates } from './candidates.ts';
import { commandLine } from './command-line.ts';

/** Flags whose value is a path: the shell completes these itself. */
const PATHS = ['--filename', '--kubeconfig', '--patch', '--state', '--kubevirt-crds'];

/** In the language of cobra's scripts: nothing to offer, so complete the names of files. */
const FILES = ':0\n';

/**
 * Prints what may stand in place of the last word, a line each, with its description after a tab, as the scripts of
 * cobra and kubectl read it.
 */
export async function complete(program: Command, args: string[]): Promise<void> {
  const line = commandLine(program, args);
  if (line.flag !== undefined && PATHS.includes(line.flag.long ?? '')) return void process.stdout.write(FILES);
  const known = line.flag === undefined && !line.last.startsWith('-') ? await candidates(line) : [];
  const root = tab(program, { completionCommandName: 'completion' });
  // Only one command is asked.
  for (const command of [root, ...root.commands.values()]) offer(command, known);
  root.parse(args);
}

/** Has the arguments of a command offer these words. */
function offer(command: Completed, known: readonly string[]): void {
  for (const argument of command.arguments.values()) {
    argument.handler ??= (add) => known.forEach((value) => add(value, ''));
  }
}
