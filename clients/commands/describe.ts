import { Command } from 'commander';
import type { Stored } from '../../api/objects.ts';
import { Pools } from '../cli/kinds.ts';
import { ofKnownKind } from '../cli/known-kind.ts';
import { examples } from '../cli/options.ts';
import { note, print } from '../cli/output.ts';
import { targetsOf } from '../cli/targets.ts';
import type { Pool } from '../pools/objects.ts';
import { inSession } from '../session/session.ts';

export const describeCommand = (): Command =>
  new Command('describe')
    .description('all about a pool: spec, status, VMs, what is in progress, Events, the last errors')
    .argument('<kind>', 'pool, or pool/NAME')
    .argument('[names...]')
    .addHelpText(
      'after',
      examples(['One pool', 'drover describe pool web'], ['All pools of the namespace', 'drover describe pools']),
    )
    .action((word: string, words: string[], _options: object, command: Command) =>
      inSession(command, async (session) => {
        const { kind, names } = targetsOf([word, ...words], [Pools]);
        const kube = await session.kube();
        const namespace = await session.namespace();
        const reading: Promise<Stored<Pool>[]> =
          names.length > 0
            ? Promise.all(names.map((name) => kube.get<Pool>(kind.resource, { namespace, name })))
            : kube.list<Pool>(kind.resource, { namespace }).then(({ items }) => items);
        const pools = await ofKnownKind(kind.resource, reading);
        if (pools.length === 0) note(`No resources found in ${namespace} namespace.`);
        const { describePool } = await import('../owners/describe.ts');
        for (const [index, pool] of pools.entries())
          print(`${index === 0 ? '' : '\n\n'}${(await describePool(session, pool)).join('\n')}`);
      }),
    );
