import { Command, Option } from 'commander';
import type { DataFormat } from '../../cli/data.ts';
import { examples } from '../../cli/options.ts';
import { inSession, type Session } from '../../session/session.ts';

/** Which change, and of which VMs. */
export interface ChangeFlags {
  patch?: string;
  set: string[];
  selector?: string;
  allNamespaces?: boolean;
}

/** Adds the flags by which all commands of changes are told which change, and of which VMs. */
export const withChange = (command: Command): Command =>
  command
    .argument('[names...]')
    .option('-l, --selector <selector>', 'VMs with these labels, such as app=db,tier!=web')
    .option('-A, --all-namespaces', 'in all namespaces')
    .option('--patch <file>', 'the change, as a merge patch of a VirtualMachine: a file, or - for standard input')
    .addOption(
      new Option('--set <path=value>', 'one value, such as spec.template.spec.domain.cpu.model=host-model; repeatable')
        .argParser((text: string, before: string[]) => [...before, text])
        .default([], 'none'),
    );

export const planChangeCommand = (): Command =>
  withChange(new Command('plan'))
    .description('say what a change of VMs would do, and ask KubeVirt by a dry run; nothing is changed')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['json', 'yaml']))
    .addHelpText(
      'after',
      examples(
        ['Another CPU model', 'drover change plan db-1 db-2 --set spec.template.spec.domain.cpu.model=host-model'],
        [
          "A disk's cache mode, of all VMs that have such a disk",
          "drover change plan -A -l app=db --set 'spec.template.spec.domain.devices.disks[name=root].cache=none'",
        ],
        ['From a file', 'drover change plan -l app=db --patch change.yaml'],
      ),
    )
    .action((names: string[], flags: ChangeFlags & { output?: DataFormat }, command: Command) =>
      inSession(command, (session) => plan(session, names, flags)),
    );

async function plan(session: Session, names: string[], flags: ChangeFlags & { output?: DataFormat }): Promise<void> {
  const { printPlan, refusalsOf } = await import('../../changes/plan-view.ts');
  const { plan } = await planned(session, names, flags);
  if (flags.output === undefined) printPlan(plan);
  else await (await import('../../cli/data.ts')).printData(plan, flags.output);
  const refusals = refusalsOf(plan);
  if (refusals.length > 0) throw new AggregateError(refusals);
}

/** Returns what the change would do. */
export async function planned(session: Session, names: string[], flags: ChangeFlags) {
  const [{ patchOf }, { planAndAsk }, { vmsToChange }] = await Promise.all([
    import('../../changes/patch.ts'),
    import('../../changes/plan.ts'),
    import('../../changes/vms-to-change.ts'),
  ]);
  const patch = await patchOf(flags);
  const vms = await vmsToChange(session, names, flags);
  return { plan: await planAndAsk(await session.kube(), vms, patch) };
}
