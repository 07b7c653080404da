import { Command } from 'commander';
import { examples, formatOption } from '../../cli/options.ts';
import type { TypesFormat } from '../../machine-types/types.ts';
import { inSession } from '../../session/session.ts';

interface TypesOptions {
  allNamespaces?: boolean;
  output?: TypesFormat;
}

export const typesCommand = (): Command =>
  new Command('types')
    .description(
      'list the machine types in use, by namespace: how many VMs ask for them, how many VMIs have them, and which are old',
    )
    .option('-A, --all-namespaces', 'in all namespaces, as without -n')
    .addOption(formatOption(['json', 'yaml', 'wide']))
    .addHelpText(
      'after',
      examples(
        ['Everywhere', 'drover machine-types types'],
        [
          'Types that no node has any more',
          "drover machine-types types -o json | jq -r '.items[] | select(.nodes == 0) | .type'",
        ],
      ),
    )
    .action(({ allNamespaces = false, output }: TypesOptions, command: Command) =>
      inSession(command, async (session) => {
        const { printTypes, readTypes } = await import('../../machine-types/types.ts');
        const namespace = allNamespaces ? undefined : session.globals.namespace;
        await printTypes(await readTypes(await session.kube(), namespace), namespace, output);
      }),
    );
