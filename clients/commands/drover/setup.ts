import { Command, Option } from 'commander';
import { namespacesIn } from '../../../api/claims/claim.ts';
import { dryRunOption, dryRunRemark, examples } from '../../cli/options.ts';
import type { DryRun } from '../../cli/parse-values.ts';
import { print } from '../../cli/print.ts';
import { inSession } from '../../session/session.ts';

export const setupCommand = (): Command =>
  new Command('setup')
    .description('make the cluster and Temporal ready: custom resources, search attributes, the watch workflow')
    .addOption(
      new Option(
        '--only-namespace <names>',
        'for workers that serve these namespaces alone, such as shop,bank, with rights in them alone',
      )
        .env('DROVER_NAMESPACE')
        .argParser(namespacesIn),
    )
    .addOption(dryRunOption())
    .addHelpText(
      'after',
      examples(
        ['Once for each cluster; again after an upgrade of drover', 'drover setup'],
        [
          "A namespace alone, by its admin, once the cluster has drover's custom resources",
          'drover setup --only-namespace shop',
        ],
        ['A second cluster on the same Temporal', 'drover setup --cluster east --context east'],
      ),
    )
    .action(({ dryRun, onlyNamespace }: { dryRun: DryRun; onlyNamespace?: string[] }, command: Command) =>
      inSession(command, async (session) => {
        const [kube, temporal, { setup }] = await Promise.all([
          session.kube(),
          session.temporal(),
          import('../../setup/setup.ts'),
        ]);
        await setup({
          kube,
          temporal,
          cluster: session.cluster,
          namespaces: onlyNamespace,
          dryRun: dryRun !== 'none',
          say: (line) => print(line + dryRunRemark(dryRun)),
        });
      }),
    );
