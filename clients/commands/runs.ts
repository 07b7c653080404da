import { Command } from 'commander';
import type { RunProgress } from '../../decisions/runs/progress.ts';
import type { DataFormat } from '../cli/data.ts';
import { examples, formatOption, reasonOption } from '../cli/options.ts';
import { print } from '../cli/output.ts';
import type { RunKind } from '../runs/kind.ts';
import type { RunSignal } from '../runs/signal.ts';
import { inSession, type Session } from '../session/session.ts';

interface RunCommands<P extends RunProgress, Listed extends object> {
  load: () => Promise<RunKind<P, Listed>>;
  /** Such as `a transition`. */
  one: string;
  /** What each signal means. */
  signals: Record<RunSignal, string>;
  /** Of `status`. */
  shown: [what: string, command: string][];
}

interface StatusOptions {
  watch?: boolean;
  output?: DataFormat;
}

const ID = 'as `list` shows it, or its last part; without, the one that runs';
const DONE: Record<RunSignal, string> = { pause: 'paused', resume: 'resumed', abort: 'aborted' };

/** Commands that list, show and control runs of one kind: `list`, `status`, `pause`, `resume` and `abort`. */
export function runCommands<P extends RunProgress, Listed extends object>(about: RunCommands<P, Listed>): Command[] {
  const { load, one, signals, shown } = about;
  const list = new Command('list')
    .description('list those that Temporal keeps, the newest first')
    .addOption(formatOption(['json', 'yaml']))
    .action(({ output }: { output?: DataFormat }, command: Command) =>
      inSession(command, async (session) => {
        const [kind, { printRuns }] = await Promise.all([load(), import('../runs/list.ts')]);
        await printRuns(session, kind, output);
      }),
    );
  const status = new Command('status')
    .description(`how far ${one} is, what it waits for, what failed, and what it excludes`)
    .argument('[id]', `${ID}, or the newest`)
    .option('-w, --watch', 'go on until it is over: the exit code is 0 when all was done')
    .addOption(formatOption(['json', 'yaml']).conflicts('watch'))
    .addHelpText('after', examples(...shown))
    .action((id: string | undefined, options: StatusOptions, command: Command) =>
      inSession(command, (session) => show(session, load, id, options)),
    );
  return [list, status, ...(['pause', 'resume', 'abort'] as const).map(control)];

  function control(signal: RunSignal): Command {
    const command = new Command(signal).description(signals[signal]).argument('[id]', ID);
    if (signal !== 'resume') command.addOption(reasonOption());
    return command.action((id: string | undefined, { reason }: { reason?: string }, ran: Command) =>
      inSession(ran, async (session) => {
        const [kind, { runMeant }, { signalRun }] = await Promise.all([
          load(),
          import('../runs/meant.ts'),
          import('../runs/signal.ts'),
        ]);
        const meant = await runMeant(session, kind, id, { orNewest: false });
        await signalRun(session, kind, meant, signal, reason);
        print(`${meant} ${DONE[signal]}`);
      }),
    );
  }
}

async function show<P extends RunProgress, Listed extends object>(
  session: Session,
  load: () => Promise<RunKind<P, Listed>>,
  id: string | undefined,
  { watch, output }: StatusOptions,
): Promise<void> {
  const [kind, { runMeant }, { followRun, printRun }] = await Promise.all([
    load(),
    import('../runs/meant.ts'),
    import('../runs/follow.ts'),
  ]);
  const meant = await runMeant(session, kind, id, { orNewest: true });
  const { client } = await session.temporal();
  const handle = client.workflow.getHandle(meant);
  if (watch === true) await followRun(session, kind, handle);
  else await printRun(session, kind, handle, output);
}
