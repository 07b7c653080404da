import { Command, CommanderError } from 'commander';
import { applyCommand } from './commands/apply.ts';
import { deleteCommand } from './commands/delete.ts';
import { describeCommand } from './commands/describe.ts';
import { devCommand } from './commands/dev.ts';
import { getCommand } from './commands/get.ts';
import { scaleCommand } from './commands/scale.ts';
import { setupCommand } from './commands/setup.ts';
import { statusCommand } from './commands/status.ts';
import { workerCommand } from './commands/worker.ts';
import { linesOf, UsageError } from './failure.ts';
import { addGlobalOptions } from './globals.ts';
import { examples } from './options.ts';
import packageJson from '../package.json' with { type: 'json' };

function droverProgram(): Command {
  const program = addGlobalOptions(new Command('drover'))
    .description('Herds KubeVirt virtual machines: pools of them, kept by Temporal workflows.')
    .version(packageJson.version, '--version', "print drover's version")
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
    .configureOutput({ outputError: (text, write) => write(`${oneSentence(text)}\n`) })
    .addHelpText(
      'after',
      examples(
        ['Start everything on this machine: Temporal, Kubernetes, simulated KubeVirt, a worker', 'drover dev'],
        ['Make a pool of VMs and see it come up', 'drover apply -f pool.yaml && drover status --watch'],
        ['Scale it', 'drover scale pool web --replicas 20'],
      ),
    )
    .exitOverride();
  program.commandsGroup('Pools:');
  for (const command of [applyCommand(), getCommand(), describeCommand(), statusCommand(), scaleCommand(), deleteCommand()]) {
    program.addCommand(inherit(command, program));
  }
  program.commandsGroup('drover itself:');
  for (const command of [setupCommand(), workerCommand(), devCommand()]) program.addCommand(inherit(command, program));
  return program;
}

/** `addCommand` leaves out what `command()` hands down: how errors are shown, and that they are thrown. */
function inherit(command: Command, parent: Command): Command {
  command.copyInheritedSettings(parent);
  for (const child of command.commands) inherit(child, command);
  return command;
}

/** commander's message and its suggestion, which it puts on a line of its own, as one sentence. */
const oneSentence = (text: string): string =>
  text
    .trim()
    .replace(/\n\(Did you mean (.*)\?\)$/s, '; did you mean $1?')
    .replaceAll(/\s*\n\s*/g, ' ');

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 || error.code === 'commander.help' ? 0 : 2;
  const { exitCode } = error as { exitCode?: unknown };
  if (error instanceof UsageError) return 2;
  return typeof exitCode === 'number' ? exitCode : 1;
}

function report(error: unknown): void {
  if (error instanceof CommanderError) return;
  if (process.env['DROVER_DEBUG']) process.stderr.write(`${(error as Error).stack ?? String(error)}\n`);
  else for (const line of linesOf(error)) process.stderr.write(`error: ${line}\n`);
}

/** A flag whose value may be left out takes it only behind `=`, as in kubectl: the next word is never its value. */
const ALONE: Record<string, string> = { '--dry-run': '--dry-run=server', '--wait': '--wait=true' };

/** Runs one command line; the exit code is 0, 1 for a failure, 2 for wrong usage. */
async function main(args: string[]): Promise<number> {
  const program = droverProgram();
  try {
    if (args.length === 0) program.outputHelp();
    else await program.parseAsync(args.map((word) => ALONE[word] ?? word), { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    report(error);
    return exitCodeOf(error);
  }
}

// A reader such as `head` that has seen enough: end as other programs do that a pipe leaves alone.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(141);
  throw error;
});

process.exitCode = await main(process.argv.slice(2));
