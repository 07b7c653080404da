import { Command } from 'commander';
import { examples, formatOption } from '../../cli/options.ts';
import { print } from '../../cli/output.ts';
import type { DataFormat } from '../../rollout/data.ts';
import type { RunSignal } from '../../runs/signal.ts';
import { inSession, type Session } from '../../session/session.ts';

/** `drover vm runs`, which lists starts, stops and restarts of VMs, and its commands for one of them. */
export function runsCommand(): Command {
  const runs = new Command('runs')
    .description('what `drover vm start`, `stop` and `restart` have begun: list, follow and control it')
    .addHelpText(
      'after',
      examples(
        ['All that Temporal keeps', 'drover vm runs'],
        ['Follow one', 'drover vm runs status 1f0c92ab --watch'],
        [
          'Stop one for a while, and go on',
          'drover vm runs pause 1f0c92ab --reason lunch && drover vm runs resume 1f0c92ab',
        ],
      ),
    );
  for (const command of [listCommand(), statusCommand(), ...signalCommands()])
    runs.addCommand(command, { isDefault: command.name() === 'list' });
  return runs;
}

const listCommand = (): Command =>
  new Command('list')
    .description('list them, the newest first')
    .addOption(formatOption(['json', 'yaml']))
    .action((options: { output?: DataFormat }, command: Command) =>
      inSession(command, async (session) => {
        const [{ listPowerRuns, printPowerRuns }, { remarkOnCluster }] = await Promise.all([
          import('../../power/runs.ts'),
          import('../../session/unknown-cluster.ts'),
        ]);
        const found = await listPowerRuns(session);
        if (found.length === 0) await remarkOnCluster(session);
        await printPowerRuns(found, options.output);
      }),
    );

interface StatusOptions {
  watch?: boolean;
  output?: DataFormat;
}

const statusCommand = (): Command =>
  new Command('status')
    .description('how far one is, what it waits for, and what failed')
    .argument('<id>', 'as `drover vm runs` lists it, or its last part')
    .option('-w, --watch', 'go on until it is over: the exit code is 0 when all was done')
    .addOption(formatOption(['json', 'yaml']).conflicts('watch'))
    .action((id: string, options: StatusOptions, command: Command) =>
      inSession(command, (session) => status(session, id, options)),
    );

async function status(session: Session, id: string, { watch, output }: StatusOptions): Promise<void> {
  const [{ powerRunOf }, { followPower, readPower }, { progressLines }, { printData }] = await Promise.all([
    import('../../power/runs.ts'),
    import('../../power/follow.ts'),
    import('../../power/progress.ts'),
    import('../../rollout/data.ts'),
  ]);
  const handle = await powerRunOf(session, id);
  if (watch === true) return followPower(session, handle);
  const { progress, ended } = await readPower(session, handle);
  if (output !== undefined) return printData({ ...progress, ended }, output);
  print(progressLines(handle.workflowId, progress).join('\n'));
  if (ended !== null) print(`  ${ended}`);
}

const SIGNALS: Record<RunSignal, [done: string, what: string]> = {
  pause: ['paused', 'touch no further VM until `resume`; those in progress are followed to their end'],
  resume: ['resumed', 'go on after a pause'],
  abort: ['aborted', 'start no more VMs; the run ends once those in progress are done'],
};

const signalCommands = (): Command[] =>
  (Object.keys(SIGNALS) as RunSignal[]).map((signal) => {
    const [done, what] = SIGNALS[signal];
    const command = new Command(signal)
      .description(what)
      .argument('<id>', 'as `drover vm runs` lists it, or its last part');
    if (signal !== 'resume') command.option('--reason <words>', 'the reason, shown in status, history and the Web UI');
    return command.action((id: string, { reason }: { reason?: string }, command: Command) =>
      inSession(command, async (session) => {
        const { signalPowerRun } = await import('../../power/runs.ts');
        print(`${await signalPowerRun(session, id, signal, reason)} ${done}`);
      }),
    );
  });
