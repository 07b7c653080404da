import { isDeepStrictEqual } from 'node:util';
import { CHANGE_CAUSE_ANNOTATION, REQUESTED_BY_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { Stored } from '../../api/objects.ts';
import { requesterOf } from '../../api/requested-by.ts';
import { wantedReplicas } from '../../api/rules/wanted-replicas.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { countOf, type OwnerKind } from '../cli/kinds.ts';
import { isPool, type Owner } from '../cli/owner.ts';
import { plain } from '../cli/print.ts';
import { formatRevision, knownRevisions } from '../pool/revisions.ts';
import { BY_SPEC, rolloutView } from '../pool/view.ts';
import { disruptionOf as disruptionOfChange } from '../rollout/disruption.ts';
import { isUndo } from '../rollout/undo.ts';

/** What a change of a pool or replica set would do to its members, a sentence each; empty if it affects none. */
export async function formatChange(
  kube: KubeClient,
  kind: OwnerKind,
  before: Stored<Owner>,
  after: Stored<Owner>,
): Promise<string[]> {
  const sentences: string[] = [];
  const [from, to] = [wantedReplicas(before), wantedReplicas(after)];
  if (to > from) sentences.push(`${countOf(kind, to - from)} would be added, ${from} to ${to}`);
  if (to < from) sentences.push(`${countOf(kind, from - to)} would be removed, ${from} to ${to}`);
  const { replicas: present = 0 } = before.status ?? {};
  if (isPool(kind, before) && isPool(kind, after)) {
    const disruption = await disruptionOf(kube, before, after);
    if (disruption !== undefined)
      sentences.push(`${whatIsNew(before, after)} would be rolled out to ${countOf(kind, present)}: ${disruption}`);
  } else if (!isDeepStrictEqual(before.spec.template, after.spec.template)) {
    sentences.push(
      `the template would apply to ${kind.members.noun}s made from then on; ${countOf(kind, present)} would stay as before`,
    );
  }
  const returned = await formatReturn(kube, kind, before, after);
  return [...sentences.map((sentence) => `${kind.noun} ${after.metadata.name}: ${sentence}`), ...returned];
}

/** Says that the pool gets a template again that an undo took away, and why it did: the manifest does not know. */
async function formatReturn(
  kube: KubeClient,
  kind: OwnerKind,
  before: Stored<Owner>,
  after: Stored<Owner>,
): Promise<string[]> {
  if (!isPool(kind, before) || !isPool(kind, after)) return [];
  const [old, target] = [before, after].map(({ spec }) => revisionOf(poolTemplate(spec)));
  if (old === target) return [];
  const revisions = await knownRevisions(kube, before);
  const at = revisions.findIndex(({ hash }) => hash === target);
  // What undid the newest revision has not become a revision yet.
  const [undone, next] = [revisions[at], revisions[at + 1] ?? { hash: old!, ...originOf(before, old!) }];
  if (undone === undefined || !isUndo(next)) return [];
  const by = next.requestedBy === null ? '' : ` by ${plain(next.requestedBy)}`;
  return [
    `pool ${after.metadata.name}: this is the template of revision ${formatRevision(undone)} again, ` +
      `which was undone${by}: ${plain(next.changeCause ?? '')}`,
  ];
}

const originOf = ({ metadata: { annotations = {} } }: Stored<Pool>, hash: string) => ({
  requestedBy: requesterOf(annotations[REQUESTED_BY_ANNOTATION], hash) ?? null,
  changeCause: annotations[CHANGE_CAUSE_ANNOTATION] ?? null,
});

const whatIsNew = (before: Stored<Pool>, after: Stored<Pool>): string =>
  isOfDrainAlone(before, after) ? WITH_DRAIN[after.spec.drain === undefined ? 'no' : 'yes'] : 'the template';

const WITH_DRAIN = {
  yes: 'evictionStrategy External, by `drain`,',
  no: "KubeVirt's evictionStrategy, without `drain`,",
};

/** Whether VMs would change though their template does not: users who write `drain` may not expect that. */
const isOfDrainAlone = ({ spec: before }: Stored<Pool>, { spec: after }: Stored<Pool>): boolean =>
  isDeepStrictEqual(before.template, after.template) && (before.drain === undefined) !== (after.drain === undefined);

/** Says what users may not expect of an apply: VMs that change for `drain` alone, and a template that was undone. */
export async function formatUnexpected(
  kube: KubeClient,
  kind: OwnerKind,
  before: Stored<Owner>,
  after: Stored<Owner>,
): Promise<string[]> {
  if (!isPool(kind, before) || !isPool(kind, after)) return [];
  if (!isOfDrainAlone(before, after)) return formatReturn(kube, kind, before, after);
  const disruption = await disruptionOf(kube, before, after);
  return disruption === undefined
    ? []
    : [`${kind.noun} ${after.metadata.name}: ${whatIsNew(before, after)} is rolled out: ${disruption}`];
}

/** Why the template of a pool is not rolled out to its VMs: what has halted its rollout, or a pause; none for a set. */
export const formatHalts = (kind: OwnerKind, owner: Stored<Owner>): string[] =>
  isPool(kind, owner) ? [haltOf(owner), pauseOf(owner)].filter((line) => line !== undefined) : [];

/** What the rollout of a pool's new template would do to its VMs; undefined if they have the template. */
async function disruptionOf(kube: KubeClient, before: Stored<Pool>, after: Stored<Pool>): Promise<string | undefined> {
  const [old, target] = [poolTemplate(before.spec), poolTemplate(after.spec)];
  if (revisionOf(old) === revisionOf(target)) return undefined;
  return disruptionOfChange(kube, after, old, target);
}

/** Why the pool's template is not rolled out to its VMs; undefined if nothing has halted its rollout. */
export function haltOf(pool: Stored<Pool>): string | undefined {
  const { halted, pool: name } = rolloutView(pool);
  if (halted === null) return undefined;
  const message = halted.reason === null ? '' : `: ${plain(halted.reason)}`;
  const how = HALTS[halted.kind] ?? `its rollout is ${halted.kind}`;
  const again = `\`drover rollout resume pool ${name}\` rolls it out again`;
  return `pool ${name}: ${how}, by ${plain(halted.by)}${message}; ${again}`;
}

/** Says that nothing of the pool's template is rolled out as long as it is paused; undefined if it is not. */
function pauseOf(pool: Stored<Pool>): string | undefined {
  const { paused, pool: name } = rolloutView(pool);
  if (paused === null) return undefined;
  if (paused.by === BY_SPEC) return `pool ${name}: spec.paused is true: no VM is updated until it is false`;
  const message = paused.reason === null ? '' : `: ${plain(paused.reason)}`;
  return (
    `pool ${name}: its rollouts are paused, by ${plain(paused.by)}${message}: ` +
    `no VM is updated until \`drover rollout resume pool ${name}\``
  );
}

const HALTS: Record<string, string> = {
  Failed: 'the rollout of this template has failed, and was stopped',
  Aborted: 'the rollout of this template was aborted',
  Undoing: 'this template was rolled back',
  UndoFailed: 'this template was rolled back, and not all VMs came back',
};
