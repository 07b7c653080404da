import { Command } from 'commander';
import { examples, formatOption } from '../../cli/options.ts';
import { print } from '../../cli/output.ts';
import type { DataFormat } from '../../rollout/data.ts';
import type { RunSignal } from '../../runs/signal.ts';
import { inSession, type Session } from '../../session/session.ts';

/** `drover vm restarts`, which lists restarts, and its commands for one restart. */
export function restartsCommand(): Command {
  const restarts = new Command('restarts')
    .description('restarts that `drover vm restart` has begun: list, follow and steer them')
    .addHelpText(
      'after',
      examples(
        ['All that Temporal keeps', 'drover vm restarts'],
        ['Follow one', 'drover vm restarts status 1f0c92ab --watch'],
        [
          'Stop one for a while, and go on',
          'drover vm restarts pause 1f0c92ab --reason lunch && drover vm restarts resume 1f0c92ab',
        ],
      ),
    );
  for (const command of [listCommand(), statusCommand(), ...signalCommands()])
    restarts.addCommand(command, { isDefault: command.name() === 'list' });
  return restarts;
}

const listCommand = (): Command =>
  new Command('list')
    .description('list them, the newest first')
    .addOption(formatOption(['json', 'yaml']))
    .action((options: { output?: DataFormat }, command: Command) =>
      inSession(command, async (session) => {
        const [{ listRestarts, printRestarts }, { remarkOnCluster }] = await Promise.all([
          import('../../vm/restarts.ts'),
          import('../../session/unknown-cluster.ts'),
        ]);
        const restarts = await listRestarts(session);
        if (restarts.length === 0) await remarkOnCluster(session);
        await printRestarts(restarts, options.output);
      }),
    );

interface StatusOptions {
  watch?: boolean;
  output?: DataFormat;
}

const statusCommand = (): Command =>
  new Command('status')
    .description('how far one is, what it waits for, and what failed')
    .argument('<id>', 'as `drover vm restarts` lists it, or its last part')
    .option('-w, --watch', 'go on until it is over: the exit code is 0 when all were restarted')
    .addOption(formatOption(['json', 'yaml']).conflicts('watch'))
    .action((id: string, options: StatusOptions, command: Command) =>
      inSession(command, (session) => status(session, id, options)),
    );

async function status(session: Session, id: string, { watch, output }: StatusOptions): Promise<void> {
  const [{ restartOf }, { followRestart, readRestart }, { progressLines }, { printData }] = await Promise.all([
    import('../../vm/restarts.ts'),
    import('../../vm/follow-restart.ts'),
    import('../../vm/progress.ts'),
    import('../../rollout/data.ts'),
  ]);
  const handle = await restartOf(session, id);
  if (watch === true) return followRestart(session, handle);
  const progress = await readRestart(session, handle);
  if (output !== undefined) return printData(progress, output);
  print(progressLines(handle.workflowId, progress).join('\n'));
}

const SIGNALS: Record<RunSignal, [done: string, what: string]> = {
  pause: ['paused', 'restart no further VM until `resume`; those that restart already come back'],
  resume: ['resumed', 'go on after a pause'],
  abort: ['aborted', 'restart no further VM; it ends once those that restart already are back'],
};

const signalCommands = (): Command[] =>
  (Object.keys(SIGNALS) as RunSignal[]).map((signal) => {
    const [done, what] = SIGNALS[signal];
    const command = new Command(signal)
      .description(what)
      .argument('<id>', 'as `drover vm restarts` lists it, or its last part');
    if (signal !== 'resume') command.option('--reason <words>', 'why, for those who see it');
    return command.action((id: string, { reason }: { reason?: string }, command: Command) =>
      inSession(command, async (session) => {
        const { signalRestart } = await import('../../vm/restarts.ts');
        print(`${await signalRestart(session, id, signal, reason)} ${done}`);
      }),
    );
  });
