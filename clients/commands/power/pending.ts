import { Command } from 'commander';
import { examples, formatOption } from '../../cli/options.ts';
import type { PendingFormat } from '../../power/pending.ts';
import { inSession, type Session } from '../../session/session.ts';

interface PendingOptions {
  allNamespaces?: boolean;
  selector?: string;
  output?: PendingFormat;
}

export const pendingCommand = (): Command =>
  new Command('pending')
    .description('list VMs of any owner that wait for a restart (not a reboot inside the guest), since when and why')
    .option('-A, --all-namespaces', 'in all namespaces')
    .option('-l, --selector <selector>', 'only VMs with these labels, such as app=web,tier!=db')
    .addOption(formatOption())
    .addHelpText(
      'after',
      examples(
        ['Everywhere', 'drover vm pending -A'],
        ['For a script', 'drover vm pending -o json | jq -r .items[].why'],
      ),
    )
    .action((options: PendingOptions, command: Command) => inSession(command, (session) => pending(session, options)));

async function pending(session: Session, { allNamespaces = false, selector, output }: PendingOptions): Promise<void> {
  const [{ scopeOf }, { kubevirtRules }, { pendingAmong, printPending }, { readVms }] = await Promise.all([
    import('../../power/choose.ts'),
    import('../../power/kubevirt-rules.ts'),
    import('../../power/pending.ts'),
    import('../../power/read-vms.ts'),
  ]);
  const scope = await scopeOf(session, { allNamespaces, selector });
  const kube = await session.kube();
  const [vms, { plugs }] = await Promise.all([readVms(kube, scope), kubevirtRules(kube)]);
  await printPending(pendingAmong(vms, plugs), scope, output);
}
