import { Command } from 'commander';
import { examples } from '../../cli/options.ts';
import {
  addFollowOptions,
  addRestartOptions,
  type FollowFlags,
  type RestartFlags,
} from '../../machine-types/options.ts';
import { inSession, type Session } from '../../session/session.ts';

type UndoFlags = RestartFlags & FollowFlags;

export const undoTransitionCommand = (): Command =>
  addFollowOptions(addRestartOptions(new Command('undo')))
    .description(
      'give VMs the machine types back that a transition has changed, but for those that somebody has changed since',
    )
    .argument('<id>', 'as `list` shows it, or its last part')
    .addHelpText(
      'after',
      examples(
        [
          'All of it, and restart the VMIs',
          'drover machine-types undo 1f0c92ab --restart-now --reason "the VMIs lose their disks"',
        ],
        ['Of one namespace', 'drover machine-types undo 1f0c92ab -n shop'],
      ),
    )
    .action((id: string, flags: UndoFlags, command: Command) =>
      inSession(command, (session) => undo(session, id, flags)),
    );

async function undo(session: Session, id: string, flags: UndoFlags): Promise<void> {
  const [{ undoOf }, { beginTransition }, { checkOver, shortIdOf }, { runMeant }, { Transitions }] = await Promise.all([
    import('../../machine-types/options.ts'),
    import('../../machine-types/begin.ts'),
    import('../../machine-types/transitions.ts'),
    import('../../runs/meant.ts'),
    import('../../machine-types/run-kind.ts'),
  ]);
  const meant = await runMeant(session, Transitions, id, { orNewest: false });
  await checkOver(session, meant);
  await beginTransition(session, await undoOf(session, shortIdOf(meant), flags), flags);
}
