import { Command } from 'commander';
import { examples, formatOption } from '../../cli/options.ts';
import { addRestartOptions, addScopeOptions, type RestartFlags, type ScopeFlags } from '../../machine-types/options.ts';
import type { PlanFormat } from '../../machine-types/plan-view.ts';
import { inSession, type Session } from '../../session/session.ts';

type PlanFlags = ScopeFlags & RestartFlags & { output?: PlanFormat };

export const planMachineTypesCommand = (): Command =>
  addRestartOptions(addScopeOptions(new Command('plan')))
    .description(
      'what `update` would do with the same flags: to which VMs, what types they would get, and what each needs; changes nothing',
    )
    .addOption(formatOption(['json', 'yaml', 'wide']))
    .addHelpText(
      'after',
      examples(
        ['Everything with a RHEL 8 type', "drover machine-types plan --which-matches-glob '*rhel8.*'"],
        [
          'Which VMs would be restarted?',
          "drover machine-types plan --which-matches-glob '*rhel8.*' --restart-now -o json | jq -r '.items[] | select(.need | test(\"Restart\")) | .name'",
        ],
      ),
    )
    .action((flags: PlanFlags, command: Command) => inSession(command, (session) => plan(session, flags)));

async function plan(session: Session, flags: PlanFlags): Promise<void> {
  const [{ transitionOf }, { plannedOf }, { printPlan }] = await Promise.all([
    import('../../machine-types/options.ts'),
    import('../../machine-types/planned.ts'),
    import('../../machine-types/plan-view.ts'),
  ]);
  const planned = await plannedOf(session, await transitionOf(session, flags), { asksServer: true });
  await printPlan(planned.plan, flags.output);
}
