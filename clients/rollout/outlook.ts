import type { Stored } from '../../api/objects.ts';
import { revisionOf } from '../../decisions/revisions/hash.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { plain } from '../cli/output.ts';
import type { Pool } from '../pools/objects.ts';
import { formatDisruption, rolloutStrategyOf } from './disruption.ts';
import { rolloutView } from './view.ts';

/** What a change of a pool would do to its VMs, a sentence each; empty if it affects no VM. */
export async function formatChange(kube: KubeClient, before: Stored<Pool>, after: Stored<Pool>): Promise<string[]> {
  const name = `pool ${after.metadata.name}`;
  const [from, to] = [before.spec, after.spec];
  const sentences: string[] = [];
  if (from.replicas !== to.replicas) sentences.push(`${name}: ${formatScaling(from.replicas, to.replicas)}`);
  const [old, target] = [poolTemplate(from), poolTemplate(to)];
  if (revisionOf(old) !== revisionOf(target)) {
    const { replicas = 0 } = before.status ?? {};
    const disruption = formatDisruption(after, old, target, await rolloutStrategyOf(kube, after));
    sentences.push(`${name}: the template would be rolled out to ${count(replicas)}: ${disruption}`);
  }
  return sentences;
}

/** Why the pool's template is not rolled out to its VMs; undefined if nothing has halted its rollout. */
export function formatHalt(pool: Stored<Pool>): string | undefined {
  const { halted, pool: name } = rolloutView(pool);
  if (halted === null) return undefined;
  const why = halted.why === null ? '' : `: ${plain(halted.why)}`;
  const how = HALTS[halted.kind] ?? `its rollout is ${halted.kind}`;
  const again = `\`drover rollout resume pool ${name}\` rolls it out again`;
  return `pool ${name}: ${how}, by ${plain(halted.by)}${why}; ${again}`;
}

const HALTS: Record<string, string> = {
  Failed: 'the rollout of this template has failed, and was stopped',
  Aborted: 'the rollout of this template was aborted',
  Undoing: 'this template was rolled back',
  UndoFailed: 'this template was rolled back, and not all VMs came back',
};

const formatScaling = (from: number, to: number): string =>
  to > from
    ? `${count(to - from)} would be added, ${from} to ${to}`
    : `${count(from - to)} would be removed, ${from} to ${to}`;

const count = (vms: number): string => (vms === 1 ? '1 VM' : `${vms} VMs`);
