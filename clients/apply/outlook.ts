import { isDeepStrictEqual } from 'node:util';
import type { Stored } from '../../api/objects.ts';
import { wantedReplicas } from '../../api/wanted-replicas.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { countOf, type OwnerKind } from '../cli/kinds.ts';
import { isPool, type Owner } from '../owners/objects.ts';
import { disruptionOf, haltOf, pauseOf } from './rollout-outlook.ts';

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
      sentences.push(`the template would be rolled out to ${countOf(kind, present)}: ${disruption}`);
  } else if (!isDeepStrictEqual(before.spec.template, after.spec.template)) {
    sentences.push(
      `the template would be for ${kind.members.noun}s made from then on; ${countOf(kind, present)} would stay as before`,
    );
  }
  return sentences.map((sentence) => `${kind.noun} ${after.metadata.name}: ${sentence}`);
}

/** Why the template of a pool is not rolled out to its VMs: what has halted its rollout, or a pause; none for a set. */
export const formatHalts = (kind: OwnerKind, owner: Stored<Owner>): string[] =>
  isPool(kind, owner) ? [haltOf(owner), pauseOf(owner)].filter((line) => line !== undefined) : [];
