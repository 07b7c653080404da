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
    .description('give VMs back the machine types that a transition has changed, except those that were changed since')
    .argument('<operation>', 'its name, as `list` shows it; its UID, if several had that name')
    .addHelpText(
      'after',
      examples(
        [
          'All of it, and restart the VMIs',
          'drover machine-types undo machine-types-x7k2p --restart-now --reason "the VMIs lose their disks"',
        ],
        ['Of one namespace', 'drover machine-types undo machine-types-x7k2p -n shop'],
      ),
    )
    .action((name: string, flags: UndoFlags, command: Command) =>
      inSession(command, (session) => undo(session, name, flags)),
    );

async function undo(session: Session, name: string, flags: UndoFlags): Promise<void> {
  const [{ undoOf }, { beginTransition }, { checkOver, findTransition }] = await Promise.all([
    import('../../machine-types/options.ts'),
    import('../../machine-types/begin.ts'),
    import('../../machine-types/transitions.ts'),
  ]);
  const meant = await findTransition(await session.kube(), session.globals.namespace, name);
  checkOver(meant);
  await beginTransition(session, await undoOf(session, meant.undoneAs, flags), flags);
}
