import { Command } from 'commander';
import type { Stored } from '../../api/objects.ts';
import { printItems, type DataFormat } from '../cli/data.ts';
import { kindArguments, OWNERS } from '../cli/kinds.ts';
import { ofKnownKind } from '../cli/known-kind.ts';
import { examples, formatOption } from '../cli/options.ts';
import type { Owner } from '../cli/owner.ts';
import { note, print } from '../cli/print.ts';
import { targetsOf } from '../cli/targets.ts';
import { inSession } from '../session/session.ts';

export const describeCommand = (): Command =>
  new Command('describe')
    .description(
      'show everything about a pool or replica set: spec, status, VMs, what is in progress, Events, the last errors',
    )
    .argument('<kind>', `${kindArguments(OWNERS)}, or KIND/NAME`)
    .argument('[names...]')
    .addOption(formatOption(['json', 'yaml']))
    .addHelpText(
      'after',
      examples(
        ['One pool', 'drover describe pool web'],
        ['One replica set', 'drover describe vmrs/runners'],
        ['All pools of the namespace', 'drover describe pools'],
        ['Why VMs are not ready, for a program', "drover describe pool web -o json | jq '.notReady'"],
      ),
    )
    .action((word: string, words: string[], { output }: { output?: DataFormat }, command: Command) =>
      inSession(command, async (session) => {
        const { kind, names } = targetsOf([word, ...words], OWNERS);
        const kube = await session.kube();
        const namespace = await session.namespace();
        const reading: Promise<Stored<Owner>[]> =
          names.length > 0
            ? Promise.all(names.map((name) => kube.get<Owner>(kind.resource, { namespace, name })))
            : kube.list<Owner>(kind.resource, { namespace }).then(({ items }) => items);
        const owners = await ofKnownKind(kind.resource, reading);
        const { describeOwner, describedData } = await import('../owners/describe.ts');
        if (output !== undefined) {
          const data = await Promise.all(owners.map((owner) => describedData(session, kind, owner)));
          return printItems(data, output, { isOne: names.length === 1 });
        }
        if (owners.length === 0) note(`No resources found in ${namespace} namespace.`);
        for (const [index, owner] of owners.entries())
          print(`${index === 0 ? '' : '\n\n'}${(await describeOwner(session, kind, owner)).join('\n')}`);
      }),
    );
