import { Command } from 'commander';
import { examples, formatOption } from '../../cli/options.ts';
import type { DataFormat } from '../../rollout/data.ts';
import { inSession, type Session } from '../../session/session.ts';

interface StatusOptions {
  watch?: boolean;
  output?: DataFormat;
}

export const transitionStatusCommand = (): Command =>
  new Command('status')
    .description('how far a transition is, what it waits for, what failed, and what it leaves alone')
    .argument('[id]', 'as `list` shows it, or its last part; without, the one that runs, or the newest')
    .option('-w, --watch', 'go on until it is over: the exit code is 0 when all was done')
    .addOption(formatOption(['json', 'yaml']).conflicts('watch'))
    .addHelpText(
      'after',
      examples(
        ['Follow the one that runs', 'drover machine-types status --watch'],
        ['What failed', "drover machine-types status 1f0c92ab -o json | jq '.failed'"],
      ),
    )
    .action((id: string | undefined, options: StatusOptions, command: Command) =>
      inSession(command, (session) => status(session, id, options)),
    );

async function status(session: Session, id: string | undefined, { watch, output }: StatusOptions): Promise<void> {
  const [{ transitionMeant }, { followTransition, printStatus, readTransition }, { printData }] = await Promise.all([
    import('../../machine-types/transitions.ts'),
    import('../../machine-types/follow.ts'),
    import('../../rollout/data.ts'),
  ]);
  const meant = await transitionMeant(session, id, { orNewest: true });
  const { client } = await session.temporal();
  const handle = client.workflow.getHandle(meant);
  if (watch === true) return followTransition(session, handle, { untilChanged: false });
  const standing = await readTransition(session, handle);
  if (output === undefined) printStatus(meant, standing);
  else await printData({ ...standing.progress, ended: standing.ended, recentErrors: standing.recentErrors }, output);
}
