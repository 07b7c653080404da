import { Command, Option } from 'commander';
import type { KubeClient, ObjectKey } from '../../kubernetes/client.ts';
import type { KubeObject, Stored } from '../../kubernetes/objects.ts';
import type { Resource } from '../../kubernetes/resources.ts';
import { Failure } from '../failure.ts';
import { ofKnownKind } from '../known-kind.ts';
import { print } from '../output.ts';
import { dryRunOption, dryRunRemark, examples } from '../options.ts';
import { inSession } from '../session.ts';
import { labelOf, namedTargetsOf, Pools } from '../targets.ts';
import { count, type DryRun } from '../values.ts';

interface ScaleOptions {
  replicas: number;
  currentReplicas?: number;
  dryRun: DryRun;
}

export const scaleCommand = (): Command =>
  new Command('scale')
    .description('set how many VMs a pool has')
    .argument('<kind>', 'pool, or pool/NAME')
    .argument('[names...]')
    .addOption(new Option('--replicas <count>', 'how many VMs').argParser(count).makeOptionMandatory())
    .option('--current-replicas <count>', 'only where the pool is meant to have so many now', count)
    .addOption(dryRunOption())
    .addHelpText(
      'after',
      examples(
        ['Ten VMs', 'drover scale pool web --replicas 10'],
        ['Ten, unless somebody else has changed it from five', 'drover scale pool web --current-replicas 5 --replicas 10'],
      ),
    )
    .action((word: string, words: string[], options: ScaleOptions, command: Command) =>
      inSession(command, async (session) => {
        const { kind, names } = namedTargetsOf([word, ...words], [Pools]);
        const kube = await session.kube();
        const namespace = await session.namespace();
        for (const name of names) {
          await scale(kube, kind.resource, { namespace, name }, options);
          print(`${labelOf(kind.resource, name)} scaled${dryRunRemark(options.dryRun)}`);
        }
      }),
    );

interface Scale extends KubeObject {
  spec: { replicas?: number };
}

async function scale(kube: KubeClient, resource: Resource, key: ObjectKey, { replicas, currentReplicas, dryRun }: ScaleOptions): Promise<void> {
  const now: Stored<Scale> = await ofKnownKind(resource, kube.get(resource, key, { subresource: 'scale' }));
  const current = now.spec.replicas ?? 0;
  if (currentReplicas !== undefined && current !== currentReplicas) {
    throw new Failure(`pool ${key.name} is meant to have ${current} VMs, not ${currentReplicas}: left as it is`);
  }
  // With --current-replicas the number must still be the one that was read; without, whoever comes last wins.
  const metadata = currentReplicas === undefined ? {} : { metadata: { resourceVersion: now.metadata.resourceVersion } };
  if (dryRun === 'client') return;
  await kube.patch(resource, key, 'merge', { ...metadata, spec: { replicas } }, { subresource: 'scale', dryRun: dryRun === 'server', fieldManager: 'drover-scale' });
}
