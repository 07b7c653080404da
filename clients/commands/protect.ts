import { Command } from 'commander';
import { Vms } from '../cli/kinds.ts';
import { dryRunOption, dryRunRemark, examples } from '../cli/options.ts';
import type { DryRun } from '../cli/parse-values.ts';
import { print } from '../cli/print.ts';
import { labelOf, vmNamesOf } from '../cli/targets.ts';
import { inSession } from '../session/session.ts';

export const protectCommand = (): Command =>
  protection('protect', true)
    .description('keep VMs of a pool where they are when it is scaled in; others go in their place')
    .addHelpText(
      'after',
      examples(
        ['Two VMs that are in use', 'drover protect web-7 web-9'],
        ['Which are protected', 'drover get vms --owner pool/web -o wide'],
      ),
    );

export const unprotectCommand = (): Command =>
  protection('unprotect', false)
    .description('let VMs of a pool leave again when it is scaled in')
    .addHelpText('after', examples(['One of them', 'drover unprotect web-7']));

const protection = (name: string, protect: boolean): Command =>
  new Command(name)
    .argument('<names...>', 'of VMs, or vm/NAME')
    .addOption(dryRunOption())
    .action((words: string[], { dryRun }: { dryRun: DryRun }, command: Command) =>
      inSession(command, async (session) => {
        const { setProtection } = await import('../power/protect.ts');
        const names = vmNamesOf(words);
        const [kube, namespace] = [await session.kube(), await session.namespace()];
        await setProtection(kube, names, { namespace, protect, dryRun }, (vm) =>
          print(`${labelOf(Vms.resource, vm)} ${name}ed${dryRunRemark(dryRun)}`),
        );
      }),
    );
