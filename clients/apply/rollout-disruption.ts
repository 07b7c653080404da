import type { Stored } from '../../api/objects.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { plain } from '../cli/print.ts';
import { disruptionOf as disruptionOfChange } from '../rollout/disruption.ts';
import { BY_SPEC, rolloutView } from '../rollout/view.ts';

/** What the rollout of a pool's new template would do to its VMs; undefined if they have the template. */
export async function disruptionOf(
  kube: KubeClient,
  before: Stored<Pool>,
  after: Stored<Pool>,
): Promise<string | undefined> {
  const [old, target] = [poolTemplate(before.spec), poolTemplate(after.spec)];
  if (revisionOf(old) === revisionOf(target)) return undefined;
  return disruptionOfChange(kube, after, old, target);
}

/** Why the pool's template is not rolled out to its VMs; undefined if nothing has halted its rollout. */
export function haltOf(pool: Stored<Pool>): string | undefined {
  const { halted, pool: name } = rolloutView(pool);
  if (halted === null) return undefined;
  const why = halted.why === null ? '' : `: ${plain(halted.why)}`;
  const how = HALTS[halted.kind] ?? `its rollout is ${halted.kind}`;
  const again = `\`drover rollout resume pool ${name}\` rolls it out again`;
  return `pool ${name}: ${how}, by ${plain(halted.by)}${why}; ${again}`;
}

/** Says that nothing of the pool's template is rolled out as long as it is paused; undefined if it is not. */
export function pauseOf(pool: Stored<Pool>): string | undefined {
  const { paused, pool: name } = rolloutView(pool);
  if (paused === null) return undefined;
  if (paused.by === BY_SPEC) return `pool ${name}: spec.paused is true: no VM is updated until it is false`;
  const why = paused.why === null ? '' : `: ${plain(paused.why)}`;
  return (
    `pool ${name}: its rollouts are paused, by ${plain(paused.by)}${why}: ` +
    `no VM is updated until \`drover rollout resume pool ${name}\``
  );
}

const HALTS: Record<string, string> = {
  Failed: 'the rollout of this template has failed, and was stopped',
  Aborted: 'the rollout of this template was aborted',
  Undoing: 'this template was rolled back',
  UndoFailed: 'this template was rolled back, and not all VMs came back',
};
