import type { KubeClient } from '../../kubernetes/client.ts';
import type { Stored } from '../../kubernetes/objects.ts';
import { poolTemplate } from '../../decisions/pool-template.ts';
import { revisionOf } from '../../decisions/revision.ts';
import type { Pool } from '../fleet.ts';
import { effortInWords, rolloutStrategyOf } from './effort.ts';

/** What a change of a pool would do to its VMs, a sentence each; none for a change that no VM would notice. */
export async function changeInWords(kube: KubeClient, before: Stored<Pool>, after: Stored<Pool>): Promise<string[]> {
  const name = `pool ${after.metadata.name}`;
  const [from, to] = [before.spec, after.spec];
  const sentences: string[] = [];
  if (from.replicas !== to.replicas) sentences.push(`${name}: ${scalingInWords(from.replicas, to.replicas)}`);
  const [old, target] = [poolTemplate(from), poolTemplate(to)];
  if (revisionOf(old) !== revisionOf(target)) {
    const { replicas = 0 } = before.status ?? {};
    const effort = effortInWords(after, old, target, await rolloutStrategyOf(kube, after));
    sentences.push(`${name}: the template would be rolled out to ${count(replicas)}: ${effort}`);
  }
  return sentences;
}

const scalingInWords = (from: number, to: number): string =>
  to > from ? `${count(to - from)} would be added, ${from} to ${to}` : `${count(from - to)} would be removed, ${from} to ${to}`;

const count = (vms: number): string => (vms === 1 ? '1 VM' : `${vms} VMs`);
