import { Command } from 'commander';
import { examples } from '../../cli/options.ts';
import {
  addFollowOptions,
  addRestartOptions,
  addScopeOptions,
  type FollowFlags,
  type RestartFlags,
  type ScopeFlags,
} from '../../machine-types/options.ts';
import { inSession, type Session } from '../../session/session.ts';

type UpdateFlags = ScopeFlags & RestartFlags & FollowFlags;

export const updateMachineTypesCommand = (): Command =>
  addFollowOptions(addRestartOptions(addScopeOptions(new Command('update'))))
    .description('change the machine types of VMs of any owner, and follow each until its VMI has the new one')
    .addHelpText(
      'after',
      examples(
        [
          'Everything with a RHEL 8 type: the default from now on, and VMIs when their owners restart them',
          "drover machine-types update --which-matches-glob '*rhel8.*'",
        ],
        ['What would that do?', "drover machine-types update --which-matches-glob '*rhel8.*' --dry-run"],
        [
          'Restart the VMIs too, one in twenty at a time, at night',
          "drover machine-types update --which-matches-glob '*rhel8.*' --restart-now --window '0 2 * * * 4h'",
        ],
        [
          'Begin, and look at it later',
          "drover machine-types update --which-matches-glob '*rhel8.*' -n shop --no-wait && drover machine-types status",
        ],
      ),
    )
    .action((flags: UpdateFlags, command: Command) => inSession(command, (session) => update(session, flags)));

async function update(session: Session, flags: UpdateFlags): Promise<void> {
  const [{ transitionOf }, { beginTransition }] = await Promise.all([
    import('../../machine-types/options.ts'),
    import('../../machine-types/begin.ts'),
  ]);
  await beginTransition(session, await transitionOf(session, flags), flags);
}
